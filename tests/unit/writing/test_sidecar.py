"""The public sidecar: what it says, what is refused, and what verify makes of it."""

import json
import tomllib
from dataclasses import dataclass, fields, replace
from importlib.resources import files

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie import regimes
from coterie.core.promise import Check
from coterie.core.shapes import VISITS
from coterie.errors import InputError
from coterie.methods.affinity import Affinity
from coterie.methods.interest_microaggregate import InterestMicroaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.promises import _words
from coterie.promises.k_theta_affinity import KThetaAffinity
from coterie.promises.query_k_anonymity import QueryKAnonymity
from coterie.promises.user_k_anonymity import UserKAnonymity
from coterie.testing import queries_log
from coterie.writing.files import sha256
from coterie.writing.sidecar import Sidecar, consistent, read_sidecar, sidecar_of, sidecar_path, write_sidecar
from tests.helpers.hand_made import log_of


def _raw():
    return coterie.log(pl.DataFrame({"user": ["1", "2", "3"], "query": ["tea"] * 3}))


def _tea():
    return coterie.prepare(_raw())


@pytest.fixture
def written(tmp_path):
    """A released file and what its sidecar holds."""
    path = tmp_path / "safe.tsv"
    coterie.write(coterie.anonymize(_tea(), SuppressRare(k=3), seed=1), path)
    return path, json.loads(sidecar_path(path).read_text())


def test_what_it_says(written):
    path, data = written
    promise = QueryKAnonymity(k=3)
    keys = (
        "coterie format method parameters promises limits words_edition warnings checks shape details prepare reading"
    )
    assert list(data) == [
        *keys.split(),
        "sha256",
        "rows_sha256",
        "parts",
        "table",
        "csv_safe",
        "regime",
        "changed",
        "left_out",
    ]
    assert data["format"] == 1
    assert data["coterie"] == coterie.__version__
    assert data["promises"] == [
        {
            "name": "query_k_anonymity",
            "k": 3,
            "users": "drop",
            "attrs": "common",
            "session_minutes": 30,
            "link_queries": 3,
            "link_minutes": 30,
            "times": "day",
            "k_details": "k",
            "details": "",
            "window": "all",
            "shape": "QUERIES",
            "sentence": promise.sentence,
            "headline": "k = 3",
        }
    ]
    assert all(set(check) == {field.name for field in fields(Check)} for check in data["checks"])
    assert any(check["looked_at"] for check in data["checks"])
    assert data["prepare"] == ["normalize", "drop_empty"]
    loaded = coterie.load_release(path)
    assert loaded.promises == (promise,)
    assert loaded.headline == "k = 3"
    assert [check.name for check in loaded.checks] == [check["name"] for check in data["checks"]]


def test_the_same_release_gives_the_same_bytes_and_no_seed(tmp_path):
    seed = 987654321987654321
    for name in ("a.tsv", "b.tsv"):
        coterie.write(coterie.anonymize(_tea(), SuppressRare(k=3), seed=seed), tmp_path / name)
    first, second = ((tmp_path / name).with_suffix(".tsv.json").read_bytes() for name in ("a.tsv", "b.tsv"))
    assert first == second
    assert str(seed).encode() not in first
    assert b"tea" not in first
    assert first.startswith(b'{\n  "coterie"')


def test_limits_of_several_promises_stand_there_once():
    release = coterie.anonymize(queries_log(), SuppressRare(k=3), seed=1)
    several = replace(release, promises=(*release.promises, QueryKAnonymity(k=3), UserKAnonymity(k=3)))
    sidecar = sidecar_of(several, "0" * 64)
    assert len(sidecar.promises) == 3
    assert len(set(sidecar.limits)) == len(sidecar.limits)
    assert sidecar.promised == several.promises


