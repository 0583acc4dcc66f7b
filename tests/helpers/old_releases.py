"""Releases as earlier versions wrote them."""

import hashlib
from pathlib import Path


def with_empty_names(path: Path) -> str:
    """Give a tsv file the empty column of names that it had up to format 4; returns the digest that it has then."""
    header, *lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([f"user\t{header}", *(f"\t{line}" for line in lines)]))
    return hashlib.sha256(path.read_bytes()).hexdigest()
