"""Tamperings: what somebody could do to a release so that it names people, or says more than is true.

Each one edits a genuine release, its sidecar and its record consistently, as an insider could who has all three; the
digest is made right afterwards. To add one, write a function that takes a `Forgery` and decorate it with the name of
the release that it edits. One that `verify` cannot catch says why in `uncaught`, word for word as docs/limits.md does.
Those of access logs, documents and releases of parts are in the files beside it.
"""

from __future__ import annotations

import base64
import gzip
import json
import shutil
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import coterie
from coterie import api
from coterie.core.digests import Part, digest_of_rows
from coterie.core.log import Log
from coterie.core.shapes import LEVEL, QUERIES, RELEASED_SHAPES, Shape
from coterie.errors import CoterieError
from coterie.methods.affinity import Affinity
from coterie.methods.concept_microaggregate import ConceptMicroaggregate
from coterie.methods.generalize import Generalize
from coterie.methods.generalize_users import GeneralizeUsers
from coterie.methods.interest_microaggregate import InterestMicroaggregate
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.promises._names import names_of
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.reading.logs import read_release
from coterie.text.words import digest_of
from coterie.writing.canonical import _sink
from coterie.writing.files import sha256, unnamed
from coterie.writing.sidecar import read_sidecar
from coterie.writing.target import kind_of

KINDS = ("tsv", "csv", "jsonl", "parquet", "tsv.gz", "csv.zst", "jsonl.gz")
USERS = 40
SEED = 5
_ORIGINAL_SHOWS = {"user": "AnonID", "query": "Query", "time": "QueryTime", "rank": "ItemRank", "url": "ClickURL"}


@dataclass(frozen=True, kw_only=True)
class Tampering:
    """One way to tamper with a release."""

    name: str
    release: str
    act: Callable[[Forgery], None]
    uncaught: str = ""
    """Why verify says nothing; empty where it must say something."""


ALL: list[Tampering] = []


def tampering(*releases: str, uncaught: str = "") -> Callable[[Callable[[Forgery], None]], Callable[[Forgery], None]]:
    """Put a function on the list, once for each release that it edits."""

    def add(act: Callable[[Forgery], None]) -> Callable[[Forgery], None]:
        for release in releases:
            name = act.__name__ if len(releases) == 1 else f"{act.__name__}.{_ending(release, releases)}"
            ALL.append(Tampering(name=name, release=release, act=act, uncaught=uncaught))
        return act

    return add


def _ending(release: str, releases: Sequence[str]) -> str:
    """What tells a release from the others: its kind, or else its name."""
    kinds = {each.partition(".")[2] for each in releases}
    return release.partition(".")[2] if len(kinds) == len(releases) else release.partition(".")[0]


def make_releases(folder: Path) -> None:
    """The genuine releases that are tampered with, their records, and the log they come from."""
    from coterie import synth

    synth.write(folder / "log.tsv", USERS, 7)
    log = coterie.prepare(coterie.read(folder / "log.tsv"))
    made = {
        "linked.tsv": SuppressRare(k=3, users="pseudonym"),
        "sessions.tsv": SuppressRare(k=3, users="session"),
        "affine.tsv": Affinity(k=3, theta=0.8),
        "affine_sessions.tsv": Affinity(k=3, theta=0.8, users="session"),
        "concepts_linked.tsv": Generalize(k=3, users="pseudonym"),
        "concepts.tsv": Generalize(k=3),
        "profiles.tsv": Microaggregate(k=5),
        "profiles.parquet": Microaggregate(k=5),
        "phrases.tsv": InterestMicroaggregate(k=5, phrase_users=2),
        "labels.tsv": ConceptMicroaggregate(k=5, synthetic="label"),
        "sets.tsv": GeneralizeUsers(k=3),
        **{f"queries.{kind}": SuppressRare(k=3) for kind in KINDS},
    }
    releases: dict[Any, coterie.Release] = {}
    for name, method in made.items():
        if method not in releases:
            releases[method] = api.anonymize_prepared(log, method, seed=SEED)
        write_release(folder, name, releases[method], "log.tsv")


def write_release(folder: Path, name: str, release: coterie.Release, log: str, parts: int | None = None) -> None:
    """A genuine release with its record, and beside it the name of the log that it comes from."""
    coterie.write(release, folder / name, record=folder / f"record.{name}", parts=parts)
    (folder / f"{name}.log").write_text(log)


