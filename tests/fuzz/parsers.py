"""Every parser with valid files that hold canaries, and how it is called."""

import gzip
import io
import json
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import polars as pl
import pypdf
import zstandard

import coterie
from coterie import taxonomies
from coterie.core import registry
from coterie.measures.inputs import read_labels
from coterie.methods.suppress_rare import SuppressRare
from coterie.study.file import load_study
from coterie.taxonomies import build
from coterie.writing.record import read_record
from coterie.writing.sidecar import read_sidecar

CANARIES = ("qzuserq", "qzqueryq", "qzurlq", "qztextq")


@dataclass(frozen=True)
class Parser:
    """A parser: the file it reads, valid contents of it, and the call."""

    file: str
    samples: list[bytes]
    parse: Callable[[Path], object]
    """Takes the file, which is the only one in its folder but for those that `beside` made."""
    beside: Callable[[Path], object] = lambda _: None
    by_line: bool = False
    """Whether lines are parsed one by one, so that several files can be tried as one."""


def _log(path: Path, format: str, query_param: str | None = None) -> None:
    """Read a log; every third time its bad lines are reported rather than left out."""
    allow_bad = path.stat().st_size % 3 > 0
    coterie.read(path, format=format, query_param=query_param, allow_bad=allow_bad).to_polars()


def _format(name: str, *samples: str, encoding: str = "utf-8") -> Parser:
    own = registry.module("formats", name).sample
    texts = [text.encode(encoding) for text in (own, *samples)]
    packs = [gzip.compress(texts[-1], mtime=0), zstandard.compress(texts[-1])]
    return Parser("log", [*texts, *texts, *packs], partial(_log, format=name), by_line=True)


