"""Numba: arrays in, arrays out; no tables, files, strings or randomness.

Modules are loaded on first use, so that importing a method does not load numba.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coterie.kernels import (
        concept_sets as concept_sets,
    )
    from coterie.kernels import (
        cores as cores,
    )
    from coterie.kernels import (
        cosine_join as cosine_join,
    )
    from coterie.kernels import (
        diversity as diversity,
    )
    from coterie.kernels import (
        grams as grams,
    )
    from coterie.kernels import (
        grouping as grouping,
    )
    from coterie.kernels import (
        hausdorff as hausdorff,
    )
    from coterie.kernels import (
        kmeans as kmeans,
    )
    from coterie.kernels import (
        levenshtein as levenshtein,
    )
    from coterie.kernels import (
        linkage as linkage,
    )
    from coterie.kernels import (
        lsa as lsa,
    )
    from coterie.kernels import (
        mdav as mdav,
    )
    from coterie.kernels import (
        minhash as minhash,
    )
    from coterie.kernels import (
        pairs as pairs,
    )
    from coterie.kernels import (
        quotas as quotas,
    )
    from coterie.kernels import (
        tree as tree,
    )
    from coterie.kernels import (
        vectors as vectors,
    )


def __getattr__(name: str) -> ModuleType:
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
