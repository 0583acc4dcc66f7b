"""`coterie inspect`: what is in a log."""

from __future__ import annotations

from typing import Any

import click

from coterie.cli import options as opt
from coterie.cli.console import print_scores, progress, say


@click.command(cls=opt.Command, context_settings=opt.CONTEXT)
@opt.all_of(opt.logs, opt.reading, opt.prepare, opt.as_json, opt.quiet, opt.config)
def inspect(log: tuple[str, ...], prepare: str, as_json: bool, quiet: bool, **options: Any) -> None:
    """What is in a LOG, and how exposed it is before any protection."""
    from coterie import jobs
    from coterie.steps import parse_steps

    steps = parse_steps(prepare)
    with progress(quiet, stages=3) as job:
        scores = jobs.inspect_logs(log, opt.reading_of(options), steps=steps, for_people=not as_json, job=job)
    print_scores(scores, as_json)
    for name, rows in scores.filter(scores["name"] == "search_params").select("key", "value").iter_rows():
        say(f"Tip: --query-param {name} reads the searches of {rows:,.0f} rows as a search log.", quiet, "dim")
