"""Releases as earlier versions wrote them."""

import hashlib
from pathlib import Path


def without_levels(path: Path) -> str:
    """Take the column out of a tsv file that says how exact times are, as up to format 5; returns the digest then."""
    lines = [line.rstrip("\n").split("\t") for line in path.read_text().splitlines(keepends=True)]
    at = lines[0].index("time_level")
    path.write_text("".join("\t".join([*line[:at], *line[at + 1 :]]) + "\n" for line in lines))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def with_empty_names(path: Path) -> str:
    """Give such a file the empty column of names that it had up to format 4, too; returns the digest then."""
    without_levels(path)
    header, *lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([f"user\t{header}", *(f"\t{line}" for line in lines)]))
    return hashlib.sha256(path.read_bytes()).hexdigest()