def test_there_is_one_spelling_of_nobody(written):
    path, data = written
    assert data["left_out"] == ["user"]
    _put(path, {**data, "left_out": []})
    assert [check.name for check in coterie.verify(path, _tea()).broken] == ["sidecar"]
    header, *lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([f"user\t{header}", *(f"\t{line}" for line in lines)]))
    _put(path, {**data, "left_out": [], "sha256": sha256(path)})
    assert "canonical" in [check.name for check in coterie.verify(path, _tea()).broken]


def test_a_file_without_a_sidecar(tmp_path):
    assert read_sidecar(tmp_path / "safe.tsv") is None


def _put(path, data):
    sidecar_path(path).write_text(json.dumps(data))


@pytest.mark.parametrize("other", [2, 6])
def test_another_format_is_refused(written, other):
    path, data = written
    _put(path, {**data, "format": other, "proofs": []})
    said = (
        rf"^safe.tsv.json was written by another version of Coterie \(format {other}; .*Release again, or verify with"
    )
    for use in (coterie.verify, coterie.load_release):
        with pytest.raises(InputError, match=said):
            use(path)


def _mistakes():
    yield {"promises": None}, "'promises' must be a list, not null"
    yield {"promises": []}, "'promises' must be a list of at least 1"
    yield {"promises": ["x"]}, "'promises' (item 1) must be a table, not text"
    yield {"promises": [{"k": 3}]}, "'name' is missing in promises[0]"
    yield {"promises": [{"name": "query_k_anonymity", "k": 3}]}, "'sentence' is missing in promises[0]"
    words = {"name": "query_k_anonymity", "sentence": "x", "headline": "x"}
    yield {"promises": [{**words, "k": "3"}]}, "'k' in promises[0] must be a whole number, not text"
    yield {"promises": [{**words, "k": 3, "kk": 4}]}, "unknown key 'kk' in promises[0]; did you mean 'k'?"
    yield {"promises": [words]}, "'k' is missing in promises[0]"
    yield {"promises": [{**words, "headline": 3, "k": 3}]}, "'headline' in promises[0] must be text"
    yield {"promises": [{**words, "k": [3]}]}, "'promises' (item 1) (a value in it) must be"
    yield {"shape": "QUERRIES"}, "'shape' must be one of QUERIES"
    yield {"sha256": "x"}, "'sha256' must be text of the form [0-9a-f]{64}"
    yield {"checks": [{"name": "a", "status": "ok", "detail": ""}]}, "'status' in checks[0] must be 'failed' or"
    yield {"checks": [{"name": "a", "status": "passed", "detail": "", "borken": 1}]}, "did you mean 'broken'?"
    yield {"checks": [{"name": "a", "status": "passed", "detail": "", "looked_at": "1"}]}, "'looked_at' in checks[0]"
    yield {"parameters": {"k": {"deep": 1}}}, "'parameters' (a value in it) must be"
    yield {"promise": {}}, "unknown key 'promise'; did you mean 'promises'?"
    yield {"seed": 7}, "unknown key 'seed'"
    for key in Sidecar.__annotations__:
        if key not in ("format", "words_edition"):
            yield {key: 5}, f"'{key}' must be "
            yield {key: [True]}, f"'{key}' "


@pytest.mark.parametrize(("change", "message"), list(_mistakes()), ids=lambda value: str(value)[:60])
def test_mistakes(written, change, message):
    path, data = written
    _put(path, {**data, **change})
    for use in (coterie.verify, coterie.load_release):
        with pytest.raises(InputError) as refused:
            use(path)
        assert str(refused.value).startswith("safe.tsv.json is not a sidecar of Coterie: ")
        assert message in str(refused.value)


@pytest.mark.parametrize("key", list(Sidecar.__annotations__))
def test_every_key_is_needed(written, key):
    path, data = written
    del data[key]
    _put(path, data)
    with pytest.raises(InputError, match=f"'{key}' is missing"):
        coterie.verify(path)