_USERS = [f"qzuserq{n}" for n in range(6)]
_AOL = "".join(f"{u}\tqzqueryq {n}\t2006-03-01 12:00:0{n}\t{n}\thttp://qzurlq.example\n" for n, u in enumerate(_USERS))
_EXCITE = "".join(f"{n:016X}\t97091610543{n}\tqzqueryq {n}\n" for n in range(6))
_SOGOU = "".join(f"00:00:0{n}\t{u}\t[qzqueryq 茶]\t8 3\tqzurlq.example/a\n" for n, u in enumerate(_USERS))
_CLF = "".join(
    f'192.0.2.{n} - {u} [03/Feb/2020:09:00:0{n} +0100] "GET /qzqueryq HTTP/1.1" 200 512 "http://qzurlq/" "qztextq/1"\n'
    for n, u in enumerate(_USERS)
)
_SEARCHES = _CLF.replace("/qzqueryq", "/?q=qzqueryq%C3%A9+a&page=2").replace(
    "http://qzurlq/", "https://www.google.com/?q=qzurlq"
)
_NINE = "2020-02-03T09:00:00Z"
_UBI = "".join(
    json.dumps({"query_id": f"q{n}", "client_id": u, "user_query": "qzqueryq", "timestamp": _NINE}) + "\n"
    + json.dumps({"action_name": "click", "query_id": f"q{n}", "event_attributes": {"position": {"ordinal": n},
                  "object": {"object_id": "qzurlq"}}}) + "\n"
    for n, u in enumerate(_USERS)
)  # fmt: skip
_UBI_ARRAY = json.dumps([json.loads(line) for line in _UBI.splitlines()], indent=1)
_EVENTS = [
    {"@timestamp": _NINE, "event": {"action": action}, "user": {"id": u}, "session": {"id": f"s{n}"},
     "search": {"query": "qzqueryq", "results": {"items": [{"document": {"id": "qzurlq"}}]}},
     "document": {"id": "qzurlq"}}
    for n, u in enumerate(_USERS) for action in ("search", "search_click")
]  # fmt: skip
_ELASTIC = "".join(json.dumps(event) + "\n" for event in _EVENTS)
_HITS = json.dumps({"hits": {"hits": [{"_index": "i", "_source": event} for event in _EVENTS]}}, indent=1)
_ALGOLIA = "".join(
    json.dumps({"query": "qzqueryq", "userToken": u, "queryID": f"q{n}", "timestamp": 1580720400000}) + "\n"
    + json.dumps({"eventType": "click", "queryID": f"q{n}", "objectIDs": ["qzurlq"], "positions": [n], "userToken": u})
    + "\n"
    + json.dumps({"query_body": json.dumps({"requests": [{"params": f"query=qzqueryq+a&userToken={u}"}]}), "ip": u,
                  "timestamp": _NINE, "answer": json.dumps({"results": [{"queryID": "x"}]})}) + "\n"
    for n, u in enumerate(_USERS)
)  # fmt: skip
_SOLR = "".join(
    f"2020-02-03 09:00:0{n}.123 INFO  (qtp7) [ x:qztextq] o.a.s.c.S.Request webapp=/solr path=/select "
    f"params={{q=qzqueryq%20a+b&user={u}&rows={n}}} hits=4 status=0 QTime=1\n"
    for n, u in enumerate(_USERS)
)
_MATOMO = json.dumps(
    [{"visitorId": u, "actionDetails": [{"type": "search", "siteSearchKeyword": "qzqueryq", "timestamp": 1580720400}]}
     for u in _USERS], indent=1
)  # fmt: skip
_MATOMO_ROWS = "idvisitor,server_time,name,type\n" + "".join(f"{u},2020-02-03 09:00:00,qzqueryq,8\n" for u in _USERS)
_W3C = "#Fields: date time cs-method cs-uri-stem cs-uri-query cs-username c-ip cs(User-Agent) sc-status\n" + "".join(
    f"2020-02-03 09:00:0{n} GET /qzurlq q=qzqueryq {u} 192.0.2.{n} qztextq/1 200\n" for n, u in enumerate(_USERS)
)
_CADDY = "".join(
    json.dumps({"ts": 1580720400.5, "logger": "http.log.access", "user_id": u, "status": 200, "size": n, "request": {
        "remote_ip": "qztextq", "uri": "/qzurlq?q=qzqueryq", "method": "GET", "headers": {"User-Agent": ["qztextq"]}}})
    + "\n" for n, u in enumerate(_USERS)
)  # fmt: skip
_VECTORS = "".join(
    json.dumps({"doc": u, "terms": {"qzqueryq": 0.5, "qztextq": n + 1}, "owner": "qzurlq"}) + "\n"
    for n, u in enumerate(_USERS)
)  # fmt: skip
_VECTORS_TABLE = "doc,term,weight\n" + "".join(f"{u},qzqueryq,0.{n + 1}\n" for n, u in enumerate(_USERS))
_TEXTS = "".join(
    json.dumps({"id": u, "text": f"a qztextq teapot {n}", "owner": "a"}) + "\n" for n, u in enumerate(_USERS)
)
_TEXTS_CSV = "id,text\n" + "".join(f'{u},"a qztextq, teapot"\n' for u in _USERS)
_SMART = "".join(f".I {n}\n.T\nqztextq teapot\n.W\na train\n" for n in range(6))
_HTML = b"<html><style>a{}</style><body><p>qztextq &amp; a teapot<script>x</script><!-- y --></p><![CDATA[z]]></body>"


def _archive(kind: str) -> Parser:
    """Archives of texts; in them, too, things go wrong."""
    members = {f"qzuserq/{n}.txt": f"a qztextq teapot {n}".encode() for n in range(4)} | {"qzurlq.html": _HTML}
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zipped:
            for name, data in members.items():
                zipped.writestr(name, data)
        samples = [out.getvalue()]
    else:
        with tarfile.open(fileobj=out, mode="w") as tarred:
            for name, data in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tarred.addfile(info, io.BytesIO(data))
        samples = [out.getvalue(), gzip.compress(out.getvalue(), mtime=0)]
    return Parser(f"log.{kind}", samples, partial(_log, format="documents"))


