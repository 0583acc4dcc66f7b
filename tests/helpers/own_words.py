"""Logs of people who each have a word of their own, and releases of them that nobody checked."""

from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl

import coterie
from coterie.core.log import Log, Record, Release
from coterie.promises.user_k_anonymity import UserKAnonymity

_START = datetime(2020, 3, 1, 8)


def own_words(people: int = 40, queries: int = 12, together: int = 1, days: bool = True) -> Log:
    """Person p types the queries "word<p> a", "word<p> b" ... on days that are theirs; `together` people type the same.

    Words of queries are otherwise spread over all, so that nothing but the own word tells people apart.
    """
    rows = []
    for person in range(people):
        team = person // together
        for place in range(queries):
            text = f"word{chr(97 + team // 26)}{chr(97 + team % 26)} thing{chr(97 + place)}"
            time = _START + timedelta(days=(team + 7 * (place // 4)) % 60, minutes=place)
            rows.append((f"p{person:03}", time if days else None, text))
    frame = pl.DataFrame(rows, schema={"user": pl.String, "time": pl.Datetime("us"), "query": pl.String}, orient="row")
    return coterie.log(frame)


def unchecked_release(log: Log, groups: dict[str, int], rows: list[tuple[int, str]], k: int = 2) -> Release:
    """A release by hand: `groups` says who is in which group, `rows` what stands in the profile of a group."""
    names = pl.DataFrame(
        {"original": list(groups), "group": list(groups.values())}, schema_overrides={"group": pl.UInt32}
    )
    names = names.with_columns(released=pl.lit("u_") + pl.col("original"))
    profiles = pl.DataFrame(rows, schema={"group": pl.UInt32, "query": pl.String}, orient="row")
    released = names.join(profiles, on="group").select(user="released", query="query")
    others = [name for name in log.shape.released if name not in ("user", "query")]
    empty = [pl.lit(None, log.shape.schema[name]).alias(name) for name in others]
    return Release(
        log=replace(log, frame=released.with_columns(empty).select(log.shape.released).lazy()),
        promises=(UserKAnonymity(k=k),),
        method="by_hand",
        params={},
        record=Record(run={}, subjects=names.select("original", "released", "group").lazy()),
    )


def scores_of(log: Log, release: Release, name: str, seed: int = 1, **given) -> dict[str, float]:
    """The numbers of one measure."""
    return dict(coterie.measure(release, [name], original=log, seed=seed, **given).select("key", "value").iter_rows())
