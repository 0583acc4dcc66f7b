"""Names as texts, tables where logs are, and what a notebook shows.

Covers: core/wording.py
"""

import polars as pl
import pyarrow as pa
import pytest

import coterie
from coterie.core.wording import html_table
from coterie.errors import InputError, ParameterError, UnknownNameError
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing import queries_log

FRAME = queries_log().to_polars()
CANARIES = ("ann", "bob", "weather", "bread", "sky.example", "2020-02-03")


def test_methods_by_name():
    log = queries_log()
    named = coterie.anonymize(log, "suppress_rare", k=3, users="session", seed=1)
    given = coterie.anonymize(log, SuppressRare(k=3, users="session"), seed=1)
    assert named.to_polars().equals(given.to_polars())
    assert (named.method, named.params) == (given.method, given.params)


@pytest.mark.parametrize(("method", "params", "error", "said"), [
    ("supress_rare", {}, UnknownNameError, "Did you mean 'suppress_rare'"),
    ("suppress_rare", {"kk": 3}, ParameterError, "has no parameter 'kk'.*Its parameters: k, users, .*attrs"),
    ("suppress_rare", {"k": "3"}, ParameterError, "whole number of at least 2"),
    ("private_counts", {}, ParameterError, "private_counts needs|delta"),
    (SuppressRare(k=3), {"k": 4}, ParameterError, "Give k to the method itself"),
    (SuppressRare, {}, InputError, "not a class.*Known: affinity"),
    (7, {}, InputError, "not int"),
    (None, {}, InputError, "not NoneType"),
])  # fmt: skip
def test_what_is_no_method(method, params, error, said):
    with pytest.raises(error, match=said):
        coterie.anonymize(queries_log(), method, **params)


@pytest.mark.parametrize("table", [FRAME, FRAME.lazy(), FRAME.to_pandas(), FRAME.to_arrow()])
def test_tables_are_taken_wherever_a_log_is(table, tmp_path):
    release = coterie.anonymize(table, "suppress_rare", k=3, seed=1)
    assert release.to_polars().equals(coterie.anonymize(queries_log(), "suppress_rare", k=3, seed=1).to_polars())
    assert coterie.verify(release, table).exit_code == 0
    coterie.write(release, tmp_path / "safe.tsv")
    assert coterie.verify(tmp_path / "safe.tsv", table, steps=[]).exit_code == 0
    assert coterie.measure(release, ["mass"], original=table).height
    assert coterie.inspect(table).height
    assert coterie.prepare(table, ["drop_empty"]).steps == ("drop_empty",)
    assert coterie.report(release, original=table, to=tmp_path / "r.json", names=["mass"]).exists()
    assert coterie.verify(table, table, promise="query_k_anonymity", k=2, steps=[]).exit_code in (0, 1)


@pytest.mark.parametrize("call", [
    lambda thing: coterie.anonymize(thing, "suppress_rare"),
    lambda thing: coterie.prepare(thing),
    lambda thing: coterie.inspect(thing),
    lambda thing: coterie.measure(None, original=thing),
    lambda thing: coterie.measure(thing, original=FRAME),
    lambda thing: coterie.report([thing], original=FRAME, to="r.html"),
    lambda thing: coterie.write(thing, "x.tsv"),
])  # fmt: skip
@pytest.mark.parametrize("thing", ["log.tsv", 7, ("a", "b"), [1, 2]])
def test_anything_else_is_an_input_error(call, thing):
    with pytest.raises(InputError) as raised:
        call(thing)
    assert "log.tsv" not in str(raised.value)


@pytest.mark.parametrize("thing", [7, ("a", "b"), [1, 2]])
def test_an_original_is_a_log_a_table_or_a_file(thing):
    with pytest.raises(InputError):
        coterie.verify("x.tsv", thing)


def test_a_release_is_no_log():
    release = coterie.anonymize(queries_log(), "suppress_rare", k=3)
    with pytest.raises(InputError, match="This is a release, and a log is expected"):
        coterie.anonymize(release, "suppress_rare")


def test_only_what_people_use_is_listed():
    assert dir(coterie) == sorted([*coterie.__all__, "__version__"])
    assert all(hasattr(coterie, name) for name in dir(coterie))


def test_what_a_notebook_shows():
    log = coterie.prepare(queries_log())
    release = coterie.anonymize(log, "suppress_rare", k=3, users="session", seed=1)
    verdict = coterie.verify(release, log)
    shown = [thing._repr_html_() for thing in (log, release, verdict, coterie.measure(release, ["mass"], original=log))]
    assert "normalize, drop_empty" in shown[0]
    assert "k = 3" in shown[1]
    assert "The promise holds." in shown[2]
    assert "mass" in shown[3]
    assert not [canary for canary in CANARIES for text in shown if canary in text]
    assert html_table("<b>", [("<i>", "&")], "<u>") == (
        '<div><p><strong>&lt;b&gt;</strong></p><table><tr><th scope="row" style="text-align:left">&lt;i&gt;</th>'
        '<td style="text-align:left">&amp;</td></tr></table><p>&lt;u&gt;</p></div>'
    )


def test_returns_are_what_they_say():
    import pandas as pd

    release = coterie.anonymize(queries_log(), "suppress_rare", k=3)
    assert isinstance(release.to_pandas(), pd.DataFrame)
    assert isinstance(release.to_polars(), pl.DataFrame)
    assert isinstance(queries_log().to_polars().to_arrow(), pa.Table)
