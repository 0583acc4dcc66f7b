"""Names: which ones a run gives the people, or sessions, of a log; computed again from its seed, with code of its own.

Of the record only the seed and what the names are keyed by are taken; a wrong seed gives names that nobody has.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl

from coterie.core.log import Log
from coterie.core.promise import Case, Check
from coterie.promises._checks import judged, not_checked
from coterie.promises._units import Linking, labels_of, with_owner

RECORD = "the run record (--record DIR)"
BOTH = "the original log and the run record (--original LOG --record DIR)"
_BASE32 = b"abcdefghijklmnopqrstuvwxyz234567".ljust(256, b"?")
_NOT_STEPS = ("read", "synth")  # entries of a history that are no prepare steps
_SESSION, _STEP = "session", "sessions"  # the private column, and the prepare step that fills it
_MINUTES = 30


def names_of(run: Mapping[str, Any], labels: Iterable[str], taken: Iterable[str]) -> list[str]:
    """The names that a run gives labels (people, or people and sessions): a keyed hash of each, none in `taken`."""
    used = set(taken)
    key = hashlib.blake2b(f"{run['seed']}\0{_naming(run)}".encode(), digest_size=32, person=b"coterie").digest()
    begun = hashlib.blake2b(key=key, digest_size=10)

    def hashed(label: str, attempt: int) -> bytes:
        hashing = begun.copy()
        hashing.update(f"pseudonym {attempt}\0{label}".encode())
        return hashing.digest()

    labels = list(labels)
    names = _spelled(b"".join(hashed(label, 0) for label in labels))
    for place, label in enumerate(labels):
        attempt = 0
        while names[place] in used:
            attempt += 1
            names[place] = _spelled(hashed(label, attempt))[0]
        used.add(names[place])
    return names


def names_of_labels(run: Mapping[str, Any], labels: pl.Series) -> pl.Series:
    """The name of each label, wherever it is asked for; labels may come several times."""
    distinct = labels.unique().drop_nulls()
    names = pl.Series(names_of(run, distinct.to_list(), ()), dtype=pl.String)
    return labels.replace_strict(distinct, names, default=None, return_dtype=pl.String)


def _spelled(hashes: bytes) -> list[str]:
    """Hashes of ten bytes as names: sixteen letters of base32, of five bits each."""
    bits = np.unpackbits(np.frombuffer(hashes, dtype=np.uint8)).reshape(-1, 5)
    letters = (bits @ np.array([16, 8, 4, 2, 1], dtype=np.uint8)).tobytes().translate(_BASE32).decode()
    return ["u_" + letters[at : at + 16] for at in range(0, len(letters), 16)]


def _naming(run: Mapping[str, Any]) -> str:
    """What names are keyed by besides the seed, so that two releases of one log never share them."""
    steps = [step["name"] for step in run["history"] if step["name"] not in _NOT_STEPS]
    what = {"method": run["method"], "parameters": run["parameters"], "prepare": steps, "input": run["input_digest"]}
    if run.get("groups_of"):
        what["groups_of"] = list(run["groups_of"])
    return hashlib.sha256(json.dumps(what, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def is_known(case: Case) -> bool:
    """Whether names can be computed again."""
    return case.original is not None and "seed" in case.run


def seeded(case: Case, users: str, linking: Linking | None = None) -> Iterator[Check]:
    """Names that link rows are those that the run gave: none was made from what identifies somebody.

    `linking` is the promise where names may be for days or for a few queries.
    """
    if users == "drop" or not case.shape.subject:
        return
    detail = f"names are those that the run's seed gives {case.log_shape.subject_nouns} of the original"
    if case.original is None or not is_known(case):
        yield not_checked("seeded", detail, carries_promise=True, needs=BOTH if case.original is None else RECORD)
        return
    broken, names = _not_given(case, case.original, users, linking)
    yield judged(
        "seeded",
        broken,
        detail,
        fault="are others",
        looked_at=names,
        needs_original=True,
        carries_promise=True,
    )


def _given_names(
    run: Mapping[str, Any], original: Log, users: str, labels: pl.Series | None = None
) -> pl.LazyFrame:  # fmt: skip
    """name: those that a run gives the people, or sessions, of a log, or whatever the labels are of."""
    subject = original.shape.subject
    ids = original.frame.select(subject).drop_nulls().unique().collect(engine="streaming")[subject].sort()
    if labels is None:
        labels = ids if users == "pseudonym" else _sessions(original)
    return pl.LazyFrame({"name": names_of(run, labels.to_list(), ids)}, schema={"name": pl.String})


def _strangers(released: pl.LazyFrame, given: pl.LazyFrame) -> pl.LazyFrame:
    """How many released names are not among those that were given, and how many there are."""
    known = given.with_columns(pl.lit(True).alias("given"))
    strange = released.drop_nulls().unique().join(known, on="name", how="left")
    return strange.select(pl.col("given").null_count().alias("broken"), pl.len().alias("names"))


def _not_given(case: Case, original: Log, users: str, linking: Linking | None) -> tuple[int, int]:
    """How many released names a run did not give, and how many there are: names are a function of their people."""
    run, shape, history, subject = dict(case.run), original.shape, original.history, case.shape.subject
    engine, labels = case.engine, None
    if linking is not None and users in ("day", "mini"):  # units of released rows, which no block of people has
        labels = labels_of(*with_owner(original, case.shape, linking, case.rows))

    def given(rows: pl.LazyFrame) -> pl.LazyFrame:
        return _given_names(run, Log(frame=rows, shape=shape, history=history), users, labels)

    names = engine.blocks(original.frame, given, [shape.subject])
    released = engine.each(case.rows, lambda rows: rows.select(pl.col(subject).alias("name")))
    found = engine.small(engine.blocks(released, _strangers, ["name"], names))
    broken, looked_at = found.sum().row(0)
    return int(broken), int(looked_at)


def _sessions(original: Log) -> pl.Series:
    """The sessions of all users, as names are made from them."""
    shape = original.shape
    user, rows = pl.col(shape.subject), original.frame.drop_nulls(shape.subject)
    if not any(step.partition("(")[0] == _STEP for step in original.steps):  # nobody else numbers them
        number = pl.lit(0, pl.UInt32)
        if shape.time:
            rows = rows.select(shape.subject, shape.time).sort(shape.subject, shape.time)
            pause = (pl.col(shape.time) - pl.col(shape.time).shift(1) > timedelta(minutes=_MINUTES)).fill_null(False)
            number = (pause & (user == user.shift(1))).cum_sum().over(shape.subject)
        rows = rows.with_columns(number.alias(_SESSION))
    pairs = rows.select(shape.subject, _SESSION).drop_nulls().unique().sort(shape.subject, _SESSION)
    labels = pairs.select(pl.concat_str(shape.subject, _SESSION, separator="\0").alias("label"))
    return labels.collect(engine="streaming")["label"]
