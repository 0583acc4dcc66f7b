"""Networks of friends: made by a rule, or read from a list of friendships.

    ring     a ring lattice: everybody knows the degree/2 nearest people on each side
    er       Erdős and Rényi: each pair are friends with probability degree / (n - 1)
    ba       Barabási and Albert: newcomers befriend degree/2 people, in proportion to the friends these have
    FILE     an edge list: two names in each line, with spaces, tabs or commas between them; # and % begin a remark

Friendship goes both ways. Lines that name one person twice and friendships that were named before are left out and
counted. The people of a list are either drawn for the users of a log (`drawn`): as many as there are users, met from a
person drawn by the seed by asking for friends of friends, so that the sample is about as dense as the whole; or they
are the users of the log (`users`): others are left out and counted, and users who are not in the list have no friends.
"""

from __future__ import annotations

import gzip
import io
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from coterie.core import randomness
from coterie.core.arrays import Ints, Short, offsets
from coterie.errors import InputError, MissingError, ParameterError
from coterie.lab.simulate.kernels import Graph, breadth_first, pairs_of, preferential, reverse

TOPOLOGIES = ("ring", "er", "ba")
NODES = ("drawn", "users")
_REMARKS = ("#", "%")


@dataclass(frozen=True, eq=False, kw_only=True)
class Network:
    """A graph of the users of a log, and what was left out to get it."""

    graph: Graph = field(repr=False)
    loops: int = 0
    duplicates: int = 0
    unknown: int = 0
    """People of a list who are not in the log."""
    beyond: int = 0
    """People of a list whom no user was drawn for."""

    @property
    def degrees(self) -> Ints:
        """How many friends each user has."""
        return np.diff(self.graph.start)

    @property
    def isolated(self) -> int:
        """Users without a friend."""
        return int((self.degrees == 0).sum())

    @property
    def notes(self) -> tuple[str, ...]:
        """What people should know, in sentences; never a name."""
        told = (
            (self.loops, "Lines that name one person twice, left out"),
            (self.duplicates, "Friendships that were named before, left out"),
            (self.unknown, "People of the list who are not in the log, left out"),
            (self.isolated, "Users without friends, who submit their queries themselves"),
        )
        return tuple(f"{text}: {count:,}." for count, text in told if count)


