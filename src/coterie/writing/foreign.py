"""Foreign rows: a release that Coterie did not make, whose promise somebody names."""

from __future__ import annotations

from collections.abc import Sequence

from coterie.core import registry
from coterie.core.log import Log
from coterie.core.params import with_values
from coterie.core.promise import Case, Verdict, promise_class
from coterie.errors import MissingError
from coterie.promises import judge
from coterie.steps import DEFAULT, StepLike, prepare
from coterie.writing.files import refuse_other_shape


def verify_foreign(
    published: Log, steps: str | Sequence[StepLike] | None, original: Log | None, name: str | None, k: int | None
) -> Verdict:
    """Check rows that Coterie did not make: the promise alone, not the house rules.

    Profiles are compared as they are published: preparing them would hide what tells them apart.
    """
    if name is None or k is None:
        raise MissingError(
            "There is no sidecar that says what is promised. Say what to check, for example "
            "--promise query_k_anonymity --k 5 (promises: " + ", ".join(registry.names("promises")) + ")."
        )
    published, original = published.plain, None if original is None else original.plain
    rows = published if published.steps else prepare(published, DEFAULT if steps is None else steps)
    refuse_other_shape(rows.shape, original)
    if original is not None and not original.steps:
        original = prepare(original, rows.steps)
    promised = with_values(promise_class(name).of_foreign({"k": k}, named=rows.named), shape=rows.shape.name)
    columns = rows.shape.released
    case = Case(
        rows=rows.frame.select(columns),
        shape=rows.shape,
        original=original,
        foreign=True,
        published=published.frame.select(columns),
    )
    of_log = published if original is None else original
    return judge(case, (promised,)).about(of_log.settings, original)
