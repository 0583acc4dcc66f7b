"""How many full names the step `names` finds with the list that comes along, as a Markdown table.

Names are drawn from all first and last names of the United States Census of 1990, by how many people have them, so that
also those are drawn that are not on the list; they stand in made-up queries, alone and among other words. They are read
from the package `names` (pip install names). Beside that stands what the step takes for a name in queries without any,
made of words of WordNet, and in queries that were labelled by hand (COTERIE_DATA), of which only counts are
printed.
"""

from __future__ import annotations

import os
import random
from importlib.util import find_spec
from pathlib import Path

import polars as pl

from coterie.text.full_names import has_name

ROWS, SEED = 20_000, 7
PATTERNS = ("{}", "{} address", "photos of {}", "{} facebook profile", "who is {}", "{} obituary 2006")
LABELLED = "aol_pii_labelled_1000.tsv.gz"


def main() -> None:
    print("| queries | how many | with a name, by the step |\n|---|---:|---:|")
    found = find_spec("names")
    if found is not None and found.origin is not None:
        queries = full_names(Path(found.origin).parent)
        show("made up around a full name", queries)
        lettered = [query.replace(" ", " j ", 1) for query in queries if query.count(" ") == 1]
        show("the same, a first name with a letter after it", lettered)
    words = pl.Series(sorted(noun_words()))
    draw = random.Random(SEED)  # noqa: S311 - made-up text, no secret
    show("made up of two words of WordNet", [f"{draw.choice(words)} {draw.choice(words)}" for _ in range(ROWS)])
    path = Path(os.environ.get("COTERIE_DATA", "../shared/data")) / LABELLED
    if path.exists():
        frame = pl.read_csv(path, separator="\t", quote_char=None, schema_overrides={"query": pl.String})
        for label in ("yes", "maybe", "no"):
            part = frame.filter(pl.col("is_pii") == label)
            show(f"labelled by hand, personal data: {label}", part["query"].str.to_lowercase().to_list())


def show(what: str, queries: list[str]) -> None:
    hits = int(has_name(pl.Series("query", queries, dtype=pl.String)).sum())
    print(f"| {what} | {len(queries):,} | {100 * hits / max(len(queries), 1):.1f} % |", flush=True)


def full_names(folder: Path) -> list[str]:
    """Made-up queries around names of the census, drawn by their frequency."""
    draw = random.Random(SEED)  # noqa: S311 - made-up text, no secret
    lists = {}
    for kind in ("female.first", "male.first", "all.last"):
        lines = [line.split() for line in (folder / f"dist.{kind}").read_text().splitlines()]
        lists[kind] = [line[0].lower() for line in lines], [float(line[1]) for line in lines]
    firsts = [draw.choices(*lists[draw.choice(("female.first", "male.first"))])[0] for _ in range(ROWS)]
    lasts = draw.choices(*lists["all.last"], k=ROWS)
    return [draw.choice(PATTERNS).format(f"{a} {b}") for a, b in zip(firsts, lasts, strict=True)]


def noun_words() -> set[str]:
    """Words of WordNet's nouns."""
    from coterie import taxonomies

    names = taxonomies.load(taxonomies.WORDNET).names
    return {word for name in names for word in str(name).lower().replace("_", " ").split() if word.isalpha()}


if __name__ == "__main__":
    main()
