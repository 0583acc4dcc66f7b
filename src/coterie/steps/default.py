"""The steps that suit the kind of log, so that `--prepare default,scrub` needs no knowledge of them.

Search logs and everything else: `normalize,drop_empty`. Access logs: `strip_query,normalize,drop_empty`, because the
query strings of addresses (tokens, names, session numbers) leak more than pages do, and make nearly every address
unique. The sidecar of a release lists the steps themselves. To keep query strings, name the others:
`--prepare normalize,drop_empty`, or keep some parameters: `--prepare "strip_query(keep_params=page),drop_empty"`.
"""

from __future__ import annotations

from coterie.core.log import Log
from coterie.core.shapes import VISITS, Shape
from coterie.steps._spelling import PrepareStep, step_of


class Default(PrepareStep):
    """The steps that suit the kind of log."""

    looks_at = "rows"

    def __call__(self, log: Log) -> Log:
        """The log after the steps for its shape, each of which it remembers."""
        for name in default_steps(log.shape):
            log = step_of(name)(log)
        return log


def default_steps(shape: Shape) -> tuple[str, ...]:
    """The steps for logs of a shape."""
    return ("strip_query", "normalize", "drop_empty") if shape is VISITS else ("normalize", "drop_empty")
