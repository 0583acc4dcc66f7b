"""Friends of a social network submit each other's queries, so that every profile an engine has is a mixture.

Paper:   B. Sirisha and N. Krishnaiah, "Dynamic approach for confidentiality protection in web search" (paper 002),
         after A. Erola and others (2011) and A. Viejo and J. Castellà-Roca (2010).
Symbols: N[u], a user and their friends; the rules are those of lab/simulate/kernels.py.
Differs:
    - The paper's forwarding function and its parameters are in no source at hand: those here are our own choice.
    - In the choice a refusal counts like several submissions (`backoff`): else those who refuse are asked forever.
    - A friend refuses who did `credit` more for somebody than they for them; a ratio would punish
      honest people who search more than their friends.
    - `sticky_query`, `sticky_topic`, `similar` and `best_fit` are not the paper's. `similar` and `best_fit` need
      friends who publish their interests.
    - Who forwards a sticky query mixes its tag with their own; a peer would hash the query with a key of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from coterie.algorithms import sticky
from coterie.algorithms.kernels.lsa import products
from coterie.core import randomness
from coterie.core.arrays import Flags, Masks
from coterie.core.params import Choice, File, NumberOr, Range
from coterie.errors import ParameterError
from coterie.lab.simulate import kernels as kernel
from coterie.lab.simulate.graphs import NODES, TOPOLOGIES, Network, network
from coterie.lab.simulate.protection import BEHAVIOURS, Seen, WithFakes, spread
from coterie.lab.simulate.world import World

CHOICES = {
    "uniform": kernel.UNIFORM,
    "balanced": kernel.BALANCED,
    "similar": kernel.SIMILAR,
    "sticky_query": kernel.STICKY,
    "sticky_topic": kernel.STICKY,
    "best_fit": kernel.BEST_FIT,
}


@dataclass(frozen=True, kw_only=True)
class Friends(WithFakes):
    """People who submit each other's queries."""

    topology: Annotated[str, File(*TOPOLOGIES), "who knows whom"] = "er"
    degree: Annotated[int, Range(1), "friends of a user on average; ring and ba take even numbers"] = 10
    nodes: Annotated[str, Choice(*NODES), "whether people of a file are drawn for users, or are users by name"] = (
        "drawn"
    )
    choice: Annotated[str, Choice(*CHOICES), "who is asked to submit a query"] = "balanced"
    forward: Annotated[float, Range(0, 1), "probability that a friend forwards a query"] = 0.0
    hops: Annotated[int, Range(0, 20), "how often a query may be forwarded"] = 0
    credit: Annotated[int | str, NumberOr(1, "none"), "most that somebody does for a friend beyond what they did"] = (
        "none"
    )
    backoff: Annotated[int, Range(0, 1000), "a refusal counts like so many submissions in the choice"] = 5
    beta: Annotated[float, Range(0, 100), "how much `similar` prefers friends of like interests"] = 5.0
    topics: Annotated[int, Range(1, 1000), "topics of `sticky_topic`"] = 40
    selfish: Annotated[float, Range(0, 1), "share of users who submit nothing for others"] = 0.0
    free_riders: Annotated[float, Range(0, 1), "share who let others submit all they search for"] = 0.0
    curious: Annotated[float, Range(0, 1), "share who write down what friends hand them"] = 0.0
    colluding: Annotated[float, Range(0, 1), "share who tell the engine whose queries they submit"] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.selfish + self.free_riders + self.curious + self.colluding > 1 + 1e-9:
            raise ParameterError("The shares selfish, free_riders, curious and colluding add up to more than 1.")
        if (self.forward > 0) != (self.hops > 0):
            raise ParameterError("Forwarding needs both: forward above 0 and hops of at least 1.")

    def protect(self, world: World, seed: int) -> Seen:
        """What the engine and friends see."""
        net = self.network(world, seed)
        left = self.leaving(world)
        behaviour = self._behaviour(world.n_users, seed)
        rules = kernel.Rules(
            CHOICES[self.choice],
            float(self.forward),
            self.hops,
            kernel.NO_LIMIT if isinstance(self.credit, str) else self.credit,
            self.backoff,
            int(randomness.stream(seed, "friends").integers(0, 2**63)),
        )
        preferences = self._preferences(world, net, left, seed)
        ways = kernel.replay(world.author[left], world.query[left], behaviour, rules, net.graph, preferences)
        identity = np.zeros(world.n_events, dtype=np.int32)
        identity[left] = ways.submitter
        hops, refusals = (spread(each, left).astype(np.int32) for each in (ways.hops, ways.refusals))
        first = np.full(world.n_events, -1, dtype=np.int64)
        first[left] = ways.first
        messages = 2.0 * (hops + refusals)
        return self.seen(
            world,
            identity,
            messages=messages,
            rounds=messages,
            behaviour=behaviour,
            fakes=self.made_up(),
            network=net,
            first=first,
            hops=hops,
            refusals=refusals,
            notes=net.notes,
        )

    def network(self, world: World, seed: int) -> Network:
        """Who knows whom."""
        return network(self.topology, world.users, degree=self.degree, nodes=self.nodes, seed=seed)

    def _behaviour(self, n: int, seed: int) -> np.ndarray:
        """Of each user: shares of all of them, drawn by the seed; more of one kind never changes who is of it."""
        order = randomness.stream(seed, "behaviour").permutation(n)
        behaviour, begin = np.zeros(n, dtype=np.uint8), 0
        for name, kind in list(BEHAVIOURS.items())[1:]:
            size = round(getattr(self, name) * n)
            behaviour[order[begin : begin + size]] = kind
            begin += size
        return behaviour

    def _preferences(self, world: World, net: Network, left: Flags, seed: int) -> kernel.Preferences:
        """What the rule of choice must know of people and queries."""
        graph, no_tags = net.graph, np.zeros(0, dtype=np.uint64)
        weight = np.zeros(0)
        tags = (no_tags, no_tags, no_tags)
        vector = interest = np.zeros((0, 0), dtype=np.float32)
        if self.choice == "similar":
            person = np.repeat(np.arange(world.n_users, dtype=np.int32), net.degrees)
            weight = np.exp(self.beta * products(world.interests, person, world.interests, graph.friend))
        elif self.choice == "best_fit":
            vector, interest = world.vectors, world.interests
        elif self.choice.startswith("sticky"):
            tags = self._tags(world, net, left, seed)
        return kernel.Preferences(weight, *tags, vector, interest)

    def _tags(self, world: World, net: Network, left: Flags, seed: int) -> tuple[Masks, Masks, Masks]:
        """The hashes of algorithms/sticky.py: of the query of each event that leaves, of users, and of friendships."""
        names = world.users.to_list()
        keys = [sticky.key_of(seed, name) for name in names]
        if self.choice == "sticky_topic":
            n, number = self.topics, world.topics(self.topics)[world.query[left]].astype(np.int64)
            texts = [sticky_topic(topic) for topic in range(n)]
        else:
            n, number = world.queries.len(), world.query[left].astype(np.int64)
            texts = world.queries.to_list()
        pairs, place = np.unique(world.author[left] * np.int64(n) + number, return_inverse=True)
        tags = [sticky.query_tag(keys[pair // n], texts[pair % n]) for pair in pairs.tolist()]
        own = [sticky.member_tag(key, name) for key, name in zip(keys, names, strict=True)]
        person = np.repeat(np.arange(world.n_users), net.degrees).tolist()
        friendships = [
            sticky.member_tag(keys[u], names[w]) for u, w in zip(person, net.graph.friend.tolist(), strict=True)
        ]
        one, two, three = (np.array(each, dtype=np.uint64) for each in (tags, own, friendships))
        return one[place], two, three


def sticky_topic(topic: int) -> str:
    """What is hashed in place of the query by `sticky_topic`."""
    return f"topic {topic}"
