"""How a log is read: what can be said about it (`Reading`), beside the formats. Importing this package is cheap."""
