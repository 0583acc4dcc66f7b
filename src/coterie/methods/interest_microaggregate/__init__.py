"""All that `interest_microaggregate` does: its method, what it knows about a log, and its kernels."""

from coterie.methods.interest_microaggregate.method import InterestMicroaggregate as InterestMicroaggregate
