"""All that `microaggregate_documents` does: its method, what it knows about a log, and its kernels."""

from coterie.methods.microaggregate_documents.method import MicroaggregateDocuments as MicroaggregateDocuments
