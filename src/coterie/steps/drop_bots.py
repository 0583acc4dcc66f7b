"""Leave out requests of programs, which their agents or their requests for robots.txt give away.

An agent is that of a program if ua-parser calls its device a spider, or if it contains one of the usual words (bot,
crawl, curl, feed, ...; `text/agents.py` has them). With `robots_txt`, all rows of visitors who ever asked for
/robots.txt go as well, which no browser does by itself. Rows without an agent stay. Programs that pretend to be a
browser are not found: k visitors can still be k robots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import polars as pl

from coterie.core.log import Log
from coterie.core.params import Flag
from coterie.steps._spelling import PrepareStep
from coterie.text.agents import parse_agents

ROBOTS = r"(?i)^/robots\.txt(?:[?;#]|$)"
"""A request for the file that tells robots where they may go."""


@dataclass(frozen=True, kw_only=True)
class DropBots(PrepareStep):
    """Leave out requests of programs."""

    robots_txt: Annotated[bool, Flag(), "leave out visitors who asked for /robots.txt, whatever their agent"] = True

    @property
    def looks_at(self) -> str:
        """All rows of a visitor, because of one that asks for robots.txt; else each row by itself."""
        return "subjects" if self.robots_txt else "rows"

    def __call__(self, log: Log) -> Log:
        """The log without them; the step counts what it left out by either rule."""
        self.only_visits(log)
        agents = log.frame.group_by("agent").len("rows").collect(engine="streaming")
        bots = agents.filter(parse_agents(agents["agent"])["bot"].fill_null(False))
        frame = log.frame.join(bots.lazy().select("agent"), on="agent", how="anti")
        counts = {"by_agent": int(bots["rows"].sum()), "by_robots_txt": 0}
        if self.robots_txt:
            frame, counts["by_robots_txt"] = _without_readers(frame, log)
        gone, rows = sum(counts.values()), int(agents["rows"].sum())
        note = f"drop_bots: {gone:,} of {rows:,} rows are those of programs and were left out."
        unknown = int(agents.filter(pl.col("agent").is_null())["rows"].sum())
        said = f"drop_bots: {unknown:,} rows have no agent and stay." if unknown else ""
        return self.done(log, frame, counts, note, said)


def _without_readers(frame: pl.LazyFrame, log: Log) -> tuple[pl.LazyFrame, int]:
    """The rows of visitors who never asked for robots.txt, and how many rows were those of others."""
    subject = log.shape.subject
    asked = log.frame.filter(pl.col("path").str.contains(ROBOTS)).select(subject).drop_nulls().unique()
    readers = asked.collect(engine="streaming").lazy()
    theirs = frame.join(readers, on=subject, how="semi").select(pl.len()).collect(engine="streaming").item()
    return frame.join(readers, on=subject, how="anti"), int(theirs)
