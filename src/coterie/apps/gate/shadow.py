"""The shadow: a second gate with code of its own, which counts some of the queries and stops the gate on a difference.

It shares nothing with the table it watches: rows in SQLite in place of arrays, BLAKE2 in place of SipHash, SQL in place
of lists. One query in 64 is chosen, by a hash under a key of its own. At the end of each part the lines of these
queries must be exactly those that the shadow expects: not one query early, not one row more or less.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter

import polars as pl

from coterie.core.promise import Check
from coterie.errors import BrokenPromiseError

_TABLES = """
create table held (what integer, text blob, person blob, day integer, events integer,
                   primary key (what, text, person, day)) without rowid;
create table released (what integer, text blob, primary key (what, text)) without rowid;
create table reader (version text, whole integer);
"""
_ADD = """
insert into held values (?, ?, ?, ?, ?)
on conflict (what, text, person, day) do update set events = events + excluded.events
"""
_CROSSED = """
insert or ignore into released
select what, text from held where person != x'' group by what, text having count(distinct person) >= ?
"""
_LINES = """
with crowd as (
  select what, text, count(distinct nullif(person, x'')) >= ?1 as enough from held group by what, text
), common as (
  select what, text, day, sum(events) as events, count(distinct nullif(person, x'')) >= ?1 as told
  from held group by what, text, day
)
select c.what, c.text, case when told and c.what = 0 then c.day end as told_day, sum(c.events), w.enough
from common c join crowd w using (what, text) join released r using (what, text)
where w.enough or ?2
group by c.what, c.text, told_day
"""
_TAKEN = """
delete from held where (what, text) in (
  select h.what, h.text from held h join released r using (what, text)
  group by h.what, h.text having ? or count(distinct nullif(h.person, x'')) >= ?)
"""
QUERY, CLICK = 0, 1


class Shadow:
    """Counts one query in `share`, to be compared with what the gate gives."""

    def __init__(self, k: int, key: str, share: int, kept: bytes | None = None) -> None:
        """`kept`: what `data` gave, after a restart."""
        self.k, self.share = k, share
        secret = bytes.fromhex(key)
        self._tags, self._choice = secret[:16], int.from_bytes(secret[16:24], "little")
        self._residue = secret[24] % share
        self._db = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        if kept is not None:
            self._db.deserialize(kept)
        if kept is None or self._reader[0] != pl.__version__:  # the choice may be another one there
            self._db.close()
            self._db = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
            self._db.executescript(_TABLES)
            self._db.execute("insert into reader values (?, ?)", (pl.__version__, kept is None))
        self.whole = self._reader[1]
        """Whether it has seen the window from its beginning; else it cannot compare before the next one."""

    @property
    def _reader(self) -> tuple[str, bool]:
        version, whole = self._db.execute("select version, whole from reader").fetchone()
        return str(version), bool(whole)

    def data(self) -> bytes:
        """All it has counted, for the snapshot."""
        return self._db.serialize()

    def chosen(self, texts: pl.Series) -> pl.Series:
        """Which texts it counts."""
        return texts.hash(seed=self._choice) % self.share == self._residue

    def count(self, rows: pl.DataFrame) -> None:
        """Count rows of chosen texts: user, item, page, day."""
        events: Counter[tuple[int, bytes, bytes, int]] = Counter()
        for user, item, page, day in rows.select("user", "item", "page", "day").iter_rows():
            texts = [(QUERY, self._tag(item))] + ([(CLICK, self._tag(item, page))] if page is not None else [])
            for what, text in texts:
                person = b"" if user is None else self._tag(user, behind=text)
                events[what, text, person, day if what == QUERY else 0] += 1
        self._db.execute("begin")
        self._db.executemany(_ADD, [(*key, number) for key, number in events.items()])
        self._db.execute("commit")

    def _tag(self, *parts: str, behind: bytes = b"") -> bytes:
        digest = hashlib.blake2b(behind, key=self._tags, digest_size=16)
        for part in parts:
            encoded = part.encode()
            digest.update(len(encoded).to_bytes(8, "little") + encoded)
        return digest.digest()

    def compare(self, lines: pl.DataFrame, rest: bool) -> Check | None:
        """Compare the lines of a part: what (0 query, 1 click), item, page, day, count, crowd. Then they are taken."""
        self._db.execute(_CROSSED, (self.k,))
        expected = set(self._db.execute(_LINES, (self.k, rest)))  # SQLite has 0 and 1 for bool, which are equal
        self._db.execute(_TAKEN, (rest, self.k))
        if not self.whole:
            return None
        mine = lines.filter(self.chosen(lines["item"])) if lines.height else lines
        given = {
            (what, self._tag(item) if what == QUERY else self._tag(item, page), day, count, crowd)
            for what, item, page, day, count, crowd in mine.select(
                "what", "item", "page", "day", "count", "crowd"
            ).iter_rows()
        }
        if len(given) != mine.height or given != expected:
            differing = len(given ^ expected) or mine.height - len(given)
            raise BrokenPromiseError(
                f"The shadow, which counts one query in {self.share}, did not count what the gate counted: "
                f"{differing:,} lines differ. The part was not written, and the gate stopped. Keep state and key, and "
                f"report it."
            )
        return Check(
            name="shadow",
            status="passed",
            detail=f"a second count of one query in {self.share}, with code of its own, gave the same lines",
        )
