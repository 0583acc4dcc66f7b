"""Explain: why `affinity` gives a query its anonymity degree, a picture of the queries around it, and the whole log.

A query of the graph sits in a core: the largest set of queries each of which has, together with its affine queries in
the set, one user more than the order of the core. Only the part of the core that is connected to the query is
reported. The caller gives queries, one per line; what is reported about them names the number of the line only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from coterie.core.arrays import Flags, Ints
from coterie.core.log import Log
from coterie.core.run import Run
from coterie.core.shapes import QUERIES
from coterie.engines.local import Local
from coterie.errors import InputError, MissingError, ParameterError
from coterie.methods.affinity import Affinity
from coterie.methods.affinity.kernels import components
from coterie.methods.affinity.model import UNIT, AffinityGraph
from coterie.reports.drawing import Network, draw_network
from coterie.text.words import spell
from coterie.writing.targets import temporary

SCORES = {"name": pl.String, "key": pl.String, "value": pl.Float64, "unit": pl.String}
_CROWDS = {"1": (1, 1), "2_to_4": (2, 4), "5_to_9": (5, 9), "10_to_19": (10, 19), "20_to_49": (20, 49)}
_CROWDS["50_and_more"] = (50, 2**31)
MOST = 100
"""Queries in a picture; more cannot be told apart."""
IN_GRAPH = "in graph"
NO_CONCEPT = "no concept"
RARE_WORD = "rare word"
ABSENT = "not in log"
COLUMNS = {
    "line": pl.Int64,
    "state": pl.String,
    "users": pl.Int64,
    "degree": pl.Int64,
    "affine_queries": pl.Int64,
    "covering_queries": pl.Int64,
    "covering_users": pl.Int64,
    "core_order": pl.Int64,
    "core_queries": pl.Int64,
}
"""What is reported about a query. Covering queries are the affine ones in its core; their users are those that the
query does not have itself. Without a place in the graph there are none."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Explanation:
    """What is reported about the queries, and what it was read from."""

    table: pl.DataFrame
    """COLUMNS and, private, the query."""
    graph: AffinityGraph
    theta: float

    def __repr__(self) -> str:
        return f"Explanation({self.table.height} queries)"

    def scores(self, show_values: bool) -> pl.DataFrame:
        """name, key, value, unit (and label, where values may be shown)."""
        rows = []
        for row in self.table.iter_rows(named=True):
            in_log = row["state"] != ABSENT
            numbers = {"in_log": int(in_log), "in_graph": int(row["state"] == IN_GRAPH)}
            numbers |= {key: row[key] for key in list(COLUMNS)[2:]}
            units = {"in_log": row["state"], "in_graph": row["state"], "core_order": "users besides one"}
            for key, number in numbers.items():
                unit = units.get(key, "users" if key in ("users", "degree", "covering_users") else "queries")
                rows.append(("explain", f"{row['line']}.{key}", number, unit, row["query"]))
        table = pl.DataFrame(rows, schema={**SCORES, "label": pl.String}, orient="row")
        return table if show_values else table.drop("label")


def read_queries(path: Path) -> list[tuple[int, str]]:
    """Number and text of the lines of a file that are not empty."""
    if not path.exists() or path.is_dir():  # a pipe is as good as a file
        raise MissingError(f"{path}: no such file of queries. Give one with a query on each line.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is not UTF-8 text: save it as UTF-8.") from None
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise InputError(f"{path.name} has no query in it: write one per line.")
    return lines