def test_numbers_and_names_that_a_promise_cannot_have(written):
    path, data = written
    _put(path, {**data, "promises": [{**data["promises"][0], "k": 1}]})
    with pytest.raises(InputError, match=r"safe.tsv.json .*'k' in promises\[0\] must be a whole number of at least 2"):
        coterie.verify(path)
    _put(path, {**data, "promises": [{**data["promises"][0], "name": "query_k_anonymty"}]})
    with pytest.raises(
        InputError, match=r"safe.tsv.json .*'name' in promises\[0\] is not a promise that is known here"
    ):
        coterie.verify(path)


CANARY = "zqcanary"


def _canaries(promise):
    yield {"promises": [{**promise, "name": CANARY}]}
    yield {"promises": [{**promise, "k": -98765}]}
    yield {"promises": [{**promise, "attrs": CANARY}]}
    yield {"promises": [{**promise, "users": CANARY}]}
    yield {"prepare": [CANARY]}
    yield {"prepare": [f"sessions(minutes={CANARY})"]}
    yield {"prepare": [f"sessions({CANARY}=1)"]}
    yield {"prepare": [f"no {CANARY} step"]}
    yield {"shape": CANARY}


@pytest.mark.parametrize("number", range(9))
def test_what_a_sidecar_says_is_not_repeated(written, number):
    path, data = written
    _put(path, {**data, **list(_canaries(data["promises"][0]))[number]})
    for use in (lambda: coterie.verify(path, _raw()), lambda: coterie.load_release(path)):
        with pytest.raises(InputError, match=r"^safe.tsv.json is not a sidecar of Coterie: .*written") as error:
            use()
        assert CANARY not in str(error.value)
        assert "98765" not in str(error.value)
        assert error.value.__context__ is None or error.value.__suppress_context__


def test_steps_that_are_given_replace_those_of_the_sidecar(written):
    path, data = written
    _put(path, {**data, "prepare": ["of_another_package"]})
    assert coterie.verify(path, _raw(), steps=data["prepare"]).exit_code == 0


@pytest.mark.parametrize("shape", ["GROUPS", "KEEP", "REPLACE"])
def test_a_plan_is_no_release(written, shape):
    path, data = written
    _put(path, {**data, "shape": shape})
    with pytest.raises(InputError, match="'shape' must be one of QUERIES, VISITS, SEQUENCES, TERMS, COUNTS, the shap"):
        coterie.verify(path)


def test_duplicate_keys_are_refused(written):
    """Readers disagree about which of two equal keys counts, so somebody could be shown another promise."""
    path, _ = written
    text = sidecar_path(path).read_text()
    for before, twice in (('"method":', '"method": "affinity", "method":'), ('"k": 3', '"k": 50, "k": 3')):
        sidecar_path(path).write_text(text.replace(before, twice, 1))
        with pytest.raises(InputError, match="a key stands in it twice"):
            coterie.verify(path)


@pytest.mark.parametrize(
    "data", [b"", b"\xff\x00junk", b"[]", b"null", b"{", b'{"format": 1e999}', b'{"a": NaN}', b"[" * 100_000, b"{}"]
)
def test_junk(written, data):
    path, _ = written
    sidecar_path(path).write_bytes(data)
    with pytest.raises(InputError, match="is not a sidecar of Coterie"):
        coterie.verify(path)


def test_a_folder_in_its_place(tmp_path):
    sidecar_path(tmp_path / "safe.tsv").mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        read_sidecar(tmp_path / "safe.tsv")


_scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_counts = st.none() | st.integers(0)
_checks = st.builds(
    Check,
    name=st.text(),
    status=st.sampled_from(["passed", "failed", "not checked"]),
    detail=st.text(),
    looked_at=_counts,
    broken=st.integers(0),
    concerns=_counts,
    largest_k=_counts,
    carries_promise=st.booleans(),
)
_promises = st.one_of(
    st.builds(QueryKAnonymity, k=st.integers(2, 2**70), users=st.sampled_from(["drop", "pseudonym"])),
    st.builds(UserKAnonymity, k=st.integers(2, 99)),
    st.builds(KThetaAffinity, k=st.integers(2, 99), theta=st.sampled_from([0.5, 0.9, 1.0])),
)


