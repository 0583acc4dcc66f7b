"""A verified release -> files, public sidecar, private record."""