class Forgery:
    """A copy of a genuine release that may be edited."""

    def __init__(self, made: Path, name: str, folder: Path) -> None:
        self.path, self.record = folder / name, folder / "record"
        self.log = made / (made / f"{name}.log").read_text()
        (shutil.copytree if (made / name).is_dir() else shutil.copy)(made / name, self.path)
        shutil.copy(made / f"{name}.json", self._side)
        shutil.copytree(made / f"record.{name}", self.record)
        self._details = json.loads(self._side.read_text())["reading"].get("details", ())
        said = read_sidecar(self.path)
        self._says_levels = said is not None and bool(said.released_shape.level)

    @property
    def _side(self) -> Path:
        return self.path.with_name(self.path.name + ".json")

    # --- what is there -----------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        data = json.loads(self._side.read_text())
        shape = RELEASED_SHAPES[data["shape"]].with_details(data["details"])
        return shape.with_levels() if self._says_levels else shape

    @property
    def rows(self) -> pl.DataFrame:
        frame, *_ = read_release(self.path, self.shape)
        return frame.drop("bad").collect()

    @cached_property
    def original(self) -> pl.DataFrame:
        log = coterie.prepare(coterie.read(self.log, details=self._details))  # what it was read into goes with it
        return log.frame.collect()

    @property
    def owners(self) -> pl.Series:
        """Whose each released row is."""
        rows = pl.read_parquet(self.record / "rows.parquet").sort("released_row")
        return rows.join(self.original.select("row", "user"), on="row", how="left", maintain_order="left")["user"]

    @property
    def subject(self) -> str:
        """The column of the original that says whose a row is."""
        return "doc" if "doc" in self.original.columns else "user"

    @property
    def names(self) -> dict[str, str]:
        """The names that people of the original have in a release of this run."""
        ids = self.original[self.subject].drop_nulls().unique().sort()
        return dict(zip(ids, names_of(self.run, ids, ids), strict=True))

    @property
    def run(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.record / "run.json").read_text())
        return loaded

    @property
    def groups(self) -> list[list[str]]:
        """Who shares a profile."""
        subjects = pl.read_parquet(self.record / "subjects.parquet").drop_nulls("group")
        return subjects.group_by("group").agg("original").sort("group")["original"].to_list()

    # --- what can be done --------------------------------------------------------------------------

    def put(self, rows: pl.DataFrame) -> None:
        """Write other rows, in order, as Coterie would; they say how exact times are, as a forger would."""
        shape = self.shape
        if shape.level:
            said = pl.col(LEVEL) if LEVEL in rows.columns else pl.lit(None, pl.String)
            likely = pl.when(pl.col("time").dt.day() == 1).then(pl.lit("month")).otherwise(pl.lit("day"))
            rows = rows.with_columns(pl.when(pl.col("time").is_not_null()).then(pl.coalesce(said, likely)).alias(LEVEL))
        types = {name: shape.schema[name] for name in shape.released}
        rows = rows.select(shape.released).cast(types).sort(shape.order)
        kind, compression = kind_of(self.path)
        lazy = rows.lazy()
        _sink(lazy.drop(unnamed(Log(frame=lazy, shape=shape), kind)), self.path, kind, compression)
        self.seal()

    def put_profiles(self, profiles: dict[str, pl.DataFrame]) -> None:
        """Write these rows under the names of people, and let the record say so."""
        named = [rows.with_columns(pl.lit(name).alias("user")) for name, rows in profiles.items()]
        self.put(pl.concat(named))
        users = {name: user for user, name in self.names.items()}
        group = {name: at for at, name in enumerate(profiles)}
        said = [(users.get(name, name), name, group[name]) for name in profiles]
        left = [(user, None, None) for user, name in self.names.items() if name not in profiles]
        schema = {"original": pl.String, "released": pl.String, "group": pl.UInt32}
        pl.DataFrame([*said, *left], schema=schema, orient="row").write_parquet(self.record / "subjects.parquet")

    def edit(self, change: Callable[[bytes], bytes]) -> None:
        """Change the bytes of the file."""
        before = self.path.read_bytes()
        after = change(before)
        assert after != before
        self.path.write_bytes(after)
        self.seal()

    def edit_text(self, change: Callable[[list[str]], Sequence[str]]) -> None:
        """Change the lines of a text file, line ends included."""
        packed = self.path.suffix == ".gz"
        data = gzip.decompress(self.path.read_bytes()) if packed else self.path.read_bytes()
        text = "".join(change(data.decode().splitlines(keepends=True)))
        if packed:
            with pa.output_stream(str(self.path), compression="gzip") as stream:
                stream.write(text.encode())
        else:
            self.path.write_bytes(text.encode())
        assert packed or self.path.read_bytes() != data
        self.seal()

    def edit_fields(self, column: str, change: Callable[[str], str], separator: str = "\t") -> None:
        """Change the fields of one column that are not empty."""

        def change_lines(lines: list[str]) -> list[str]:
            at = lines[0].rstrip("\n").split(separator).index(column)
            changed = [lines[0]]
            for line in lines[1:]:
                fields = line.rstrip("\n").split(separator)
                fields[at] = change(fields[at]) if fields[at] else fields[at]
                changed.append(separator.join(fields) + "\n")
            return changed

        self.edit_text(change_lines)

    def edit_json(self, change: Callable[[dict[str, Any], int], str]) -> None:
        """Write each JSON object otherwise."""
        self.edit_text(lambda lines: [change(json.loads(line), at) + "\n" for at, line in enumerate(lines)])

    def edit_sidecar(self, change: Callable[[dict[str, Any]], object]) -> None:
        data = json.loads(self._side.read_text())
        change(data)
        self._side.write_text(json.dumps(data, indent=2) + "\n")

    def edit_run(self, **values: Any) -> None:
        (self.record / "run.json").write_text(json.dumps({**self.run, **values}))

    def seal(self) -> None:
        """Make the digests right."""
        digest = sha256(self.path)
        self.edit_sidecar(lambda data: data.update(sha256=digest))
        self.edit_run(released_sha256=digest)
        self.seal_rows()

    def seal_rows(self, parts: Sequence[Part] = ()) -> None:
        """Make the digest of the rows right, where they can be read at all."""
        with suppress(CoterieError):
            frame, shape, *_ = read_release(self.path, self.shape, parts=parts)
            rows = digest_of_rows(frame.select(shape.released))
            self.edit_sidecar(lambda data: data.update(rows_sha256=rows))

    def verify(self, record: bool = True) -> coterie.Verdict:
        original = coterie.read(self.log, details=self._details)
        return coterie.verify(self.path, original, record=self.record if record else None)


def _number(user: str) -> int:
    return int(user)


def as_a_name(user: str) -> str:
    return "u_" + base64.b32encode(user.encode().rjust(10)).decode().lower()


# --- spellings of text ------------------------------------------------------------------------------

TEXTS = ("queries.tsv", "queries.csv", "queries.tsv.gz")


@tampering("queries.tsv", "queries.tsv.gz")
def spaces_that_number_the_user(f: Forgery) -> None:
    owners = f.owners
    f.edit_text(
        lambda lines: [lines[0], *(" " * (int(o) % 50) + line for o, line in zip(owners, lines[1:], strict=True))]
    )


@tampering("queries.tsv")
def leading_zeros(f: Forgery) -> None:
    f.edit_fields("rank", lambda text: "0" + text)


@tampering("queries.tsv")
def a_plus_before_ranks(f: Forgery) -> None:
    f.edit_fields("rank", lambda text: "+" + text)


@tampering("queries.tsv")
def ranks_with_a_fraction(f: Forgery) -> None:
    f.edit_fields("rank", lambda text: text + ".0")


@tampering("queries.tsv")
def spaces_after_ranks(f: Forgery) -> None:
    f.edit_fields("rank", lambda text: text + "  ")


@tampering("queries.tsv")
def a_letter_in_times(f: Forgery) -> None:
    f.edit_fields("time", lambda text: text.replace(" ", "T"))


@tampering("queries.tsv")
def a_zone_in_times(f: Forgery) -> None:
    f.edit_fields("time", lambda text: text + "+00:00")


@tampering("queries.tsv")
def parts_of_seconds(f: Forgery) -> None:
    f.edit_fields("time", lambda text: text + ".0000001")


@tampering("queries.tsv")
def days_without_a_time(f: Forgery) -> None:
    f.edit_fields("time", lambda text: text[:10])


