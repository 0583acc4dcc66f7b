"""Protection on the client's side, replayed: what a search engine would see if people protected themselves.

A simulation is never called a release and has no promise; attacks judge it.

    from coterie.lab.simulate import protocol, simulate

    done = simulate(log, protocol("friends", topology="er", degree=10, choice="sticky_query"), seed=7)
    done.scores                                   # polars: name, key, value, unit

    world.py      a log as arrays, in the order of time
    graphs.py     who knows whom
    protocols/    one protection per file
    fakes.py      queries that nobody means
    sticky.py     which friend submits a query; the peer shares this rule
    measures/     one measure per file: exposure, attacks, what friends see, personalization, cost
    run.py        replay, then measure; the same for files
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["Simulation", "World", "protocol", "simulate"]

if TYPE_CHECKING:
    from coterie.lab.simulate.run import Simulation, protocol, simulate
    from coterie.lab.simulate.world import World


def __getattr__(name: str) -> Any:
    """Public names, loaded on first use: the peer needs one small rule of this room and nothing heavy."""
    if name not in __all__:
        raise AttributeError(f"module 'coterie.lab.simulate' has no attribute {name!r}")
    return getattr(import_module(f"coterie.lab.simulate.{'world' if name == 'World' else 'run'}"), name)