def explain_affinity(log: Log, method: Affinity, queries: Sequence[tuple[int, str]] = ()) -> Explanation:
    """What the method makes of some queries of a log, spelled as the log was prepared."""
    log = log.plain
    if log.shape is not QUERIES:
        raise InputError(f"affinity works on {QUERIES.name}, and this log is {log.shape.name}: give a log of queries.")
    graph = method.learn(log, Run(seed=0, engine=Local()))
    if graph.queries.people.is_empty():
        raise InputError(
            "No row says who asked, so there is nobody to count. Say which column does: --columns user=NAME."
        )
    given = pl.DataFrame(queries, schema={"line": pl.Int64, "query": pl.String}, orient="row")
    if "normalize" in log.steps:
        given = given.with_columns(spell(pl.col("query")))
    places = pl.DataFrame({"query": graph.queries.names}).with_row_index("at")
    placed = given.join(places, on="query", how="left", maintain_order="left")
    rows = [(*table_row(graph, line, at), query) for line, query, at in placed.iter_rows()]
    table = pl.DataFrame(rows, schema={**COLUMNS, "query": pl.String}, orient="row")
    return Explanation(table=table, graph=graph, theta=method.theta)


def table_row(graph: AffinityGraph, line: int, query: int | None) -> tuple[int | str | None, ...]:
    """A line of the table."""
    if query is None:
        return line, ABSENT, *[None] * 7
    own, degree, vertex = graph.queries.crowd[query], graph.degree[query], graph.vertices.vertex[query]
    if vertex < 0:
        state = RARE_WORD if graph.vertices.rare[query] else NO_CONCEPT
        return line, state, int(own), int(degree), *[None] * 5
    order = graph.core[vertex]
    near = _neighbours(graph, vertex)
    inside = near[graph.core[near] >= order]
    covering = _union(graph, np.append(inside, vertex))
    around = np.append(inside, vertex)
    return (
        line, IN_GRAPH, int(own), int(degree),
        _size(graph, np.append(near, vertex)) - 1,
        _size(graph, around) - 1,
        covering - int(own),
        int(order),
        _size(graph, reach(graph, vertex, order)),
    )  # fmt: skip


def overview(graph: AffinityGraph) -> pl.DataFrame:
    """name, key, value, unit: the log, its concepts, its graph and its degrees in numbers."""
    rows = [*_of_queries(graph), *_of_graph(graph), *_of_degrees(graph)]
    return pl.DataFrame([("explain", *row) for row in rows], schema=SCORES, orient="row")


def _of_queries(graph: AffinityGraph) -> Iterator[tuple[str, float | None, str]]:
    queries = graph.queries
    yield "users", len(queries.people), "users"
    yield "searches", int(queries.events.sum()), "searches"
    yield "queries", len(queries.names), "queries"
    yield "queries.one_user", _percent(queries.crowd == 1), "% of queries"
    words = queries.names.str.count_matches("[^ ]+").to_numpy()
    for key, those in {**{str(n): words == n for n in range(1, 5)}, "5_and_more": words >= 5}.items():
        yield f"queries.words.{key}", _percent(those), "% of queries"
        yield f"searches.words.{key}", _percent(those, queries.events), "% of searches"


def _of_graph(graph: AffinityGraph) -> Iterator[tuple[str, float | None, str]]:
    vertices, events = graph.vertices, graph.queries.events
    yield "min_users", vertices.tau, "users"
    yield "concepts", vertices.mass.size, "words and phrases"
    for n in (1, 2, 3):
        masses = vertices.mass[vertices.length == n]
        yield f"concepts.words.{n}", masses.size, "words and phrases"
        yield f"concepts.words.{n}.largest_weight", np.sqrt(masses.max() / UNIT) if masses.size else None, "weight"
    inside = vertices.vertex >= 0
    yield "queries.rare_word", int(vertices.rare.sum()), "queries"
    yield "queries.no_concept", int((~inside & ~vertices.rare).sum()), "queries"
    yield "queries.in_graph", int(inside.sum()), "queries"
    yield "searches.in_graph", int(events[inside].sum()), "searches"
    yield "vectors", graph.core.size, "vectors"
    yield "pairs", graph.neighbours.items.size // 2, "affine pairs of vectors"
    # For each query of the graph: how many queries are connected to it, itself included.
    sizes = np.bincount(components(graph.neighbours), weights=np.diff(vertices.members.start))
    total = sizes.sum()
    yield "component.mean", (sizes * sizes).sum() / total if total else None, "queries"
    yield "component.largest", sizes.max() if total else None, "queries"