@tampering("queries.tsv")
def times_as_numbers(f: Forgery) -> None:
    from datetime import UTC, datetime

    f.edit_fields("time", lambda text: str(int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())))


@tampering(*TEXTS)
def blank_lines(f: Forgery) -> None:
    f.edit_text(lambda lines: [line + "\n" * (at % 3) for at, line in enumerate(lines)])


@tampering(*TEXTS)
def carriage_returns(f: Forgery) -> None:
    f.edit_text(lambda lines: [line.replace("\n", "\r\n") if at % 2 else line for at, line in enumerate(lines)])


@tampering(*TEXTS)
def byte_order_mark(f: Forgery) -> None:
    f.edit_text(lambda lines: ["\ufeff", *lines])


@tampering(*TEXTS)
def header_repeated(f: Forgery) -> None:
    f.edit_text(lambda lines: [*lines[:9], lines[0], *lines[9:]])


@tampering(*TEXTS)
def no_last_line_end(f: Forgery) -> None:
    f.edit_text(lambda lines: [*lines[:-1], lines[-1].rstrip("\n")])


@tampering("queries.csv")
def quoted_nothing(f: Forgery) -> None:
    f.edit_text(lambda lines: [lines[0], *('""' + line for line in lines[1:])])


@tampering("queries.csv")
def quoted_values(f: Forgery) -> None:
    f.edit_fields("query", lambda text: f'"{text}"', ",")


@tampering("queries.csv")
def quoted_line_ends(f: Forgery) -> None:
    f.edit_text(lambda lines: [lines[0], *('"' + "\n" * (at % 4) + '"' + line for at, line in enumerate(lines[1:]))])


@tampering("queries.csv")
def apostrophes_that_were_not_needed(f: Forgery) -> None:
    f.edit_fields("query", lambda text: "'" + text, ",")
    f.edit_sidecar(lambda data: data.update(csv_safe=True))


@tampering("queries.tsv")
def an_apostrophe_before_an_apostrophe(f: Forgery) -> None:
    f.edit_fields("url", lambda text: "'" + text)
    f.edit_sidecar(lambda data: data.update(csv_safe=True))


@tampering("queries.jsonl", "queries.jsonl.gz")
def a_key_twice(f: Forgery) -> None:
    owners = f.owners
    f.edit_json(lambda row, at: json.dumps(row)[:-1] + f', "user": "{owners[at]}"}}')


@tampering("queries.jsonl")
def a_key_twice_the_other_way_round(f: Forgery) -> None:
    owners = f.owners
    f.edit_json(lambda row, at: f'{{"user": "{owners[at]}", ' + json.dumps(row)[1:])


@tampering("queries.jsonl")
def ranks_as_text(f: Forgery) -> None:
    f.edit_json(lambda row, at: json.dumps({**row, "rank": None if row["rank"] is None else str(row["rank"])}))


@tampering("queries.jsonl")
def ranks_as_fractions(f: Forgery) -> None:
    f.edit_json(lambda row, at: json.dumps({**row, "rank": None if row["rank"] is None else float(row["rank"])}))


@tampering("queries.jsonl")
def spaces_in_json(f: Forgery) -> None:
    f.edit_json(lambda row, at: json.dumps(row, separators=(",", ":")).replace(":", ": ", at % 5))


@tampering("queries.jsonl")
def keys_in_another_order(f: Forgery) -> None:
    f.edit_json(lambda row, at: json.dumps(dict(sorted(row.items(), reverse=bool(at % 2))), separators=(",", ":")))


@tampering("queries.jsonl")
def letters_as_numbers(f: Forgery) -> None:
    f.edit_json(lambda row, at: json.dumps(row, separators=(",", ":")).replace('"query":"', f'"query":"\\u{0x20:04x}'))


@tampering("queries.jsonl")
def keys_left_out(f: Forgery) -> None:
    f.edit_json(
        lambda row, at: json.dumps({k: v for k, v in row.items() if v is not None or at % 2}, separators=(",", ":"))
    )


@tampering("queries.jsonl")
def a_late_field(f: Forgery) -> None:
    f.edit_text(lambda lines: [*lines[:-1], lines[-1].replace("{", '{"note":1,', 1)])


@tampering("queries.jsonl")
def an_object_in_place_of_a_user(f: Forgery) -> None:
    f.edit_text(lambda lines: [line.replace('{"time"', '{"user":{"a":1},"time"') for line in lines])


@tampering("queries.tsv", "queries.csv", "queries.jsonl")
def an_empty_column_of_names(f: Forgery) -> None:
    """As releases had it before: one spelling is enough for something to hide in the other."""
    mark = {".tsv": "\t", ".csv": ","}.get(f.path.suffix)
    if mark is None:
        f.edit_text(lambda lines: [line.replace('{"time"', '{"user":null,"time"') for line in lines])
    else:
        f.edit_text(lambda lines: ["user" + mark + lines[0], *(mark + line for line in lines[1:])])


@tampering("queries.tsv", "queries.csv")
def a_further_column(f: Forgery) -> None:
    mark = "\t" if f.path.suffix == ".tsv" else ","
    f.edit_text(
        lambda lines: [line.rstrip("\n") + mark + (str(at) if at else "note") + "\n" for at, line in enumerate(lines)]
    )


# --- containers -------------------------------------------------------------------------------------


def _gzip(data: bytes, **header: Any) -> bytes:
    import io

    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=header.get("mtime", 0), filename=header.get("name", "")) as out:
        out.write(data)
    return packed.getvalue()


def _with_flags(packed: bytes, flag: int, field: bytes) -> bytes:
    return packed[:3] + bytes([flag]) + packed[4:10] + field + packed[10:]


@tampering("queries.tsv.gz")
def gzip_name_and_time(f: Forgery) -> None:
    f.edit(lambda data: _gzip(gzip.decompress(data), mtime=4417749, name="4417749.tsv"))


@tampering("queries.tsv.gz")
def gzip_time(f: Forgery) -> None:
    f.edit(lambda data: data[:4] + struct.pack("<I", 4417749) + data[8:])


@tampering("queries.tsv.gz")
def gzip_comment(f: Forgery) -> None:
    f.edit(lambda data: _with_flags(data, 16, b"row 1 is user 4417749\0"))


