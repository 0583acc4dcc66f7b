"""`coterie verify`: check a released file again."""

from __future__ import annotations

from typing import Any

import click

from coterie.cli import options as opt
from coterie.cli.console import conclusion, print_verdict, progress, say


@click.command(cls=opt.Command)
@opt.all_of(opt.released, opt.original)
@click.option("--promise", metavar="NAME", help="What to check, for a file without a sidecar.")
@click.option("--k", "-k", type=int, help="Check this k instead of the promised one.")
@opt.reading
@click.option("--original-format", metavar="NAME", help="Format of the original, where OUT has another one.")
@click.option("--original-columns", metavar="user=A,query=B", help="Columns of the original, where OUT has others.")
@opt.all_of(opt.prepare_original, opt.record, opt.sidecar_of_table, opt.engine, opt.as_json, opt.quiet, opt.config)
@click.pass_context
def verify(
    ctx: click.Context, /, out: str, original: tuple[str, ...], as_json: bool, quiet: bool, **options: Any
) -> None:
    """Check a released file OUT again; exit 0 holds, 1 broken, 3 not checkable.

    Works for files that Coterie did not make too: name --promise and --k.
    """
    from coterie import jobs
    from coterie.reading.reading import Reading

    own = Reading(format=options["original_format"], columns=options["original_columns"] or {})
    with progress(quiet, stages=2, engine=options["engine"], sidecars=options["sidecars"]) as job:
        verdict = jobs.verify_file(
            out,
            original,
            reading=opt.reading_of(options),
            original_reading=own,
            job=job,
            **{name: options[name] for name in ("promise", "k", "steps", "record")},
        )
    if not quiet or as_json:
        print_verdict(verdict, as_json)
    elif verdict.exit_code:
        say(conclusion(verdict), style="red")
    ctx.exit(verdict.exit_code)
