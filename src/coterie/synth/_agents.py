"""User agents for the synthetic access log: what browsers and programs call themselves (`data/agents.toml`).

Each has a weight, versions that `{}` stands for (later ones are more frequent), and marks for words that nearly all
have.
"""

from __future__ import annotations

import numpy as np

from coterie.core.arrays import Floats, Ints
from coterie.core.data import table_at
from coterie.synth._words import cumulative

_WORDS = {"~": "AppleWebKit/537.36 (KHTML, like Gecko)", "^": "AppleWebKit/605.1.15 (KHTML, like Gecko)"}


def _table(lines: str) -> tuple[list[str], Floats, Ints]:
    """The agents, how frequent they are, and which one each becomes when it is brought up to date."""
    agents: list[str] = []
    weights: list[float] = []
    following: list[int] = []
    for line in lines.splitlines():
        weight, versions, agent = (part.strip() for part in line.split("|", 2))
        for mark, words in _WORDS.items():
            agent = agent.replace(mark, words)
        written = [agent.format(version) for version in versions.split()]
        shares = range(1, len(written) + 1)
        last = len(agents) + len(written) - 1
        following += [min(len(agents) + place, last) for place in shares]
        weights += [float(weight) * share / sum(shares) for share in shares]
        agents += written
    return agents, cumulative(weights), np.array(following)


_LISTS = table_at("synth", "data/agents.toml")
BROWSERS, BROWSER_CDF, UPDATED = _table(_LISTS["browsers"])
BOTS, BOT_CDF, _ = _table(_LISTS["bots"])
