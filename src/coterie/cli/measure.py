"""`coterie measure`: privacy and utility of a released file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from coterie.cli import options as opt
from coterie.cli.console import print_scores, progress


@click.command(cls=opt.Command, context_settings=opt.CONTEXT)
@opt.released
@click.argument("names", nargs=-1)
@opt.required_original
@opt.record
@opt.sidecar_of_table
@opt.measuring
@opt.seed
@opt.cache
@opt.show_values
@opt.reading
@opt.as_json
@opt.quiet
@opt.config
def measure(
    out: str,
    names: tuple[str, ...],
    original: tuple[str, ...],
    record: Path | None,
    sidecar: str | None,
    seed: int | None,
    cache: bool,
    show_values: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Privacy and utility of a released file OUT against the original log."""
    from coterie import measuring
    from coterie.measures.comparison import default_store

    with progress(quiet, stages=2) as (step, note):
        scores = measuring.measure_file(
            out,
            original,
            names,
            reading=opt.reading_of(options),
            record=record,
            sidecar=sidecar,
            seed=seed,
            store=default_store(cache),
            show_values=show_values,
            given=opt.given_to_measures(options),
            for_people=not as_json,
            progress=step,
            note=note,
        )
    print_scores(scores, as_json)
