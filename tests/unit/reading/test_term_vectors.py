"""Documents as vectors of terms: tables, JSON lines, tables in memory, and what Coterie writes of them."""

import json

import polars as pl
import pytest

import coterie
from coterie.core.digests import digest_of_rows
from coterie.core.plan import Draft
from coterie.core.run import Run
from coterie.core.shapes import TERMS
from coterie.engines.local import Local
from coterie.errors import InputError
from coterie.reading.logs import read_release
from coterie.testing import terms_log
from coterie.writing.canonical import _sink, canonical
from coterie.writing.files import in_order

ROWS = [("1", "pot", 0.25), ("1", "tea", 0.5), ("2", "tea", 1.0)]
TABLE = pl.DataFrame(ROWS, schema=["doc", "term", "weight"], orient="row")


def vectors(log):
    return log.to_polars().sort(TERMS.order).rows()


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_tables(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    table = TABLE.reverse()
    {
        "csv": table.write_csv,
        "tsv": lambda to: table.write_csv(to, separator="\t"),
        "jsonl": table.write_ndjson,
        "parquet": table.write_parquet,
    }[kind](path)
    log = coterie.read(path)
    assert log.shape is TERMS
    assert vectors(log) == ROWS
    assert log.history[0].counts == {"lines": 3, "bad": 0}
    assert "row" not in log.frame.collect_schema()


@pytest.mark.parametrize("name", ["v.jsonl", "v.jsonl.gz"])
def test_json_lines(write, name):
    text = '{"doc": 1, "terms": {"tea": 0.5, "pot": 0.25}}\n\n{"doc": "2", "terms": {"tea": 1}, "more": []}\n'
    log = coterie.read(write(name, text))
    assert vectors(log) == ROWS
    assert "owner" not in log.frame.collect_schema()


def test_columns_are_named(write):
    path = write("t.csv", "id,word,n\n1,tea,0.5\n1,pot,0.25\n2,tea,1\n")
    log = coterie.read(path, columns={"doc": "id", "term": "word", "weight": "n"})
    assert vectors(log) == ROWS
    with pytest.raises(InputError, match="needs the column 'weight'"):
        coterie.read(path, columns={"doc": "id", "term": "word"})


@pytest.mark.parametrize("table", [TABLE, TABLE.lazy(), TABLE.to_arrow(), TABLE.to_pandas()])
def test_tables_in_memory(table):
    assert vectors(coterie.log(table)) == ROWS


def test_a_term_that_a_document_has_twice_gets_the_sum(write):
    text = "doc,term,weight\n1,tea,0.25\n1,pot,0.25\n2,tea,1\n1,tea,0.25\n"
    assert vectors(coterie.read(write("t.csv", text))) == ROWS


def test_sums_do_not_depend_on_the_order_of_rows():
    weights = [0.1, 1e10, 0.3, 1e-9, 0.7]
    sums = {
        coterie.log(pl.DataFrame({"doc": "1", "term": "tea", "weight": some})).to_polars()["weight"].item()
        for some in (weights, weights[::-1], sorted(weights))
    }
    assert len(sums) == 1


def test_terms_that_are_spelled_alike_become_one():
    table = pl.DataFrame({"doc": ["1", "1", "1"], "term": ["Tea ", "tea", "\uff54ea"], "weight": [0.5, 0.25, 0.25]})
    assert vectors(coterie.prepare(coterie.log(table), ["normalize"])) == [("1", "tea", 1.0)]


def test_empty_terms_are_dropped():
    table = pl.DataFrame({"doc": ["1"] * 4, "term": ["", None, "-", "tea"], "weight": [1.0] * 4})
    log = coterie.prepare(coterie.log(table))
    assert vectors(log) == [("1", "tea", 1.0)]
    assert log.steps == ("normalize", "drop_empty")


def test_owners_are_read_and_never_released(write):
    text = '{"doc": "1", "terms": {"tea": 1, "pot": 2}, "owner": "ann"}\n{"doc": "2", "terms": {"tea": 1}}\n'
    log = coterie.read(write("v.jsonl", text))
    owners = log.frame.select("doc", "owner").unique().sort("doc").collect()
    assert owners.rows() == [("1", "ann"), ("2", None)]
    assert log.to_polars().columns == ["doc", "term", "weight"]
    assert coterie.prepare(log).frame.collect_schema().names() == list(TERMS.schema)


def test_a_document_has_one_owner():
    table = TABLE.with_columns(pl.Series("owner", ["ann", "bob", "ann"]))
    with pytest.raises(InputError, match="1 of the values of 'doc' have more than one owner"):
        coterie.log(table)
    with pytest.raises(InputError, match="or one in some rows only"):
        coterie.log(TABLE.with_columns(pl.Series("owner", ["ann", None, "ann"])))


def test_owners_are_part_of_the_digest_of_rows():
    digests = {
        coterie.log(TABLE.with_columns(pl.Series("owner", owners, dtype=pl.String))).digest
        for owners in (["ann", "ann", "ann"], ["ann", "ann", "bob"], [None] * 3)
    }
    assert len(digests) == 3


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"doc": "3", "terms": {"tea": -1}}', "weight"),
        ('{"doc": "3", "terms": {"tea": 0}}', "weight"),
        ('{"doc": "3", "terms": {"tea": 1e200}}', "weight"),
        ('{"doc": "3", "terms": {"tea": true}}', "weight"),
        ('{"doc": "3", "terms": {"tea": "much"}}', "weight"),
        ('{"doc": " ", "terms": {"tea": 1}}', "doc"),
        ('{"terms": {"tea": 1}}', "doc"),
        ('{"doc": ["3"], "terms": {"tea": 1}}', "doc"),
        ('{"doc": "3", "terms": {}}', "columns"),
        ('{"doc": "3", "terms": ["tea"]}', "columns"),
        ('{"doc": "3"}', "columns"),
        ("[1]", "columns"),
        ("{", "columns"),
    ],
)
def test_bad_lines(write, line, reason):
    path = write("v.jsonl", json.dumps({"doc": "1", "terms": {"tea": 1}}) + "\n\n" + line + "\n")
    with pytest.raises(InputError, match=rf"v\.jsonl line 3, {reason} \("):
        coterie.read(path)
    assert vectors(coterie.read(path, allow_bad=True)) == [("1", "tea", 1.0)]


@pytest.mark.parametrize("weight", ["-1", "0", "nan", "inf", "", "much"])
def test_bad_weights_of_tables(write, weight):
    with pytest.raises(InputError, match=r"line 3, weight \(a number above 0\)"):
        coterie.read(write("t.csv", f"doc,term,weight\n1,tea,1\n1,pot,{weight}\n"))


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("blocks", [1, 3])
def test_rows_come_back_as_they_were_written(tmp_path, kind, blocks):
    """Sorted by document, term and weight, which is what the judge of order asks for."""
    path = tmp_path / f"safe.{kind}"
    log = terms_log(owned=True)
    shuffled = log.frame.collect().sample(fraction=1, shuffle=True, seed=3).lazy()
    run = Run(seed=1, engine=Local(blocks))
    released, rows = in_order(Draft(frame=shuffled, subjects=shuffled), TERMS, run, keep_rows=True)
    assert rows is None
    _sink(released, path, kind, None)
    frame, shape, names, _ = read_release(path, TERMS)
    assert (shape, names) == (TERMS, ["doc", "term", "weight"])
    assert frame.drop("bad").collect().rows() == sorted(log.to_polars().rows())
    assert digest_of_rows(frame.drop("bad")) == digest_of_rows(released)
    assert canonical(path, frame.drop("bad"), TERMS).status == "passed"
