"""Lists that come along as data: words in TOML files beside the modules that use them, which nobody computes with.

A file says in its first lines what is in it and, where it has one, its source. It is read once, on first use.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def text_at(package: str, path: str) -> str:
    """The text of a file of a package of Coterie: `text_at("text", "data/census_first_names.txt")`."""
    return files(f"coterie.{package}").joinpath(path).read_text(encoding="utf-8")


@cache
def table_at(package: str, path: str) -> dict[str, Any]:
    """A TOML file of a package of Coterie; not to be changed by whoever gets it."""
    return tomllib.loads(text_at(package, path))