def _pdf() -> bytes:
    page, (name, font, content) = (
        pypdf.PageObject.create_blank_page(None, 100, 100),
        map(pypdf.generic.NameObject, ("/F1", "/Font", "/Contents")),
    )
    stream = pypdf.generic.StreamObject()
    stream.set_data(b"BT /F1 9 Tf 9 9 Td (qztextq teapot) Tj ET")
    kinds = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    letters = pypdf.generic.DictionaryObject(
        {pypdf.generic.NameObject(key): pypdf.generic.NameObject(kind) for key, kind in kinds.items()}
    )
    page[content] = stream
    page["/Resources"][font] = pypdf.generic.DictionaryObject({name: letters})
    writer, out = pypdf.PdfWriter(), io.BytesIO()
    writer.add_page(page)
    writer.write(out)
    return out.getvalue()


@cache
def _table() -> pl.DataFrame:
    n = len(_USERS)
    return pl.DataFrame({
        "user": _USERS, "time": ["2006-03-01 12:00:00"] * n, "query": ["qzqueryq, a"] * n,
        "rank": [None, *range(n - 1)], "url": ["http://qzurlq.example", *[None] * (n - 1)],
    })  # fmt: skip


def _parquet() -> list[bytes]:
    frames = [_table(), _table().with_columns(pl.col("time").str.to_datetime(), pl.col("user").cast(pl.Categorical))]
    samples = []
    for frame in frames:
        for compression in ("uncompressed", "zstd", "snappy"):
            out = io.BytesIO()
            frame.write_parquet(out, compression=compression)  # type: ignore[arg-type]
            samples.append(out.getvalue())
    return samples


def _csv() -> Parser:
    quoted = _table().with_columns(pl.lit('say "qzqueryq"\nhere').alias("query"))
    samples = [table.write_csv().encode() for table in (_table(), quoted)]
    return Parser("log.csv", samples, partial(_log, format="table"), by_line=True)


def _tsv() -> Parser:
    sample = _table().write_csv(separator="\t", quote_style="never").encode()
    return Parser("log.tsv", [sample], partial(_log, format="table"), by_line=True)


def _own_names(*marks: str) -> Parser:
    """Tables whose columns have to be guessed."""
    theirs = _table().rename({"user": "cookie", "query": "search_term", "time": "ts", "url": "clicked_url"})
    return Parser(
        "log.csv", [theirs.write_csv(separator=mark).encode() for mark in marks], partial(_log, format="table")
    )


def _documents() -> Parser:
    """JSON that is not lines, with fields inside others."""
    found = [
        {"search": {"query": row["query"]}, "visitor": {"id": row["user"]}, "ts": row["time"]}
        for row in _table().to_dicts()
    ]
    hits = {"hits": {"hits": [{"_source": each} for each in found]}}
    samples = [json.dumps(found).encode(), json.dumps(hits, indent=1).encode()]
    return Parser("log.json", samples, partial(_log, format="table"))


def _searches() -> Parser:
    parse = partial(_log, format="clf", query_param="auto,q,referrer")
    return Parser("log", [_SEARCHES.encode()], parse, by_line=True)


def _jsonl() -> Parser:
    return Parser("log.jsonl", [_table().write_ndjson().encode()], partial(_log, format="table"), by_line=True)


def _parquet_file() -> Parser:
    return Parser("log.parquet", _parquet(), partial(_log, format="table"))


@cache
def _release() -> coterie.Release:
    return coterie.anonymize(coterie.prepare(coterie.read("synth:users=30,seed=7")), SuppressRare(k=3), seed=1)


def _written(folder: Path) -> None:
    coterie.write(_release(), folder / "safe.tsv", record=folder / "record")


def _released(path: Path) -> None:
    coterie.verify(path)


def _released_file(kind: str) -> Parser:
    """A released file that no longer is what its sidecar describes."""
    file = f"safe.{kind}"

    def write(folder: Path) -> None:
        coterie.write(_release(), folder / file)

    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        return Parser(file, [(Path(folder) / file).read_bytes()], _released, write)


def _sidecar(path: Path) -> None:
    sidecar = read_sidecar(path.with_suffix(""))
    assert sidecar is not None
    _ = sidecar.promised


def _record(path: Path) -> None:
    record = read_record(path.parent)
    record.subjects.collect()


