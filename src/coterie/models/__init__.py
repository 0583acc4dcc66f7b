"""What methods know about a log, as arrays: queries and their affinity, events, profiles, concepts, interests, groups,
pages, documents, walks through a website, counts of visits, private selection.

Modules are loaded on first use, so that importing a method does not load numba.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coterie.models import (
        concepts,
        documents,
        events,
        groups,
        interests,
        lsa,
        pages,
        phrases,
        private_baselines,
        private_items,
        private_selection,
        private_tables,
        profiles,
        queries,
        visit_counts,
        visit_records,
        walks,
        word_sets,
        words,
    )

__all__ = [
    "concepts",
    "documents",
    "events",
    "groups",
    "interests",
    "lsa",
    "pages",
    "phrases",
    "private_baselines",
    "private_items",
    "private_selection",
    "private_tables",
    "profiles",
    "queries",
    "visit_counts",
    "visit_records",
    "walks",
    "word_sets",
    "words",
]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
