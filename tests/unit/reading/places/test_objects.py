"""Object stores: read, written with the sidecar last, nothing replaced and nothing left behind.

Covers: writing/files.py
"""

import json
import os
from itertools import count

import pytest

import coterie
from coterie.core.files import place_of
from coterie.errors import CoterieError, InputError, MissingError, ParameterError
from coterie.methods.suppress_rare import SuppressRare
from coterie.reading.places import objects
from coterie.testing import queries_log
from coterie.writing import files
from tests.helpers.servers import NOBODY, PASSWORD

NUMBERS = count()


@pytest.fixture(params=["s3", "az"])
def store(request):
    """The beginning of names that nobody else uses."""
    request.getfixturevalue({"s3": "s3", "az": "azure"}[request.param])
    if request.param == "az":
        _make_container()
    return f"{request.param}://logs/test-{next(NUMBERS)}"


def _make_container():
    """A container `logs`; obstore makes none."""
    import base64
    import hashlib
    import hmac
    from email.utils import formatdate
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    account = "devstoreaccount1"  # the account that every azurite has, with a key that everybody knows
    key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    lines = ["PUT", *[""] * 11, *(f"{name}:{value}" for name, value in sorted(headers.items()))]
    signed = "\n".join([*lines, f"/{account}/{account}/logs", "restype:container"])
    mac = base64.b64encode(hmac.new(base64.b64decode(key), signed.encode(), hashlib.sha256).digest()).decode()
    address = f"{os.environ['AZURITE_BLOB_STORAGE_URL']}/{account}/logs?restype=container"
    sent = {**headers, "Authorization": f"SharedKey {account}:{mac}", "Content-Length": "0"}
    try:
        urlopen(Request(address, method="PUT", headers=sent), timeout=60).close()  # noqa: S310 (loopback)
    except HTTPError as error:
        error.close()
        if error.code != 409:  # it is there already
            raise


@pytest.fixture(scope="module")
def release():
    return coterie.anonymize(queries_log(), SuppressRare(k=3), seed=1)


def _objects(store):
    import obstore

    place = place_of(f"{store}/x")
    prefix = objects._key_of(place).removesuffix("x")
    found = obstore.list(objects._store_of(place), prefix)
    return sorted(each["path"].removeprefix(prefix) for chunk in found for each in chunk)


def _put(file, where):
    objects.Upload(place_of(where)).put(file, place_of(where))


@pytest.mark.parametrize("kind", ["parquet", "tsv.gz"])
@pytest.mark.parametrize("parts", [None, 3])
def test_a_release_is_written_and_verified(store, release, tmp_path, kind, parts):
    where, record = f"{store}/safe.{kind}", tmp_path / "record"
    digest = coterie.write(release, where, parts=parts, record=record)
    local = tmp_path / f"safe.{kind}"
    assert coterie.write(release, local, parts=parts) == digest
    names = [f"safe.{kind}/{path.name}" for path in local.iterdir()] if parts else [f"safe.{kind}"]
    assert _objects(store) == sorted([*names, f"safe.{kind}.json"])
    verdict = coterie.verify(where, queries_log(), record=record)
    assert [check.text for check in verdict.checks if check.status != "passed"] == []
    assert coterie.load_release(where, record).to_polars().equals(release.to_polars())
    assert PASSWORD not in (record / "run.json").read_text()
    for again in (None, 2):
        with pytest.raises(ParameterError, match="exists"):
            coterie.write(release, where, parts=again)


def test_parts_are_those_of_the_sidecar(store, release, tmp_path):
    where = f"{store}/safe.tsv"
    coterie.write(release, where, parts=2)
    (tmp_path / "more").write_text("row 1 is user 7")
    for name in (".hidden", "deeper/part-00000.tsv"):
        _put(tmp_path / "more", f"{where}/{name}")
        with pytest.raises(InputError, match="in the folder and not in the sidecar"):
            coterie.verify(where, queries_log())