@given(
    params=st.dictionaries(st.text(), _scalars | st.lists(_scalars).map(tuple)),
    promises=st.lists(_promises, min_size=1, max_size=3).map(tuple),
    checks=st.lists(_checks, max_size=3).map(tuple),
    warnings=st.lists(st.text(), max_size=3).map(tuple),
)
def test_what_is_written_is_read(tmp_path, params, promises, checks, warnings):
    release = coterie.anonymize(_tea(), SuppressRare(k=3))
    release = replace(release, params=params, promises=promises, checks=checks, warnings=warnings)
    sidecar = sidecar_of(release, "a" * 64)
    side = sidecar_path(tmp_path / "x.tsv")
    write_sidecar(sidecar, side)
    again = read_sidecar(tmp_path / "x.tsv")
    assert again == sidecar
    assert again.promised == promises
    first = side.read_bytes()
    write_sidecar(again, side)
    assert side.read_bytes() == first


_JSON = st.recursive(_scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)


@given(st.sampled_from(list(Sidecar.__annotations__)), _JSON)
def test_any_value_in_any_place_is_read_or_refused(written, key, value):
    path, data = written
    _put(path, {**data, key: value})
    answer = "safe.tsv.json"
    try:
        assert isinstance(read_sidecar(path), Sidecar)
    except InputError as refused:
        answer = str(refused)
    assert answer.startswith("safe.tsv.json")


# --- what follows from the promises ---------------------------------------------------------------


def _said(release):
    return consistent(sidecar_of(release, "0" * 64))


