"""`coterie taxonomy`: pack a tree of categories, look at one, and see how much of a log it covers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from coterie.cli import options as opt
from coterie.cli.console import print_scores, progress, say

_TAXONOMY = click.option(
    "--taxonomy", default="wordnet", metavar="NAME", help="wordnet, or a file of 'coterie taxonomy build'."
)


@click.group(context_settings=opt.CONTEXT)
def taxonomy() -> None:
    """Taxonomies: the trees of concepts that methods and measures of meaning use.

    \b
    coterie taxonomy build structure.rdf.u8.gz content.rdf.u8.gz --without World -o odp.npz
    """


@taxonomy.command(cls=opt.Command)
@click.argument("source", nargs=-1, required=True, type=opt.PLACE)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, metavar="FILE.npz", help="File to write."
)
@click.option("--name", help="What to call it; else the name of the file.")
@click.option("--without", multiple=True, metavar="NAME", help="First-level category to leave out, such as World.")
@click.option("--separator", metavar="TEXT", help="Between the parts of a path; else ' > ' or '/'.")
@click.option("--encoding", default="utf-8", metavar="NAME", help="Encoding of the sources.")
@opt.force
@opt.quiet
@opt.config
def build(source: tuple[str, ...], output: Path, name: str | None, force: bool, quiet: bool, **options: Any) -> None:
    """Pack a table of paths or parents, or a dump of the Open Directory, into one FILE.

    docs/taxonomies.md says what a table looks like.
    """
    from coterie import jobs

    with progress(quiet) as (step, _):
        built = jobs.build_taxonomy(source, output, name=name, force=force, progress=step, **options)
    for note in built.notes:
        say(note, quiet, style="yellow")
    say(f"{output}: {len(built.tree):,} categories, {built.tree.height} levels below the root.", quiet)


@taxonomy.command(cls=opt.Command)
@click.argument("taxonomy", default="wordnet")
@opt.as_json
def show(taxonomy: str, as_json: bool) -> None:
    """The size of a TAXONOMY: wordnet, or a packed file."""
    from coterie import taxonomies
    from coterie.taxonomies import describe

    print_scores(describe(taxonomies.load(taxonomy)), as_json)


@taxonomy.command(cls=opt.Command)
@opt.logs
@_TAXONOMY
@click.option("--unit", type=click.Choice(["term", "query"]), default="term", help="Look up terms or whole queries.")
@click.option("--categories", type=click.IntRange(1), default=1, help="Concepts a term may have.")
@opt.reading
@opt.prepare
@opt.as_json
@opt.quiet
@opt.config
def coverage(
    log: tuple[str, ...],
    taxonomy: str,
    unit: Any,
    categories: int,
    prepare: str,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Which share of the terms and queries of a LOG has a concept, and at which level at least."""
    from coterie import jobs
    from coterie.steps import parse_steps

    steps = parse_steps(prepare)
    with progress(quiet) as (step, note):
        scores = jobs.taxonomy_coverage(
            log,
            taxonomy,
            unit=unit,
            categories=categories,
            reading=opt.reading_of(options),
            steps=steps,
            progress=step,
            note=note,
        )
    print_scores(scores, as_json)