def test_logs_and_patterns(store, tmp_path):
    import gzip

    rows = ["user\tquery\n", *(f"{n % 3}\ttea {n}\n" for n in range(9))]
    for number, name in enumerate(("a.tsv.gz", "b.tsv.gz", "c.txt")):
        text = "".join([rows[0], *rows[1 + 3 * number : 4 + 3 * number]]).encode()
        (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
        _put(tmp_path / name, f"{store}/logs/{name}")
    log = coterie.read(f"{store}/logs/*.gz")
    assert log.to_polars()["query"].to_list() == [f"tea {n}" for n in range(6)]
    here = coterie.read([tmp_path / "a.tsv.gz", tmp_path / "b.tsv.gz"])
    assert log.file_digests == here.file_digests
    assert log.digest == here.digest  # so names in a release are those of the files
    assert coterie.read([f"{store}/logs/c.txt", f"{store}/logs/a.tsv.gz"]).to_polars().height == 6


class _BoomError(Exception):
    pass


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_whatever_fails_leaves_nothing(s3, release, tmp_path, monkeypatch, at):
    store = f"s3://logs/test-{next(NUMBERS)}"
    real, seen = objects.Upload.put, []

    def fail(self, file, place):
        seen.append(place.name)
        if len(seen) > at:
            raise _BoomError
        real(self, file, place)

    monkeypatch.setattr(objects.Upload, "put", fail)
    with pytest.raises(_BoomError):
        coterie.write(release, f"{store}/safe.tsv", parts=3, record=tmp_path / "new" / "record")
    assert _objects(store) == []
    assert not (tmp_path / "new" / "record").exists()
    if at == 3:
        assert seen[-1] == "safe.tsv.json"  # the sidecar comes last


def test_what_came_meanwhile_stays(s3, release, tmp_path, monkeypatch):
    store = f"s3://logs/test-{next(NUMBERS)}"
    (tmp_path / "theirs").write_text("theirs")
    real = files.write_release

    def slow(*arguments, **given):
        _put(tmp_path / "theirs", f"{store}/safe.tsv/part-00001.tsv")
        return real(*arguments, **given)

    monkeypatch.setattr(files, "write_release", slow)
    with pytest.raises(ParameterError, match="exists"):
        coterie.write(release, f"{store}/safe.tsv", parts=3)
    assert _objects(store) == ["safe.tsv/part-00001.tsv"]


@pytest.mark.parametrize(("content", "left"), [("theirs", ["safe.tsv"]), (None, [])])
def test_after_an_answer_that_was_lost_only_our_bytes_are_removed(s3, release, tmp_path, monkeypatch, content, left):
    """Somebody else may have made the object meanwhile; or we have, and were not told."""
    import obstore

    store, real = f"s3://logs/test-{next(NUMBERS)}", obstore.put
    (tmp_path / "theirs").write_text("theirs")

    def lost(there, key, stream, **given):
        with (tmp_path / "theirs").open("rb") as theirs:
            real(there, key, stream if content is None else theirs, **given)
        raise obstore.exceptions.GenericError("no answer")

    monkeypatch.setattr(obstore, "put", lost)
    with pytest.raises(InputError, match="did not answer as expected"):
        coterie.write(release, f"{store}/safe.tsv")
    assert _objects(store) == left


def test_other_bytes_than_written_are_removed(s3, release, monkeypatch):
    import obstore

    store = f"s3://logs/test-{next(NUMBERS)}"

    class Cut:
        def stream(self, _):
            return [b"cut"]

    monkeypatch.setattr(obstore, "get", lambda *_: Cut())
    with pytest.raises(InputError, match="is not what was written there"):
        coterie.write(release, f"{store}/safe.tsv")
    assert _objects(store) == []


def _refused(work, kind=CoterieError):
    with pytest.raises(kind) as refused:
        work()
    assert PASSWORD not in str(refused.value)
    assert "qzkeyq" not in str(refused.value)
    assert refused.value.exit_code == 2
    return str(refused.value)


def test_what_is_not_there(s3, release):
    assert "no such object" in _refused(lambda: coterie.read("s3://logs/no.tsv"), MissingError)
    assert "no such object" in _refused(lambda: coterie.read("s3://logs/no/*.tsv"), MissingError)
    assert "no such object" in _refused(lambda: coterie.verify("s3://logs/no.tsv"), MissingError)
    assert "no such bucket" in _refused(lambda: coterie.read("s3://nowhere-at-all/no.tsv"), MissingError)
    assert "no such bucket" in _refused(lambda: coterie.write(release, "s3://nowhere-at-all/safe.tsv"), MissingError)


def test_what_cannot_be_written(s3, release, tmp_path):
    def write(where, **given):
        return _refused(lambda: coterie.write(release, where, **given), ParameterError)

    assert "nothing can be written to a web address" in write("https://host.example/safe.tsv")
    assert "does not say what to write" in write("s3://logs/safe")
    assert "this machine only" in write("s3://logs/safe.tsv", force=True)
    assert "Leave out sidecar" in write("s3://logs/safe.tsv", sidecar=tmp_path / "s.json")
    assert "from 1 to 100,000" in write("s3://logs/safe.tsv", parts=0)
    assert "for csv and tsv" in write("s3://logs/safe.parquet", csv_safe=True)
    assert "not empty" in write("s3://logs/safe.tsv", record=tmp_path.parent)


@pytest.mark.parametrize("scheme", ["s3", "az"])
def test_a_store_that_does_not_answer(monkeypatch, release, scheme):
    away = f"http://127.0.0.1:{NOBODY}"
    monkeypatch.setattr(objects, "_RETRIES", {"max_retries": 0})
    for name, value in {
        "AWS_ENDPOINT_URL": away,
        "AWS_ACCESS_KEY_ID": "qzkeyq",
        "AWS_SECRET_ACCESS_KEY": PASSWORD,
        "AZURE_STORAGE_USE_EMULATOR": "true",
        "AZURITE_BLOB_STORAGE_URL": away,
    }.items():
        monkeypatch.setenv(name, value)
    assert "cannot be reached" in _refused(lambda: coterie.read(f"{scheme}://logs/no.tsv"), InputError)
    assert "cannot be reached" in _refused(lambda: coterie.write(release, f"{scheme}://logs/no.tsv"), InputError)


def test_a_sidecar_of_a_release_says_nothing_of_the_place(s3, release, tmp_path):
    store = f"s3://logs/test-{next(NUMBERS)}"
    coterie.write(release, f"{store}/safe.tsv")
    (side,) = objects.fetch(place_of(f"{store}/safe.tsv.json"), tmp_path)
    coterie.write(release, tmp_path / "here.tsv")
    assert json.loads(side.read_text()) == json.loads((tmp_path / "here.tsv.json").read_text())
