"""Made-up access logs with everything that records are told apart by, and with whatever may be missing."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

import polars as pl

import coterie
from coterie.lab.microaggregate_visits import model as visit_records
from coterie.text.agents import VISITOR_PARTS, parse_agents
from coterie.text.hosts import without_query

AGENTS = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:120.0) Gecko/20100101 Firefox/120.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:121.0) Gecko/20100101 Firefox/121.0",
    "Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0",
    "Mozilla/5.0 (Windows NT 6.1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/41.0.2228.0 Safari/537.36",
    "curl/8.5.0",
    None,
]
_PATHS = ["/", "/tea", "/tea/", "/tea/green", "/tea/green/1", "/tea/black", "/maps", "/maps/old/1900?q=1", "*",
          "tea/green", "/" + "/".join("abc" * 13)]  # fmt: skip
_REFERRERS = [None, None, "http://shop.example/tea", "https://www.shop.example/tea/green?x=1", "http://192.0.2.1/",
              "http://news.example", "/tea", "http://shop.example:8080/maps/old"]  # fmt: skip
_ADDRESSES = ["10.0.0.1", "10.0.0.2", "10.0.7.2", "192.0.2.9", "192.0.2.9, 10.0.0.1", "2001:db8::1", "2001:db8:1::7",
              "one.Dial.example", "two.dial.example", "proxy", None]  # fmt: skip


def random_visits(count: int, seed: int, users: int = 12) -> coterie.Log:
    """An access log of a few visitors."""
    draw = Random(seed)
    start = datetime(2026, 3, 1)
    homes = [(f"visitor {n}", draw.choice(_ADDRESSES), draw.choice(AGENTS)) for n in range(users)]
    rows = []
    for _ in range(count):
        user, address, agent = homes[min(int(draw.expovariate(0.3)), users - 1)]
        rows.append({
            "user": user if draw.random() > 0.02 else None,
            "address": address,
            "time": start + timedelta(minutes=draw.randrange(9000)) if draw.random() > 0.03 else None,
            "method": draw.choice(["GET", "GET", "GET", "POST", None]),
            "path": draw.choice(_PATHS),
            "status": draw.choice([200, 200, 304, 404, None]),
            "bytes": draw.choice([0, 17, 512, 100_000, 5_000_000, None]),
            "referrer": draw.choice(_REFERRERS),
            "agent": agent if draw.random() > 0.1 else draw.choice(AGENTS),
        })  # fmt: skip
    return coterie.log(pl.DataFrame(rows, schema_overrides={"status": pl.Int16}))


def in_another_order(rows: list, random: Random) -> list:
    """Rows (visitor, time, ...) shuffled, but for those of one visitor and second, whose order says what came first."""
    shuffled = random.sample(rows, len(rows))
    together: dict[tuple, list] = {}
    for row in rows:
        together.setdefault(row[:2], []).append(row)
    return [together[row[:2]].pop(0) for row in shuffled]


def plain_records(log: coterie.Log, records: visit_records.Records, *, sessionid: bool) -> tuple[list[dict], list[int]]:
    """Records as dicts, as the plain version wants them, in the order of the encoded ones; and their rows."""
    rows = visit_records.with_sessions(log).frame.drop_nulls("user").collect()
    rows = rows.with_columns(without_query(pl.col("path", "referrer")))
    rows = rows.hstack(parse_agents(rows["agent"]).select(VISITOR_PARTS)).with_columns(
        pl.Series("time", visit_records.scaled(rows["time"].dt.epoch("s"))),
        pl.Series("size", visit_records.scaled(visit_records.log_scale(rows["bytes"]))),
    )
    rows = records.rows.join(rows, on="row").sort("_record")
    same = ("path", "referrer", "address", "method", "status")
    plain = [
        {name: row[name] for name in same}
        | {name: None if row[name] == visit_records.kernel.MISSING else row[name] for name in ("time", "size")}
        | {"agent": tuple(row[name] for name in VISITOR_PARTS), "visitor": row["user"]}
        | {"session": (row["user"], row["session"]) if sessionid else 0}
        for row in rows.iter_rows(named=True)
    ]
    return plain, rows["row"].to_list()
