"""Precision and recall of the scrub step on a hand-labelled sample, as Markdown tables.

Reads ``aol_pii_labelled_1000.tsv.gz`` from the folder named by COTERIE_DATA.  The rules were tuned
on the even rows (counted from 0) only, so the odd rows are the honest figure.  Only aggregates are
printed: the rows hold real people's queries.

With ``--speed`` it times ``find`` on a million made-up strings instead, and needs no data.
"""

import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from coterie.steps.scrub import RECOGNIZERS, find

NAME = "aol_pii_labelled_1000.tsv.gz"


def load() -> pl.DataFrame | None:
    """The labelled rows with the kind found in each, or None where the file is absent."""
    path = Path(os.environ.get("COTERIE_DATA", "../shared/data")) / NAME
    if not path.exists():
        return None
    frame = pl.read_csv(path, separator="\t", quote_char=None, schema_overrides={"query": pl.String})
    return frame.with_row_index("row").with_columns(kind=find(frame["query"]))


def score(frame: pl.DataFrame, maybe: str, without: tuple[str, ...] = ()) -> tuple[float, ...]:
    """Precision, recall and F1; ``maybe`` says how that label counts: yes, no or out."""
    if maybe == "out":
        frame = frame.filter(pl.col("is_pii") != "maybe")
    positive = frame["is_pii"].is_in(["yes", "maybe"] if maybe == "yes" else ["yes"])
    fired = frame["kind"].is_not_null() & ~frame["kind"].is_in(list(without)).fill_null(False)
    hits = int((positive & fired).sum())
    precision = hits / max(int(fired.sum()), 1)
    recall = hits / max(int(positive.sum()), 1)
    return precision, recall, 2 * hits / max(int(fired.sum()) + int(positive.sum()), 1)


def quality(frame: pl.DataFrame) -> Iterator[str]:
    """The table of figures, a line at a time."""
    yield "| rows | recognizers | 'maybe' counts as | precision | recall | F1 |"
    yield "|---|---|---|---:|---:|---:|"
    halves = (
        ("odd (held out)", frame.filter(pl.col("row") % 2 == 1)),
        ("even (tuned on)", frame.filter(pl.col("row") % 2 == 0)),
        ("all", frame),
    )
    for rows, part in halves:
        for used, without in (("all", ()), ("all but `digits`", ("digits",))):
            for maybe in ("yes", "no", "out"):
                figures = " | ".join(f"{x:.3f}" for x in score(part, maybe, without))
                label = {"yes": "positive", "no": "negative", "out": "left out"}[maybe]
                yield f"| {rows} | {used} | {label} | {figures} |"


def counts(frame: pl.DataFrame) -> Iterator[str]:
    """The table of first kinds against labels, a line at a time."""
    yield "| first kind | yes | maybe | no |"
    yield "|---|---:|---:|---:|"
    for kind in [*(r.name for r in RECOGNIZERS), None]:
        labels = frame.filter(pl.col("kind").eq_missing(pl.lit(kind)))["is_pii"]
        if len(labels):
            cells = " | ".join(str((labels == label).sum()) for label in ("yes", "maybe", "no"))
            yield f"| {kind or '(nothing)'} | {cells} |"


def made_up(count: int, share: float, seed: int = 1) -> pl.Series:
    """Distinct-looking queries; ``share`` of them hold a number, a phone, an address or a mail."""
    rng = random.Random(seed)  # noqa: S311 - made-up text, no secret
    words = ["".join(rng.choices("abcdefghilmnoprstu", k=rng.randint(2, 9))) for _ in range(20_000)]
    endings = (
        lambda text: f"{text} {rng.randint(1, 2010)}",
        lambda text: f"{rng.randint(1, 9999)} {text} {rng.choice(['st', 'drive', 'parts'])}",
        lambda text: f"{text} {rng.randint(200, 999)}-555-{rng.randint(1000, 9999)}",
        lambda text: f"{text} {rng.randint(10_000, 10**9)}",
        lambda text: f"{text.replace(' ', '.')}@example.com",
    )

    def one() -> str:
        text = " ".join(rng.choices(words, k=rng.randint(1, 5)))
        if rng.random() >= share:
            return text
        return rng.choices(endings, weights=(65, 15, 10, 7, 3))[0](text)

    return pl.Series([one() for _ in range(count)])


def speed(count: int = 1_000_000) -> Iterator[str]:
    """The table of throughput, a line at a time."""
    yield "| strings | with a number or an address | seconds | strings a second |"
    yield "|---:|---:|---:|---:|"
    for share in (0.1, 0.2, 1.0):
        texts = made_up(count, share)
        start = time.perf_counter()
        find(texts)
        seconds = time.perf_counter() - start
        yield f"| {count:,} | {share:.0%} | {seconds:.2f} | {count / seconds:,.0f} |"


def main() -> None:
    if "--speed" in sys.argv[1:]:
        print("\n".join(speed()))
        return
    frame = load()
    if frame is None:
        print(f"{NAME} is absent: set COTERIE_DATA to the folder that holds it.")
        return
    print("\n".join(quality(frame)), "\n".join(counts(frame)), sep="\n\n")


if __name__ == "__main__":
    main()
