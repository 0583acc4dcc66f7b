"""Numba: arrays in, arrays out; no tables, files, strings or randomness.

Modules are loaded on first use, so that importing a method does not load numba.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coterie.kernels import (
        assignment,
        bags,
        clues,
        concept_sets,
        cores,
        cosine_join,
        diversity,
        exposure,
        fakes,
        friends,
        gate_table,
        grams,
        graphs,
        grouping,
        hausdorff,
        herding,
        kmeans,
        linkage,
        lsa,
        mdav,
        minhash,
        nearest,
        pairs,
        phrases,
        quotas,
        release_table,
        sequences,
        simattack,
        siphash,
        small_units,
        spread,
        stand_ins,
        term_vectors,
        topics,
        tree,
        unmixing,
        vectors,
        visit_records,
        word_sets,
        wu_palmer,
    )

__all__ = [
    "assignment",
    "bags",
    "clues",
    "concept_sets",
    "cores",
    "cosine_join",
    "diversity",
    "exposure",
    "fakes",
    "friends",
    "gate_table",
    "grams",
    "graphs",
    "grouping",
    "hausdorff",
    "herding",
    "kmeans",
    "linkage",
    "lsa",
    "mdav",
    "minhash",
    "nearest",
    "pairs",
    "phrases",
    "quotas",
    "release_table",
    "sequences",
    "simattack",
    "siphash",
    "small_units",
    "spread",
    "stand_ins",
    "term_vectors",
    "topics",
    "tree",
    "unmixing",
    "vectors",
    "visit_records",
    "word_sets",
    "wu_palmer",
]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
