"""`coterie methods`, `formats`, `measures`, `promises` and `regimes`: what there is, and a page about each; and
`coterie taxonomy`: pack a tree of categories, look at one, and see how much of a log it covers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Any

import click

from coterie.cli import options as opt
from coterie.cli.console import print_scores, progress, say

_EXAMPLE = {"k": 5, "m": 5}  # the number that promises are shown with


def _list(kind: str) -> None:
    """The names of a kind with one line each."""
    from coterie.core import registry

    names = registry.names(kind)
    width = max(map(len, names))
    for name in names:
        first, *_ = (registry.module(kind, name).__doc__ or "").strip().splitlines()
        click.echo(f"{name:{width}}  {first}")


def _listed(kind: str, says: str, more: Callable[[str], Iterator[str]] = lambda _name: iter(())) -> click.Command:
    """The command that lists what there is of a kind, or says of one what its file says about it, and `more`."""

    def command(name: str | None) -> None:
        from coterie.core import registry

        if name is None:
            _list(kind)
            return
        click.echo(f"{name}\n\n{cleandoc(registry.module(kind, name).__doc__ or '')}")
        for line in more(name):
            click.echo(line)

    argument = click.Argument(["name"], required=False)
    return opt.Command(kind, callback=command, help=says, params=[argument])


def _method_lines(name: str) -> Iterator[str]:
    yield "\nParameters:"
    for param in opt.params(name):
        yield f"  {param.name} = {param.default!r}: {param.doc}; {param.rule.describe(param.kind)}"


def _promise_lines(name: str) -> Iterator[str]:
    """A promise with k = 5, and what its numbers mean."""
    from coterie.core.params import params_of
    from coterie.core.promise import promise_class

    promise_type = promise_class(name)
    shown = example_of(promise_type)
    if shown is not None:
        yield f"\nA release with {shown.headline} says:\n  {shown.sentence}"
        yield "\nIts limits:"
        yield from (f"  - {limit}" for limit in shown.limits)
        tables = ", ".join(shown.evidence)
        yield "\nIts judge looks into the released rows and the original log" + (
            f", and of the run record into: {tables}." if tables else "; it looks into no table of the run record."
        )
    yield "\nNumbers and choices:"
    for param in params_of(promise_type):
        default = "" if param.default is None else f" = {param.default!r}"
        yield f"  {param.name}{default}: {param.doc}; {param.rule.describe(param.kind)}"


def example_of(promise_type: Any) -> Any:
    """A promise with k = 5 and what it takes for granted; None for one that needs other numbers."""
    from dataclasses import MISSING, fields

    own = {field.name for field in fields(promise_type) if field.default is MISSING}
    try:
        return promise_type(**{name: value for name, value in _EXAMPLE.items() if name in own})
    except TypeError:
        return None


methods = _listed("methods", "List the methods, or explain one.", _method_lines)
formats = _listed("formats", "List the log formats, or explain one.")
measures = _listed("measures", "List the measures, or explain one.")
promises = _listed(
    "promises", "List the promises, or explain one: what it says, and what it does not say.", _promise_lines
)


@click.command(cls=opt.Command)
@click.argument("name", required=False)
def regimes(name: str | None) -> None:
    """List the regimes under which search data are shared, or show one: settings, sources, what is unknown."""
    from coterie import regimes

    if name is not None:
        click.echo("\n".join(_regime_lines(name, regimes.load(name))))
        return
    width = max(map(len, regimes.names()))
    for each in regimes.names():
        regime = regimes.load(each)
        click.echo(f"{each:{width}}  {regime.title} ({regime.status})")


def _regime_lines(name: str, regime: Any) -> Iterator[str]:
    """A regime as its file says it, with the command that runs it."""
    from coterie.core.plan import Facts
    from coterie.core.promise import promise_nothing

    yield f"{name}\n\n{regime.title} ({regime.status}).\n{regime.about}"
    yield f"\nSettings: {regime.method}, prepared by {', '.join(regime.prepare)}"
    yield from (f"  {key} = {value!r}" for key, value in regime.parameters.items())
    for title, lines in (("Ours, because it is not public", regime.ours), ("Unknown", regime.unknown)):
        yield f"\n{title}:"
        yield from (f"  - {line}" for line in lines)
    yield "\nSources:"
    yield from (f"  - {each.title} ({each.date}): {each.says}\n    {each.url}" for each in regime.sources)
    promised = regime.make().promises(Facts(subjects=10**6, rows=10**7))
    yield f"\nRun it: coterie anonymize regime:{name} LOG -o OUT{' --promise none' * promise_nothing(promised)}"


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
@click.option("-o", "--output", type=opt.PATH, required=True, metavar="FILE.npz", help="File to write.")
@click.option("--name", help="What to call it; else the name of the file.")
@click.option("--without", multiple=True, metavar="NAME", help="First-level category to leave out, such as World.")
@click.option("--separator", metavar="TEXT", help="Between the parts of a path; else ' > ' or '/'.")
@click.option("--encoding", default="utf-8", metavar="NAME", help="Encoding of the sources.")
@opt.all_of(opt.force, opt.quiet, opt.config)
def build(source: tuple[str, ...], output: Path, name: str | None, force: bool, quiet: bool, **options: Any) -> None:
    """Pack a table of paths or parents, or a dump of the Open Directory, into one FILE.

    docs/taxonomies.md says what a table looks like.
    """
    from coterie import jobs

    with progress(quiet) as job:
        built = jobs.build_taxonomy(source, output, name=name, force=force, progress=job.progress, **options)
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
@opt.all_of(opt.logs, _TAXONOMY)
@click.option("--unit", type=click.Choice(["term", "query"]), default="term", help="Look up terms or whole queries.")
@click.option("--categories", type=click.IntRange(1), default=1, help="Concepts a term may have.")
@opt.all_of(opt.reading, opt.prepare, opt.as_json, opt.quiet, opt.config)
def coverage(log: tuple[str, ...], taxonomy: str, steps: opt.Steps, as_json: bool, quiet: bool, **options: Any) -> None:
    """Which share of the terms and queries of a LOG has a concept, and at which level at least."""
    from coterie import jobs

    reading, own = opt.parted(options)
    with progress(quiet) as job:
        scores = jobs.taxonomy_coverage(log, taxonomy, reading=reading, steps=steps, job=job, **own)
    print_scores(scores, as_json)