@tampering("queries.tsv.gz")
def gzip_extra_field(f: Forgery) -> None:
    f.edit(lambda data: _with_flags(data, 4, struct.pack("<H", 7) + b"4417749"))


@tampering("queries.tsv.gz")
def gzip_of_an_unknown_system(f: Forgery) -> None:
    f.edit(lambda data: data[:9] + b"\x77" + data[10:])


@tampering("queries.tsv.gz")
def two_members(f: Forgery) -> None:
    def split(data: bytes) -> bytes:
        text = gzip.decompress(data)
        return _gzip(text[:999]) + _gzip(text[999:])

    f.edit(split)


@tampering("queries.tsv.gz")
def an_empty_member(f: Forgery) -> None:
    f.edit(lambda data: data + _gzip(b"", mtime=4417749))


@tampering("queries.tsv.gz")
def something_behind_gzip(f: Forgery) -> None:
    f.edit(lambda data: data + b"4417749")


_ANOTHER_COMPRESSOR = (
    "How a text was compressed is not compared where other bytes give the same text: another version of a "
    "library may have made them. The choices of a compressor can hold notes."
)


@tampering("queries.tsv.gz", uncaught=_ANOTHER_COMPRESSOR)
def another_compressor(f: Forgery) -> None:
    import zlib

    def pack(data: bytes) -> bytes:
        text = gzip.decompress(data)
        packing = zlib.compressobj(1, zlib.DEFLATED, 31)
        packed = packing.compress(text) + packing.flush()
        return packed[:8] + data[8:10] + packed[10:]

    f.edit(pack)


@tampering("queries.csv.zst")
def zstd_skippable_frame(f: Forgery) -> None:
    f.edit(lambda data: data + b"\x50\x2a\x4d\x18" + struct.pack("<I", 7) + b"4417749")


@tampering("queries.csv.zst")
def zstd_skippable_frame_first(f: Forgery) -> None:
    f.edit(lambda data: b"\x50\x2a\x4d\x18" + struct.pack("<I", 7) + b"4417749" + data)


@tampering("queries.csv.zst")
def two_frames(f: Forgery) -> None:
    def split(data: bytes) -> bytes:
        with pa.input_stream(pa.py_buffer(data), compression="zstd") as stream:
            text = stream.read()
        return b"".join(pa.compress(part, codec="zstd", asbytes=True) for part in (text[:999], text[999:]))

    f.edit(split)


@tampering("queries.csv.zst")
def empty_blocks(f: Forgery) -> None:
    f.edit(lambda data: data[:6] + b"\0\0\0" * 4 + data[6:])


# --- Parquet ----------------------------------------------------------------------------------------


def _polars(f: Forgery, rows: pl.DataFrame, **how: Any) -> None:
    rows.write_parquet(f.path, **how)
    f.seal()


def _arrow(f: Forgery, table: pa.Table, **how: Any) -> None:
    pq.write_table(table, f.path, **how)
    f.seal()


@tampering("queries.parquet")
def nanoseconds(f: Forgery) -> None:
    number = f.owners.cast(pl.Int64)
    _polars(f, f.rows.with_columns(pl.col("time").cast(pl.Datetime("ns")) + pl.duration(nanoseconds=number % 1000)))


@tampering("queries.parquet")
def ranks_as_floats(f: Forgery) -> None:
    _polars(f, f.rows.with_columns(pl.col("rank").cast(pl.Float64)))


@tampering("queries.parquet")
def wide_ranks(f: Forgery) -> None:
    _polars(f, f.rows.with_columns(pl.col("rank").cast(pl.Int64)))


@tampering("queries.parquet")
def a_time_zone(f: Forgery) -> None:
    _polars(f, f.rows.with_columns(pl.col("time").dt.replace_time_zone("UTC")))


@tampering("queries.parquet")
def categories(f: Forgery) -> None:
    _polars(f, f.rows.with_columns(pl.col("url").cast(pl.Categorical)))


@tampering("queries.parquet")
def users_as_spaces(f: Forgery) -> None:
    _polars(f, f.rows.with_columns(pl.Series("user", [" " * (int(user) % 60) for user in f.owners])))


@tampering("queries.parquet")
def small_row_groups(f: Forgery) -> None:
    _polars(f, f.rows, row_group_size=1)


@tampering("queries.parquet")
def another_compression(f: Forgery) -> None:
    _polars(f, f.rows, compression="gzip")


@tampering("queries.parquet")
def columns_in_another_order(f: Forgery) -> None:
    _polars(f, f.rows.select(sorted(f.rows.columns)))


@tampering("queries.parquet")
def notes_in_parquet(f: Forgery) -> None:
    _polars(f, f.rows, metadata={"users": ",".join(f.owners)})


@tampering("queries.parquet")
def notes_by_another_writer(f: Forgery) -> None:
    _arrow(f, f.rows.to_arrow().replace_schema_metadata({"users": ",".join(f.owners)}))


@tampering("queries.parquet")
def another_writer(f: Forgery) -> None:
    _arrow(f, f.rows.to_arrow())


@tampering("queries.parquet")
def notes_and_another_version(f: Forgery) -> None:
    _polars(f, f.rows, metadata={"users": ",".join(f.owners)})
    f.edit(lambda data: data.replace(b"version 2.", b"version 1."))


@tampering("queries.parquet")
def row_groups_and_another_version(f: Forgery) -> None:
    _polars(f, f.rows, row_group_size=100)
    f.edit(lambda data: data.replace(b"version 2.", b"version 1."))


@tampering("queries.parquet")
def something_before_the_footer_and_another_version(f: Forgery) -> None:
    def insert(data: bytes) -> bytes:
        footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        return data[:footer] + ",".join(f.owners).encode() + data[footer:].replace(b"version 2.", b"version 1.")

    f.edit(insert)


@tampering("queries.parquet")
def no_statistics_and_another_version(f: Forgery) -> None:
    _polars(f, f.rows, statistics=False)
    f.edit(lambda data: data.replace(b"version 2.", b"version 1."))


_ANOTHER_VERSION_OF_POLARS = (
    "A Parquet file that says that another version of polars wrote it may have other pages: then its "
    "types, notes, row groups, statistics and gaps are looked at, not its bytes."
)


@tampering("queries.parquet", uncaught=_ANOTHER_VERSION_OF_POLARS)
def another_version_of_polars(f: Forgery) -> None:
    f.edit(lambda data: data.replace(b"version 2.", b"version 1."))


