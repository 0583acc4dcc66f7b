"""One protection per file: a frozen dataclass with `protect(world, seed)`, named after its file."""