def _of_degrees(graph: AffinityGraph) -> Iterator[tuple[str, float | None, str]]:
    crowd, degree = graph.queries.crowd, graph.degree
    for users, (least, most) in _CROWDS.items():
        those = (crowd >= least) & (crowd <= most)
        yield f"degree.{users}.queries", int(those.sum()), "queries"
        yield f"degree.{users}.higher", _percent(degree[those] > crowd[those]), "% of them"
        yield f"degree.{users}.mean", degree[those].mean() if those.any() else None, "users"


def _percent(those: Flags, weights: Ints | None = None) -> float | None:
    """The share of those, in percent."""
    return 100 * float(np.average(those, weights=weights)) if those.size else None


def reach(graph: AffinityGraph, vertex: int, order: int = 0, enough: int | None = None) -> Ints:
    """Vertices of cores of this order that are connected to a vertex, from near to far, until there are enough."""
    seen = np.zeros(graph.core.size, dtype=np.bool_)
    seen[vertex] = True
    ring = np.array([vertex], dtype=np.int64)
    rings = [ring]
    while ring.size and (enough is None or sum(map(len, rings)) < enough):
        near = np.unique(np.concatenate([_neighbours(graph, each) for each in ring]))
        ring = near[(graph.core[near] >= order) & ~seen[near]]
        seen[ring] = True
        rings.append(ring)
    return np.concatenate(rings)


def network(graph: AffinityGraph, query: int) -> Network:
    """The component of a query of the graph as points and lines; the nearest queries where it is large."""
    vertex = int(graph.vertices.vertex[query])
    near_vertices = reach(graph, vertex, enough=MOST)
    connected = _size(graph, reach(graph, vertex))
    members = [(int(q), int(v)) for v in near_vertices for q in graph.vertices.members.of(v)]
    members.sort(key=lambda pair: pair[0] != query)  # the query itself is never cut off
    members = members[:MOST]
    near = {v: {*_neighbours(graph, v).tolist(), v} for _, v in members}
    lines = [(a, b) for b in range(len(members)) for a in range(b) if members[a][1] in near[members[b][1]]]
    return Network(
        points=tuple(q for q, _ in members),
        groups=tuple(int(graph.core[v]) for _, v in members),
        lines=tuple(lines),
        more=connected - len(members),
    )


def draw_component(explanation: Explanation, path: Path, show_values: bool) -> None:
    """A picture of the component of the first query that is in the graph: .svg, .png or .html by the name."""
    shown = explanation.table.filter(pl.col("state") == IN_GRAPH)
    if shown.is_empty():
        raise InputError("None of the queries is in the graph, so there is nothing to draw. Ask about another query.")
    names = explanation.graph.queries.names
    at = int(names.search_sorted(shown["query"][0]))
    picture = network(explanation.graph, at)
    texts = [names[q] if show_values else str(i) for i, q in enumerate(picture.points, 1)]
    with temporary(path.parent, path.name) as part:
        title = f"Queries affine at θ = {explanation.theta:g}"
        part.write_bytes(draw_network(picture, texts, title, picture_kind(path)))
        part.replace(path)


def picture_kind(path: Path) -> str:
    """What kind of picture a file name asks for."""
    if path.suffix not in (".svg", ".png", ".html"):
        raise ParameterError(f"A picture is written as .svg, .png or .html, not {path.suffix!r}.")
    return path.suffix[1:]


def _neighbours(graph: AffinityGraph, vertex: int) -> Ints:
    near: Ints = graph.neighbours.of(vertex).astype(np.int64)
    return near


def _size(graph: AffinityGraph, vertices: Ints) -> int:
    """How many queries some vertices have."""
    return int(np.diff(graph.vertices.members.start)[vertices].sum())


def _union(graph: AffinityGraph, these: Ints) -> int:
    """How many users some vertices have together."""
    return int(np.unique(np.concatenate([graph.vertices.users.of(v) for v in these])).size)
