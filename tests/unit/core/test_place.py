"""Places are taken apart, and what people may read of them has no secret."""

import pytest

from coterie.core.files import expand, label_of, place_of, refuse_place
from coterie.errors import ParameterError

SECRETS = ("qzuserq", "qzpasswordq", "qztokenq")
PLACES = {
    "s3://bucket/a/log.tsv.gz": ("s3", "log.tsv.gz", None, "s3://bucket/a/log.tsv.gz"),
    "gs://bucket/log.tsv": ("gs", "log.tsv", None, "gs://bucket/log.tsv"),
    "az://box/log.tsv": ("az", "log.tsv", None, "az://box/log.tsv"),
    "https://qzuserq:qzpasswordq@host:8443/a/log.csv?sig=qztokenq": (
        "https", "log.csv", None, "https://host:8443/a/log.csv",
    ),
    "sqlite:folder/log.db#queries": ("sqlite", "queries", "queries", "sqlite:folder/log.db#queries"),
    "sqlite:log.db": ("sqlite", "log.db", None, "sqlite:log.db"),
    "duckdb:/tmp/log.db#main.q": ("duckdb", "main.q", "main.q", "duckdb:/tmp/log.db#main.q"),
    "postgresql://qzuserq:qzpasswordq@host:5/db?password=qztokenq#t": (
        "postgresql", "t", "t", "postgresql://host:5/db#t",
    ),
    "postgres://qzuserq@host/db#t": ("postgresql", "t", "t", "postgres://host/db#t"),
}  # fmt: skip


@pytest.mark.parametrize("text", PLACES)
def test_places(text):
    place = place_of(text)
    assert (place.scheme, place.name, place.table, place.label) == PLACES[text]
    for shown in (repr(place), str(place), label_of(text), place.label):
        assert not any(secret in shown for secret in SECRETS)
    assert place.is_database == (place.scheme in ("sqlite", "duckdb", "postgresql"))


def test_what_stands_before_the_last_at_sign_is_not_shown():
    assert place_of("https://qzuserq/qzpasswordq@host/log.tsv").label == "https://host/log.tsv"
    assert place_of("s3://bucket/a@b.tsv").label == "s3://bucket/a@b.tsv"
    assert place_of("https://[::1]:80/log.tsv").label == "https://[::1]:80/log.tsv"


def test_beside_a_place():
    web, store = place_of("https://host/a/safe.tsv?sig=qztokenq"), place_of("s3://bucket/safe.tsv")
    assert web.beside(".json").address == "https://host/a/safe.tsv.json?sig=qztokenq"
    assert web.beside("/part-00000.tsv").label == "https://host/a/safe.tsv/part-00000.tsv"
    assert store.beside(".json").address == store.beside(".json").label == "s3://bucket/safe.tsv.json"


@pytest.mark.parametrize("text", ["log.tsv", "-", "a/b:c.tsv", "synth:users=3", "C:log.tsv", "./s3:/x", "logs/*"])
def test_what_is_no_place(text):
    assert place_of(text) is None
    assert label_of(text) == text
    refuse_place(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ftp://qzuserq:qzpasswordq@host/log", "ftp:// is no place that Coterie knows. It knows files, s3://"),
        ("http://qzuserq:qzpasswordq@host/log?x=qztokenq", "can be read on its way. Give https://"),
        ("s3://bucket", "names no file: s3://BUCKET/PATH"),
        ("az://box/", "names no file: az://CONTAINER/PATH"),
        ("https://host", "names no file: https://HOST/PATH"),
        ("sqlite:", "needs a file"),
        ("postgresql://qzuserq:qzpasswordq@host/db#drop table", "in letters, digits and _"),
        ("sqlite:log.db#a;b", "sqlite:log.db: the name of a table stands behind #, in letters, digits and _"),
        ("postgresql://me:qzpasswordq/x@host:1/db#t", "%2F"),
        ("postgresql://me:x?qzpasswordq@host/db", "%3F"),
        ("https://me:qzpasswordq#x@host/log.tsv", "%23"),
        ("s3://me:qzpasswordq/x@bucket/log.tsv", "cannot be taken apart"),
        ("postgresql:me:qzpasswordq@host/db", "postgresql: needs two slashes"),
        ("https:me:qzpasswordq@host/db", "https: needs two slashes"),
        ("s3://logs/../z.tsv", "no . and .. as parts"),
    ],
)
def test_bad_places(text, message):
    with pytest.raises(ParameterError) as refused:
        place_of(text)
    assert message in str(refused.value)
    assert not any(secret in str(refused.value) for secret in SECRETS)


def test_where_only_files_will_do():
    with pytest.raises(ParameterError, match="postgresql://host/db is not a file") as refused:
        expand(["postgresql://qzuserq:qzpasswordq@host/db"])
    assert not any(secret in str(refused.value) for secret in SECRETS)
