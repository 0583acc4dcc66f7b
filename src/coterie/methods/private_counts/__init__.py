"""All that `private_counts` does: its method, what it knows about a log, and its kernels."""

from coterie.methods.private_counts.method import PrivateCounts as PrivateCounts
