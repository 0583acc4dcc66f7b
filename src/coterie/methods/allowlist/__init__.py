"""All that `allowlist` does: its method, what it knows about a log, and its kernels."""

from coterie.methods.allowlist.method import Allowlist as Allowlist