_STUDY = b"""format = 1
[read]
source = "synth:users=30,seed=7"
[prepare]
steps = ["normalize", "drop_empty", "sessions(minutes=10)"]
[[anonymize]]
method = "suppress_rare"
k = [3, 5]
users = "drop"
[[anonymize]]
method = "affinity"
k = 3
theta = [0.5, 0.9]
[measure]
names = ["frequency", "exposure"]
[report]
to = "report.html"
[[figure]]
file = "a.svg"
title = "A"
measure = "exposure"
keys = ["exposed.mean"]
"""
_PATHS = b"path\tcount\ttitle\nTop/Arts/qztextq\t3\ttea pots\nTop/Arts/Film\t2\tqztextq\nTop/Home\t1\t\n"
_PARENTS = b"id,parent,label\n1,,Top\n2,1,qztextq\n3,2,Tea\n4,2,Pots\n"
_LABELS = b"query\tsensitive\nqzqueryq one\tyes\nqzqueryq two\tno\nqzqueryq three\tmaybe\n"


@cache
def _packed() -> list[bytes]:
    """A small tree, compressed as it is written and plain, so that what is inside can be hit as well."""
    with tempfile.TemporaryDirectory() as folder:
        source, path = Path(folder) / "paths.tsv", Path(folder) / "tree.npz"
        source.write_bytes(_PATHS)
        taxonomies.write(build.build([source], name="small").tree, path)
        with np.load(path) as arrays:
            plain = io.BytesIO()
            np.savez(plain, allow_pickle=False, **dict(arrays))
        return [path.read_bytes(), plain.getvalue(), plain.getvalue()]


def _built(path: Path) -> object:
    return build.build([path], name="fuzzed")


def _of_release(
    file: str, parse: Callable[[Path], object], beside: Callable[[Path], object] = lambda _: None
) -> Parser:
    """A parser of a file that is written with a release."""
    with tempfile.TemporaryDirectory() as folder:
        _written(Path(folder))
        return Parser(file, [(Path(folder) / file).read_bytes()], parse, beside)


PARSERS: dict[str, Callable[[], Parser]] = {
    "aol": partial(_format, "aol", _AOL),
    "excite": partial(_format, "excite", _EXCITE),
    "sogou": partial(_format, "sogou", _SOGOU, encoding="gb18030"),
    "clf": partial(_format, "clf", _CLF),
    "searches": _searches,
    "ubi": partial(_format, "ubi", _UBI, _UBI_ARRAY),
    "elastic": partial(_format, "elastic", _ELASTIC, _HITS),
    "algolia": partial(_format, "algolia", _ALGOLIA),
    "solr": partial(_format, "solr", _SOLR),
    "matomo": partial(_format, "matomo", _MATOMO, _MATOMO_ROWS),
    "w3c": partial(_format, "w3c", _W3C),
    "caddy": partial(_format, "caddy", _CADDY),
    "own-names": partial(_own_names, ",", ";", "|", "\t"),
    "json": _documents,
    "term_vectors": partial(_format, "term_vectors", _VECTORS_TABLE, _VECTORS),
    "documents": partial(_format, "documents", _SMART, _TEXTS_CSV, _TEXTS),
    "documents-zip": lambda: _archive("zip"),
    "documents-tar": lambda: _archive("tar"),
    "documents-html": lambda: Parser("page.html", [_HTML], partial(_log, format="documents")),
    "documents-pdf": lambda: Parser("page.pdf", [_pdf()], partial(_log, format="documents")),
    "csv": _csv,
    "tsv": _tsv,
    "jsonl": _jsonl,
    "parquet": _parquet_file,
    "released-gz": partial(_released_file, "jsonl.gz"),
    "released-parquet": partial(_released_file, "parquet"),
    "sidecar": partial(_of_release, "safe.tsv.json", _sidecar),
    "record": partial(_of_release, "record/run.json", _record, _written),
    "study": lambda: Parser("study.toml", [_STUDY], load_study),
    "taxonomy": lambda: Parser("tree.npz", _packed(), taxonomies.read),
    "paths": lambda: Parser("tree.tsv", [_PATHS], _built),
    "parents": lambda: Parser("tree.csv", [_PARENTS], _built),
    "labels": lambda: Parser("labels.tsv", [_LABELS], read_labels),
}
"""All of them, made when they are asked for."""