@tampering("queries.parquet")
def owners_as_the_writer_of_a_file(f: Forgery) -> None:
    writer = pq.ParquetFile(f.path).metadata.created_by.encode()
    note = b"Polars owners: " + ",".join(f.owners).encode()

    def change(data: bytes) -> bytes:
        size = int.from_bytes(data[-8:-4], "little")
        body, footer = data[: -8 - size], data[-8 - size : -8]
        footer = footer.replace(_counted(writer), _counted(note))
        return body + footer + len(footer).to_bytes(4, "little") + data[-4:]

    f.edit(change)


def _counted(text: bytes) -> bytes:
    """A text as Parquet's footer has it, after its length in groups of seven bits."""
    size, length = b"", len(text)
    while length > 127:
        size, length = size + bytes([length & 127 | 128]), length >> 7
    return size + bytes([length]) + text


# --- rows of queries --------------------------------------------------------------------------------


@tampering("queries.tsv")
def ranks_are_users(f: Forgery) -> None:
    rows = f.rows.with_columns(f.owners.alias("owner"))
    f.put(rows.with_columns(pl.when(pl.col("url").is_not_null()).then(pl.col("owner").cast(pl.Int32)).alias("rank")))


@tampering("queries.tsv")
def days_are_users(f: Forgery) -> None:
    day = pl.datetime(2000, 1, 1) + pl.duration(days=f.owners.cast(pl.Int64) % 1000)
    f.put(f.rows.with_columns(day.cast(QUERIES.schema["time"]).alias("time")))


@tampering("queries.tsv")
def clicks_swapped(f: Forgery) -> None:
    swapped = pl.col("rank").reverse().over("query", "url")
    f.put(f.rows.with_columns(pl.when(pl.col("url").is_not_null()).then(swapped + 1).alias("rank")))


@tampering("concepts.tsv")
def ranks_of_concepts_are_users(f: Forgery) -> None:
    rows = f.rows.with_columns(f.owners.alias("owner"))
    f.put(rows.with_columns(pl.when(pl.col("url").is_not_null()).then(pl.col("owner").cast(pl.Int32)).alias("rank")))


@tampering("queries.tsv")
def rows_of_one_user_each(f: Forgery) -> None:
    rows = f.rows.with_columns(f.owners.alias("owner"))
    f.put(rows.filter(pl.col("owner") == pl.col("owner").min().over("query")))


@tampering("queries.tsv")
def a_rare_query(f: Forgery) -> None:
    rare = f.original.filter(pl.len().over("query") == 1).head(1)
    f.put(pl.concat([f.rows, rare.select(pl.lit(None, pl.String).alias("user"), pl.col("time").dt.truncate("1d"),
                                         "query", pl.lit(None, pl.Int32).alias("rank"),
                                         pl.lit(None, pl.String).alias("url"))], how="diagonal"))  # fmt: skip


@tampering("queries.tsv")
def invented_rows(f: Forgery) -> None:
    f.put(pl.concat([f.rows] * 3))


@tampering("queries.tsv")
def weeks_that_are_called_days(f: Forgery) -> None:
    f.put(f.rows.with_columns(pl.col(LEVEL).replace("week", "day")))


@tampering("queries.parquet", "profiles.tsv")
def levels_that_number_the_user(f: Forgery) -> None:
    number = f.rows["query"].rank("dense") if f.path.name == "profiles.tsv" else f.owners.cast(pl.Int64)
    f.put(f.rows.with_columns(pl.when(number % 2 == 0).then(pl.lit("quarter")).otherwise(LEVEL).alias(LEVEL)))


@tampering("queries.tsv")
def times_of_day(f: Forgery) -> None:
    f.put(f.rows.with_columns(pl.col("time") + pl.duration(hours=9)))


@tampering("queries.tsv")
def the_order_of_the_log(f: Forgery) -> None:
    rows = f.rows
    _sink(rows.reverse().lazy(), f.path, "tsv", None)
    f.seal()


@tampering("queries.tsv")
def users(f: Forgery) -> None:
    f.put(f.rows.with_columns(f.owners.alias("user")))


@tampering("queries.tsv")
def names_where_none_were_promised(f: Forgery) -> None:
    f.put(f.rows.with_columns(f.owners.replace(f.names).alias("user")))


# --- names that link rows ---------------------------------------------------------------------------


@tampering("linked.tsv")
def names_that_are_encoded_users(f: Forgery) -> None:
    f.put(f.rows.with_columns(f.owners.map_elements(as_a_name, pl.String).alias("user")))


@tampering("sessions.tsv")
def names_of_sessions_that_are_encoded_users(f: Forgery) -> None:
    rows = f.rows
    codes = rows.select("user").with_columns(f.owners.alias("owner")).unique("user", maintain_order=True)
    named = [f"{int(owner):06}{at:04}" for at, owner in enumerate(codes["owner"])]
    names = dict(zip(codes["user"], map(as_a_name, named), strict=True))
    f.put(rows.with_columns(pl.col("user").replace(names)))


@tampering("linked.tsv")
def two_users_under_one_name(f: Forgery) -> None:
    first, second, *_ = f.rows["user"].unique().sort()
    f.put(f.rows.with_columns(pl.col("user").replace({second: first})))


@tampering("sessions.tsv")
def sessions_of_a_user_under_one_name(f: Forgery) -> None:
    rows = f.rows.with_columns(f.owners.alias("owner"))
    f.put(rows.with_columns(pl.col("user").first().over("owner")))


@tampering("linked.tsv", "sessions.tsv", "concepts_linked.tsv", "affine_sessions.tsv")
def names_in_the_order_of_users(f: Forgery) -> None:
    owners = f.rows.select("user").with_columns(f.owners.cast(pl.Int64).alias("owner")).drop_nulls().unique()
    used = owners.sort("owner", "user")["user"].to_list()
    ordered = dict(zip(used, sorted(used), strict=True))
    f.put(f.rows.with_columns(pl.col("user").replace(ordered)))
    subjects = pl.read_parquet(f.record / "subjects.parquet")
    subjects.with_columns(pl.col("released").replace(ordered)).write_parquet(f.record / "subjects.parquet")


# --- profiles ---------------------------------------------------------------------------------------


def _history(f: Forgery, user: str) -> pl.DataFrame:
    """What somebody typed, with the months of it: finer times are seen at once."""
    rows = f.original.filter(pl.col("user") == user).select(QUERIES.released)
    return rows.with_columns(pl.col("time").dt.truncate("1mo"))