def _release_with_a_file(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("the of bread")
    return coterie.anonymize(queries_log(), Affinity(k=3, function_words=str(words)), seed=1)


def test_parameters_that_are_files_or_do_not_concern_the_promise(tmp_path):
    topics = tmp_path / "topics.txt"
    topics.write_text("illness: cancer\n")
    log = coterie.prepare(coterie.read("synth:users=60,seed=5"))
    for release in (
        _release_with_a_file(tmp_path),
        coterie.anonymize(log, InterestMicroaggregate(k=5, language="de", attrs="drop"), seed=1),
        coterie.anonymize(log, InterestMicroaggregate(k=5, sensitive=str(topics), attrs="drop"), seed=1),
        coterie.anonymize(coterie.prepare(log, "sessions(minutes=7)"), SuppressRare(k=3, users="session"), seed=1),
    ):
        assert _said(release).status == "passed"


def test_a_file_among_the_parameters_hides_no_other_k(tmp_path):
    release = _release_with_a_file(tmp_path)
    check = _said(replace(release, params={**release.params, "k": 500}))
    assert (check.status, check.broken) == ("failed", 1)


def test_nothing_follows_from_a_method_that_is_not_installed(tmp_path):
    release = replace(_release_with_a_file(tmp_path), method="of_another_package", params={"any": 1})
    check = _said(release)
    assert (check.status, check.carries_promise) == ("not checked", True)


NOW = _words.EDITION


def _verified(path, data):
    _put(path, data)
    verdict = coterie.verify(path, _tea())
    return verdict.exit_code, next(check for check in verdict.checks if check.name == "sidecar")


def test_the_version_of_the_software_decides_nothing(written):
    path, data = written
    (promise,) = data["promises"]
    forged = {"promises": [{**promise, "sentence": "Nobody can be found."}]}
    more = {"parameters": {**data["parameters"], "certified": True}}
    for change in ({}, forged, more, {"limits": []}, {"parameters": {**data["parameters"], "k": 500}}):
        codes = {_verified(path, {**data, **change, "coterie": version})[0] for version in ("0.1.0", "0.0.1", "99")}
        assert len(codes) == 1, change


def test_forged_words_do_not_pass_and_break_no_promise(written):
    """People sign what they read. Words that are not those of the edition say nothing about rows, but nobody may trust
    them: exit 3."""
    path, data = written
    (promise,) = data["promises"]
    stronger = QueryKAnonymity(k=500)
    for change, named in (
        ({"promises": [{**promise, "sentence": "Nobody can be found."}]}, "(sentence)"),
        ({"promises": [{**promise, "sentence": stronger.sentence, "headline": "k = 500"}]}, "(headline, sentence)"),
        ({"promises": [{**promise, "headline": ""}]}, "(headline)"),
        ({"limits": data["limits"][:-1]}, "(limits)"),
        ({"limits": []}, "(limits)"),
        ({"limits": [*data["limits"], "Certified."]}, "(limits)"),
    ):
        code, check = _verified(path, {**data, **change})
        assert (code, check.status, check.broken) == (3, "not checked", 0)
        assert check.text.endswith(f"the words of edition {NOW}, which it names, in place of its own {named}")
    _put(path, {**data, "words_edition": 0})
    with pytest.raises(InputError, match="'words_edition'"):
        coterie.verify(path)


def test_an_edition_that_this_version_does_not_have_is_not_checked(written):
    path, data = written
    code, check = _verified(path, {**data, "words_edition": NOW + 1})
    assert (code, check.status) == (3, "not checked")
    assert check.text.endswith(f"needs edition {NOW + 1} of the words, which this version of Coterie does not have")


def _in_the_first_edition(path, promise):
    data, first = json.loads(sidecar_path(path).read_text()), _words.words_in(1, promise)
    words = {**data["promises"][0], "headline": first.headline, "sentence": first.sentence}
    return {**data, "words_edition": 1, "promises": [words], "limits": list(first.limits)}


def test_a_sidecar_may_speak_the_first_edition_where_it_denies_no_column(written, tmp_path):
    path, _ = written
    old = _in_the_first_edition(path, QueryKAnonymity(k=3))
    assert any("a release does not say which" in limit for limit in old["limits"])
    assert "time_level" in path.read_text()
    assert _verified(path, old)[0] == 3
    path = tmp_path / "timeless.tsv"
    release = coterie.anonymize(_tea(), SuppressRare(k=3, times="drop"), seed=1)
    coterie.write(release, path)
    old = _in_the_first_edition(path, release.promises[0])
    assert _verified(path, old)[0] == 0
    assert _verified(path, {**old, "limits": ["Other words."]})[0] == 3


@pytest.fixture
def edited(monkeypatch):
    """The next edition, as somebody who edits words adds it: other sentences, and one that says more."""
    texts = (files("coterie.promises") / "words" / f"{NOW}.toml").read_text(encoding="utf-8")
    editions = {NOW: tomllib.loads(texts)}
    for old, new in (("was issued by at least", "comes from at least"), ("No row says who", "Nothing says who")):
        assert old in texts
        texts = texts.replace(old, new)
    editions[NOW + 1] = tomllib.loads(texts)
    monkeypatch.setattr(_words, "_texts", editions.__getitem__)
    monkeypatch.setattr("coterie.writing.sidecar.has_edition", editions.__contains__)

    def speak(edition):
        monkeypatch.setattr(_words, "EDITION", edition)
        monkeypatch.setattr("coterie.writing.sidecar.EDITION", edition)

    return speak, editions


def test_a_release_holds_after_its_words_were_edited(written, edited, tmp_path):
    path, data = written
    speak, editions = edited
    speak(NOW + 1)
    assert "comes from" in QueryKAnonymity(k=3).sentence
    assert _verified(path, data)[0] == 0, "a release of the edition before"
    new = tmp_path / "new.tsv"
    coterie.write(coterie.anonymize(_tea(), SuppressRare(k=3), seed=1), new)
    newer = json.loads(sidecar_path(new).read_text())
    assert newer["words_edition"] == NOW + 1
    assert "comes from" in newer["promises"][0]["sentence"]
    assert coterie.verify(new, _tea()).exit_code == 0
    for mixed in ({**data, "words_edition": NOW + 1}, {**newer, "words_edition": NOW}):
        code, check = _verified(path, mixed)
        assert (code, check.status) == (3, "not checked")
    del editions[NOW]
    assert _verified(path, data)[0] == 3, "the edition is gone"


def test_an_edition_does_not_speak_of_what_it_does_not_know(written):
    """A number that is newer than an edition has no words in it, and the words without them would promise too much."""

    @dataclass(frozen=True, kw_only=True)
    class Newer(QueryKAnonymity):
        sold_to: str = ""

    assert _words.words_in(1, Newer(k=3)) == _words.words_in(1, QueryKAnonymity(k=3))
    assert _words.words_in(1, Newer(k=3, sold_to="anybody")) is None
    unheard_of = QueryKAnonymity(k=3)
    object.__setattr__(unheard_of, "users", "household")
    assert _words.words_in(1, unheard_of) is None


def test_a_number_left_out_of_a_promise_does_not_pass(tmp_path):
    """The words of its default would then be those of another promise: of queries, where visitors were counted."""
    log = log_of([{"user": user, "path": "/tea"} for user in "123"], VISITS)
    path = tmp_path / "pages.tsv"
    coterie.write(coterie.anonymize(log, SuppressRare(k=3), seed=1), path)
    data = json.loads(sidecar_path(path).read_text())
    (promise,) = data["promises"]
    queries = QueryKAnonymity(k=3)
    less = {name: value for name, value in promise.items() if name != "shape"}
    said = {"sentence": queries.sentence, "headline": queries.headline}
    assert coterie.verify(path, log).exit_code == 0
    _put(path, {**data, "promises": [{**less, **said}], "limits": list(queries.limits)})
    assert coterie.verify(path, log).exit_code == 3


def test_older_releases_without_a_number_or_a_parameter(written):
    """A number that this version does not have, or that one did not, is no fault; another number is."""
    path, data = written
    (promise,) = data["promises"]
    older = {name: value for name, value in promise.items() if name != "times"}
    fewer = {name: value for name, value in data["parameters"].items() if name != "times"}
    assert _verified(path, {**data, "promises": [older], "parameters": fewer})[0] == 0
    assert _verified(path, {**data, "promises": [{**promise, "times": "hour"}]})[1].status == "failed"
    code, check = _verified(path, {**data, "parameters": {**data["parameters"], "certified": True}})
    assert (code, check.status) == (3, "not checked")
    assert "certified" not in check.text


def test_the_regime_is_compared(written):
    """It cannot be told whether settings or the regime's file changed: not checked, exit 3."""
    path, data = written
    google = regimes.load("google_2024")
    said = {**data, "regime": "google_2024", "prepare": list(google.prepare)}
    changed = list(google.changed(data["parameters"], google.prepare))
    assert "k" in changed

    def verdict(**more):
        _put(path, {**said, **more})
        found = coterie.verify(path, _tea(), steps=data["prepare"])
        return found.exit_code, next(check for check in found.checks if check.name == "sidecar")

    assert verdict(changed=changed)[1].status == "passed"
    hidden = {name: value for name, value in data["parameters"].items() if name != "attrs"}
    for more in (
        {"changed": []},
        {"changed": [name for name in changed if name != "k"]},
        {"changed": changed, "parameters": hidden},
    ):
        code, check = verdict(**more)
        assert (code, check.status, check.carries_promise) == (3, "not checked", True)
        assert "not those of the regime it names" in check.text
    assert verdict(changed=[])[1].text.rpartition("(")[2].count("k")
    assert verdict(changed=[*changed, "zqcanary"])[1].text.endswith("(changed)")
    assert verdict(changed=[], regime="mozilla")[1].text.endswith("(method)")
    assert verdict(changed=[], regime="of_tomorrow")[1].text.endswith("(regime)")
