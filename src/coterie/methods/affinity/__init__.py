"""All that `affinity` does: its method, what it knows about a log, and its kernels."""

from coterie.methods.affinity.method import Affinity as Affinity