@tampering("profiles.tsv", "profiles.parquet")
def histories_under_five_names(f: Forgery) -> None:
    f.put_profiles({f.names[user]: _history(f, group[0]) for group in f.groups for user in group})


@tampering("profiles.tsv")
def one_history_under_all_names(f: Forgery) -> None:
    user = f.original.group_by("user").len().sort("len", "user")["user"][-1]
    f.put_profiles({name: _history(f, user) for name in f.names.values()})


@tampering("profiles.tsv")
def one_history_under_invented_names(f: Forgery) -> None:
    user = f.original["user"].drop_nulls()[0]
    f.put_profiles({as_a_name(f"{at:010}"): _history(f, user) for at in range(USERS)})


@tampering("profiles.tsv")
def one_history_and_another_seed(f: Forgery) -> None:
    f.edit_run(seed=1)
    one_history_under_all_names(f)


@tampering("profiles.tsv")
def one_history_without_details(f: Forgery) -> None:
    user = f.original.group_by("user").len().sort("len", "user")["user"][-1]
    bare = _history(f, user).with_columns(
        pl.lit(None, QUERIES.schema[name]).alias(name) for name in ("time", "rank", "url")
    )
    f.put_profiles(dict.fromkeys(f.names.values(), bare))


@tampering("phrases.tsv")
def a_phrase_of_one_user(f: Forgery) -> None:
    queries = f.original.group_by("query").agg(pl.col("user").n_unique().alias("users")).filter(pl.col("users") == 1)
    f.put(f.rows.with_columns(pl.lit(queries["query"].sort()[-1]).alias("query")))


@tampering("phrases.tsv")
def days_beside_phrases(f: Forgery) -> None:
    f.put(f.rows.with_columns(pl.lit(f.original["time"].min()).alias("time")))


def _phrases_of(f: Forgery, user: str) -> pl.DataFrame:
    """Those released phrases that stand in the queries of a person, each once."""
    typed = [f" {query} " for query in f.original.filter(pl.col("user") == user)["query"]]
    texts = [text for text in f.rows["query"].unique().sort() if any(f" {text} " in query for query in typed)]
    return f.rows.clear().vstack(f.rows.head(1)).join(pl.DataFrame({"text": texts}), how="cross").with_columns(
        query=pl.col("text")
    ).drop("text")  # fmt: skip


@tampering("phrases.tsv")
def phrases_of_one_person_under_all_names(f: Forgery) -> None:
    user = f.original.group_by("user").len().sort("len", "user")["user"][-1]
    f.put_profiles(dict.fromkeys(f.names.values(), _phrases_of(f, user)))


@tampering("phrases.tsv")
def phrases_of_one_person_for_each_group(f: Forgery) -> None:
    f.put_profiles({f.names[user]: _phrases_of(f, max(group)) for group in f.groups for user in group})


@tampering("phrases.tsv")
def profiles_of_phrases_exchanged(f: Forgery) -> None:
    names = [f.names[group[0]] for group in f.groups]
    rows = {name: f.rows.filter(pl.col("user") == name) for name in names}
    other = dict(zip(names, [*names[1:], names[0]], strict=True))
    f.put_profiles({f.names[user]: rows[other[f.names[group[0]]]] for group in f.groups for user in group})


@tampering("phrases.tsv")
def a_phrase_more_often(f: Forgery) -> None:
    first = f.rows.group_by("user").agg(pl.col("query").min()).join(f.rows, on=["user", "query"], how="semi")
    extra = f.rows.join(first, on=["user", "query"], how="semi").unique()
    last = f.rows.with_row_index().filter(pl.col("index") != pl.col("index").max().over("user")).drop("index")
    f.put(pl.concat([last, extra]))


@tampering("phrases.tsv")
def a_smaller_m_than_promised(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data["promises"][1].update(m=3))