def network(topology: str, users: pl.Series, *, degree: int, nodes: str, seed: int) -> Network:
    """The network of `users`; `topology` is a rule or the path of a list."""
    n = users.len()
    if topology not in TOPOLOGIES:
        return _from_list(Path(topology), users, nodes, seed)
    if n < 2:
        raise InputError("The log has one user, who has nobody to be friends with. Take a log of several users.")
    if degree >= n:
        raise ParameterError(
            f"The log has {n:,} users, so nobody can have {degree} friends. Choose a degree below {n}, or another log."
        )
    stream = randomness.stream(seed, f"network {topology}")
    if topology == "er":
        return Network(graph=by_rows(_random_pairs(n, degree, stream), n))
    if degree % 2 or degree < 2:
        raise ParameterError(f"The degree of a {topology!r} network is even and at least 2. Got {degree} instead.")
    if topology == "ring":
        here = np.arange(n, dtype=np.int64)
        ends: NDArray[Any] = np.stack(
            [np.stack([here, (here + step) % n], axis=1) for step in range(1, degree // 2 + 1)]
        ).ravel()
    else:
        ends = preferential(n, degree // 2, stream.integers(0, 2**64, dtype=np.uint64))
    user = stream.permutation(n).astype(np.int32)  # else names decided who knows whom
    return Network(graph=by_rows(user[ends], n))


def by_rows(ends: Short, n: int) -> Graph:
    """A graph from the ends of its friendships, two and two; loops and repeated friendships are left out."""
    one, other = ends[::2].astype(np.int64), ends[1::2].astype(np.int64)
    apart = one != other
    codes = np.concatenate([one[apart] * n + other[apart], other[apart] * n + one[apart]])
    codes.sort()
    if codes.size:
        codes = codes[np.concatenate([[True], codes[1:] != codes[:-1]])]
    if codes.size >= 2**31:
        raise InputError(
            f"The network has {codes.size // 2:,} friendships, more than can be simulated (1,073,741,823)."
        )
    start = offsets(np.bincount(codes // max(n, 1), minlength=n))
    friend = (codes % max(n, 1)).astype(np.int32)
    return Graph(start, friend, reverse(start, friend))


def _random_pairs(n: int, degree: int, stream: np.random.Generator) -> Short:
    """Each pair with the same probability: how many there are is drawn first, then which ones."""
    n_pairs = n * (n - 1) // 2
    wanted = int(stream.binomial(n_pairs, min(1.0, degree / (n - 1))))
    if 2 * wanted > n_pairs:  # few are missing, so each is asked for
        return pairs_of(stream.permutation(n_pairs)[:wanted].astype(np.uint64))
    codes = np.zeros(0, dtype=np.int64)
    while codes.size < wanted:
        more = stream.integers(0, n_pairs, size=wanted - codes.size + 16)
        codes = np.unique(np.concatenate([codes, more]))
    extra = codes.size - wanted
    if extra:
        codes = np.delete(codes, stream.choice(codes.size, size=extra, replace=False))
    return pairs_of(codes.astype(np.uint64))


# --- lists of friendships --------------------------------------------------------------------------


def _from_list(path: Path, users: pl.Series, nodes: str, seed: int) -> Network:
    pairs = read_pairs(path)
    loops = int((pairs["one"] == pairs["other"]).sum())
    pairs = pairs.filter(pl.col("one") != pl.col("other"))
    named = pl.concat([pairs["one"], pairs["other"]]).unique().sort()
    ordered = pairs.select(
        pl.min_horizontal("one", "other").alias("one"), pl.max_horizontal("one", "other").alias("other")
    )
    distinct = ordered.unique(maintain_order=True)
    duplicates = ordered.height - distinct.height
    n = users.len()
    if nodes == "users":
        known = pl.DataFrame({"name": users, "number": np.arange(n, dtype=np.int32)})
        found = distinct.join(known, left_on="one", right_on="name").join(
            known, left_on="other", right_on="name", suffix="_other"
        )
        unknown = int((~named.is_in(users.implode())).sum())
        if unknown == named.len():
            raise InputError(
                f"None of the {named.len():,} people in {path.name} is a user of the log. Leave out --nodes users, and "
                f"users are put in their places by the seed."
            )
        ends = found.select(pl.concat_list("number", "number_other").explode()).to_series().to_numpy()
        return Network(graph=by_rows(ends, n), loops=loops, duplicates=duplicates, unknown=unknown)
    if named.len() < n:
        raise InputError(
            f"{path.name} has {named.len():,} people with friends, and the log {n:,} users. Take a larger network, "
            f"fewer users (--users {named.len()}), or a topology that grows with the log (er)."
        )
    numbers = pl.DataFrame({"name": named, "number": np.arange(named.len(), dtype=np.int32)})
    found = distinct.join(numbers, left_on="one", right_on="name").join(
        numbers, left_on="other", right_on="name", suffix="_other"
    )
    ends = found.select(pl.concat_list("number", "number_other").explode()).to_series().to_numpy()
    whole = by_rows(ends, named.len())
    stream = randomness.stream(seed, "network list")
    met = breadth_first(whole.start, whole.friend, stream.permutation(named.len()), n)
    place = np.full(named.len(), -1, dtype=np.int32)
    place[met] = stream.permutation(n)  # which user is in which place
    both = (place[ends[::2]] >= 0) & (place[ends[1::2]] >= 0)
    graph = by_rows(place[ends][np.repeat(both, 2)], n)
    return Network(graph=graph, loops=loops, duplicates=duplicates, beyond=named.len() - n)


def read_pairs(path: Path) -> pl.DataFrame:
    """one, other: the two names of each line of an edge list."""
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except FileNotFoundError:
        raise MissingError(f"{path}: no such edge list. A topology is {', '.join(TOPOLOGIES)} or a file.") from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read as an edge list ({type(error).__name__}).") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is not text in UTF-8, as an edge list is.") from None
    lines = pl.DataFrame({"line": list(io.StringIO(text))}, schema={"line": pl.String}).with_row_index("number", 1)
    stripped = pl.col("line").str.strip_chars()
    lines = lines.with_columns(stripped).filter(
        pl.col("line") != "", ~pl.any_horizontal(pl.col("line").str.starts_with(mark) for mark in _REMARKS)
    )
    names = pl.col("line").str.extract_groups(r"^([^\s,;]+)[\s,;]+([^\s,;]+)").struct
    pairs = lines.select("number", names.field("1").alias("one"), names.field("2").alias("other"))
    bad = pairs.filter(pl.col("other").is_null())
    if bad.height:
        raise InputError(
            f"{path.name}: line {bad['number'][0]:,} does not name two people, as lines of an edge list do "
            f"({bad.height:,} such lines)."
        )
    if not pairs.height:
        raise InputError(f"{path.name} has no friendships. An edge list has two names in each line.")
    return pairs.select("one", "other")
