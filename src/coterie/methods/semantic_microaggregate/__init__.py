"""All that `semantic_microaggregate` does: its method, what it knows about a log, and its kernels."""

from coterie.methods.semantic_microaggregate.method import SemanticMicroaggregate as SemanticMicroaggregate