def _bare(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(pl.lit(None, QUERIES.schema[name]).alias(name) for name in ("time", "rank", "url"))


def _padded(f: Forgery, user: str, others: Sequence[str], times: int) -> pl.DataFrame:
    """Somebody's history, and one query of somebody else over and over."""
    own = _bare(_history(f, user))
    query = f.original.filter(pl.col("user").is_in(list(others)) & (pl.col("user") != user))["query"][0]
    return pl.concat([own, *[own[:1].with_columns(pl.lit(query).alias("query"))] * (own.height * times)])


@tampering("profiles.tsv")
def histories_padded_with_a_query_of_others(f: Forgery) -> None:
    f.put_profiles({f.names[user]: _padded(f, group[0], group, 30) for group in f.groups for user in group})


@tampering("profiles.tsv")
def one_padded_history_under_all_names(f: Forgery) -> None:
    user = f.original.group_by("user").len().sort("len", "user")["user"][-1]
    f.put_profiles(dict.fromkeys(f.names.values(), _padded(f, user, list(f.names), 60)))


@tampering("profiles.tsv")
def histories_padded_a_little(f: Forgery) -> None:
    f.put_profiles({f.names[user]: _padded(f, group[0], group, 2) for group in f.groups for user in group})


@tampering("profiles.tsv")
def histories_cut_to_the_length_of_a_profile(f: Forgery) -> None:
    length = dict(f.rows.group_by("user").len().iter_rows())
    profiles = {}
    for group in f.groups:
        longest = max((_bare(_history(f, user)).unique(maintain_order=True) for user in group), key=len)
        missing = max(0, length[f.names[group[0]]] - longest.height)
        cut = pl.concat([longest, *[longest[:1]] * missing])[: length[f.names[group[0]]]]
        profiles.update({f.names[user]: cut for user in group})
    f.put_profiles(profiles)


@tampering("profiles.tsv")
def a_query_repeated_as_often_as_a_number_says(f: Forgery) -> None:
    rows, parts = f.rows, []
    for group in f.groups:
        own = rows.filter(pl.col("user") == f.names[group[0]])
        longer = pl.concat([own, *[_bare(own[:1])] * (_number(min(group)) % 1000)])
        parts += [longer.with_columns(pl.lit(f.names[user]).alias("user")) for user in group]
    f.put(pl.concat(parts))


@tampering("profiles.tsv")
def true_groups_with_exact_details(f: Forgery) -> None:
    profiles = {}
    for group in f.groups:
        own = f.original.filter(pl.col("user").is_in(group)).select(QUERIES.released)
        own = own.gather_every(len(group)).with_columns(pl.col("user").cast(pl.Int32).alias("rank"))
        profiles.update({f.names[user]: own for user in group})
    f.put_profiles(profiles)


@tampering("profiles.tsv")
def true_groups_with_exact_times(f: Forgery) -> None:
    profiles = {}
    for group in f.groups:
        own = f.original.filter(pl.col("user").is_in(group)).select(QUERIES.released)
        bare = own.with_columns(pl.lit(None, QUERIES.schema[name]).alias(name) for name in ("rank", "url"))
        profiles.update({f.names[user]: bare.gather_every(len(group)) for user in group})
    f.put_profiles(profiles)


@tampering("profiles.tsv")
def full_addresses(f: Forgery) -> None:
    profiles = {}
    for group in f.groups:
        own = f.original.filter(pl.col("user").is_in(group)).select(QUERIES.released)
        bare = own.with_columns(pl.lit(None, QUERIES.schema[name]).alias(name) for name in ("rank", "time"))
        profiles.update({f.names[user]: bare.gather_every(len(group)) for user in group})
    f.put_profiles(profiles)


@tampering("profiles.tsv")
def names_of_profiles_that_are_encoded_users(f: Forgery) -> None:
    encoded = {name: as_a_name(user) for user, name in f.names.items()}
    f.put(f.rows.with_columns(pl.col("user").replace(encoded)))
    subjects = pl.read_parquet(f.record / "subjects.parquet")
    subjects.with_columns(pl.col("released").replace(encoded)).write_parquet(f.record / "subjects.parquet")


@tampering("profiles.tsv")
def a_record_of_other_people(f: Forgery) -> None:
    subjects = pl.read_parquet(f.record / "subjects.parquet")
    subjects.with_columns(pl.col("released").reverse()).write_parquet(f.record / "subjects.parquet")
    f.seal()


@tampering("profiles.tsv")
def the_seed_of_another_run(f: Forgery) -> None:
    f.edit_run(seed=SEED + 1)


@tampering("profiles.tsv")
def a_member_removed(f: Forgery) -> None:
    f.put(f.rows.filter(pl.col("user") != f.rows["user"][0]))


@tampering("profiles.tsv")
def a_row_removed(f: Forgery) -> None:
    f.put(f.rows[1:])


@tampering("profiles.tsv")
def a_query_of_another_group(f: Forgery) -> None:
    first, second, *_ = f.groups
    theirs = f.original.filter(pl.col("user").is_in(second))["query"]
    mine = f.original.filter(pl.col("user").is_in(first))["query"]
    strange = theirs.filter(~theirs.is_in(mine.implode()))[0]
    names = [f.names[user] for user in first]
    rows = f.rows
    more = rows.filter(pl.col("user").is_in(names)).unique("user").with_columns(pl.lit(strange).alias("query"))
    f.put(pl.concat([rows, more]))


@tampering("profiles.tsv")
def a_query_that_nobody_typed(f: Forgery) -> None:
    query = f.rows["query"][0]
    f.put(f.rows.with_columns(pl.col("query").replace({query: "never typed"})))


@tampering("profiles.tsv")
def ranks_of_profiles_are_users(f: Forgery) -> None:
    least = {f.names[user]: int(min(group)) for group in f.groups for user in group}
    numbers = pl.col("user").replace_strict(least, return_dtype=pl.Int32)
    f.put(f.rows.with_columns(numbers.alias("rank")))


@tampering("profiles.tsv")
def another_original(f: Forgery) -> None:
    """The record's log with invented users beside the true ones."""
    padded = f.path.with_name("padded.tsv")
    lines = f.log.read_text().splitlines(keepends=True)
    padded.write_text("".join([*lines, *(line.replace("\t", "9\t", 1) for line in lines[1:50])]))
    f.log = padded


_NUMBERS_BESIDE_QUERIES = (
    "What accompanies a query of a profile is judged by its range only: times and ranks that lie within what its users "
    "had can spell a number, such as whose query it is. `attrs = drop` removes them."
)


@tampering("profiles.tsv", uncaught=_NUMBERS_BESIDE_QUERIES)
def ranks_that_number_members(f: Forgery) -> None:
    rows, parts = f.rows, []
    for group in f.groups:
        own = f.original.filter(pl.col("user").is_in(group))
        low, high = (own["rank"].drop_nulls().sort()[at] for at in (0, -1))
        typist = dict(own.select("query", "user").iter_rows())
        profile = rows.filter(pl.col("user") == f.names[group[0]])
        ranks = [low + group.index(typist[query]) % (high - low + 1) for query in profile["query"]]
        profile = profile.with_columns(pl.Series("rank", ranks, dtype=pl.Int32))
        parts += [profile.with_columns(pl.lit(f.names[user]).alias("user")) for user in group]
    f.put(pl.concat(parts))


def _put_invented_labels(f: Forgery) -> pl.Series:
    """What somebody of each group typed, with who it was, as if these were labels of a taxonomy."""
    profiles = {}
    for group in f.groups:
        typed = pl.concat_str(pl.lit(f"user {group[0]} typed: "), pl.col("query")).alias("query")
        profiles.update(
            dict.fromkeys([f.names[user] for user in group], _bare(_history(f, group[0])).with_columns(typed))
        )
    f.put_profiles(profiles)
    return f.rows["query"].unique().sort()


def _promise_labels(f: Forgery, labels: pl.Series, taxonomy: str) -> None:
    promise = UserKAnonymity(k=5, labels=digest_of(labels))
    f.edit_sidecar(lambda data: data["parameters"].update(taxonomy=taxonomy))
    f.edit_sidecar(lambda data: data["promises"][0].update(labels=promise.labels))


@tampering("labels.tsv")
def invented_labels_with_their_digest(f: Forgery) -> None:
    labels = _put_invented_labels(f)
    pl.DataFrame({"label": labels}).write_parquet(f.record / "labels.parquet")
    f.edit_run(tables={**f.run["tables"], "labels": ["label"]})
    _promise_labels(f, labels, "own")


_LABELS_OF_AN_INVENTED_TAXONOMY = (
    "A taxonomy of one's own can have any labels: `verify` sees that released labels are those of the file that the "
    "record names, not whether whoever made the file put a person into it. Look at its labels, or ask for `wordnet`."
)


@tampering("labels.tsv", uncaught=_LABELS_OF_AN_INVENTED_TAXONOMY)
def labels_of_an_invented_taxonomy(f: Forgery) -> None:
    from dataclasses import replace

    from coterie import taxonomies
    from tests.helpers.small_trees import tree_of

    own = f.path.with_name("own.npz")
    pl.DataFrame({"path": [str(own)]}).write_parquet(f.record / "taxonomy.parquet")
    f.edit_run(
        parameters={**f.run["parameters"], "taxonomy": str(own)}, tables={**f.run["tables"], "taxonomy": ["path"]}
    )
    labels = _put_invented_labels(f)
    tree = tree_of([-1] + [0] * (labels.len() - 1))
    taxonomies.write(replace(tree, labels=labels.rename("text")), own)
    _promise_labels(f, labels, own.name)


_CONCEPTS_OF_OTHERS = (
    "That the concepts of a shared set cover what its users searched for is not part of the promise of "
    "`generalize_users`: only that k users share the set, and that it consists of concepts."
)


@tampering("sets.tsv", uncaught=_CONCEPTS_OF_OTHERS)
def concepts_of_others(f: Forgery) -> None:
    items = f.rows["query"].unique().sort()
    shifted = dict(zip(items, [*items[1:], items[0]], strict=True))
    f.put(f.rows.with_columns(pl.col("query").replace(shifted)))


# --- affinity and concepts --------------------------------------------------------------------------


@tampering("affine.tsv")
def queries_without_a_cover(f: Forgery) -> None:
    alone = f.original.filter(pl.col("user").n_unique().over("query") == 1).head(40)
    bare = alone.select(QUERIES.released).with_columns(
        pl.lit(None, QUERIES.schema[name]).alias(name) for name in ("user", "time", "rank", "url")
    )
    f.put(pl.concat([f.rows, bare], how="diagonal"))


@tampering("affine.tsv")
def a_lower_theta_in_the_promise_alone(f: Forgery) -> None:
    queries_without_a_cover(f)
    f.edit_sidecar(lambda data: data["promises"][0].update(theta=0.1))


@tampering("concepts.tsv")
def rows_of_concepts_removed(f: Forgery) -> None:
    f.put(f.rows[::2])


@tampering("concepts.tsv")
def concepts_swapped(f: Forgery) -> None:
    items = f.rows["query"].unique().sort()
    f.put(f.rows.with_columns(pl.col("query").replace(dict(zip(items, reversed(items.to_list()), strict=True)))))


# --- sidecars and records ---------------------------------------------------------------------------


@tampering("queries.tsv")
def another_number_among_the_parameters(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data["parameters"].update(k=500))


@tampering("queries.tsv")
def a_parameter_too_many(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data["parameters"].update(note="4417749"))


@tampering("queries.tsv")
def a_parameter_that_cannot_be(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data["parameters"].update(attrs="4417749"))


@tampering("queries.tsv")
def no_parameters(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data.update(parameters={}))


@tampering("queries.tsv")
def another_sentence(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data["promises"][0].update(sentence="Nobody can be found, whatever is tried."))


@tampering("queries.tsv")
def another_headline(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data["promises"][0].update(headline="k = 500"))


@tampering("queries.tsv")
def no_limits(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data.update(limits=[]))


@tampering("queries.tsv")
def a_limit_left_out(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data["limits"].pop())


@tampering("queries.tsv")
def a_check_that_failed(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data["checks"][0].update(status="failed"))


@tampering("queries.tsv")
def another_method(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data.update(method="affinity"))


@tampering("queries.tsv")
def a_larger_k_in_the_promise_alone(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data["promises"][0].update(k=4))


@tampering("queries.tsv")
def another_shape(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data.update(shape="VISITS"))


@tampering("queries.tsv")
def k_that_is_no_whole_number(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data["promises"][0].update(k=True))


@tampering("queries.tsv")
def another_digest(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data.update(sha256="0" * 64))


@tampering("queries.tsv")
def a_key_that_no_sidecar_has(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data.update(users=["4417749"]))


@tampering("queries.tsv")
def a_record_of_another_release(f: Forgery) -> None:
    f.edit_run(released_sha256="0" * 64)


@tampering("queries.tsv")
def a_weaker_promise(f: Forgery) -> None:
    def weaken(data: dict[str, Any]) -> None:
        from coterie.promises.query_k_anonymity import QueryKAnonymity

        weaker = QueryKAnonymity(k=2)
        data["promises"][0].update(k=2, sentence=weaker.sentence, headline=weaker.headline)
        data["parameters"].update(k=2)
        data["limits"] = list(weaker.limits)

    f.edit_sidecar(weaken)


@tampering("queries.tsv")
def owners_in_the_name_of_the_method(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data.update(method="row 1 is user 7", parameters={"rows": f.owners.to_list()}))


@tampering("queries.tsv")
def a_method_that_nobody_has(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data.update(method="no_such_method", parameters={"rows": f.owners.to_list()}))


@tampering("queries.tsv")
def an_owner_in_the_version(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data.update(coterie="row 1 is user 7"))


@tampering("profiles.tsv", "linked.tsv")
def names_that_a_guessed_seed_gives(f: Forgery) -> None:
    before, rows = f.names, f.rows
    f.edit_run(input_digest="", seed=0, seed_chosen=False)
    renamed = {name: f.names[user] for user, name in before.items()}
    f.put(rows.with_columns(pl.col("user").replace(renamed)))
    subjects = pl.read_parquet(f.record / "subjects.parquet")
    subjects.with_columns(pl.col("released").replace(renamed)).write_parquet(f.record / "subjects.parquet")


@tampering("queries.tsv")
def a_record_of_another_method(f: Forgery) -> None:
    f.edit_run(method="affinity")


@tampering("affine.tsv")
def name_of_a_file(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data["parameters"].update(function_words="row 1 is user 7"))


_NO_WARNINGS = (
    "Warnings and the words of checks in a sidecar depend on the log and are not compared: they can be "
    "left out, or say anything."
)


@tampering("queries.tsv", uncaught=_NO_WARNINGS)
def no_warnings(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data.update(warnings=[]))


@tampering("queries.tsv")
def checks_left_out(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data.update(checks=data["checks"][:3]))


@tampering("queries.tsv")
def words_of_another_version(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data.update(coterie="0.0.1"))
    f.edit_sidecar(lambda data: data["promises"][0].update(sentence="Nobody can be found, whatever is tried."))
