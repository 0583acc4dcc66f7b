"""What methods know about a log, as arrays: queries and their affinity, events, profiles, concepts, interests, groups.

Modules are loaded on first use, so that importing a method does not load numba.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coterie.models import (
        concepts as concepts,
    )
    from coterie.models import (
        events as events,
    )
    from coterie.models import (
        groups as groups,
    )
    from coterie.models import (
        interests as interests,
    )
    from coterie.models import (
        profiles as profiles,
    )
    from coterie.models import (
        queries as queries,
    )
    from coterie.models import (
        words as words,
    )


def __getattr__(name: str) -> ModuleType:
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
