"""Parts are released files with sidecars, which `verify` knows; the audit has the rows that were counted.

Covers: apps/gate/audit.py, apps/gate/held.py, apps/gate/table.py
"""

import json

import polars as pl
import pytest

import coterie
from coterie.apps.gate import audit, held, table
from coterie.errors import BrokenPromiseError
from tests.helpers.gates import gate_in, lines_in, rows_of

ROWS = [("a", "tea", 1, "http://p.example"), ("b", "tea", 2, "http://p.example"), ("a", "rare thing", 3),
        ("c", "tea", 8), ("c", "maps", 9), ("a", "maps", 9), ("c", "maps", 25), ("b", "maps", 26)]  # fmt: skip


def _run(folder, **given):
    with gate_in(folder, audit=folder / "audit", **given) as gate:
        gate.offer_many(rows_of(*ROWS[:3]))
        gate.commit()
        gate.offer_many(rows_of(*ROWS[3:]))
    return sorted((folder / "out").glob("part-*.tsv"))


def test_every_part_keeps_its_promise(tmp_path):
    parts = _run(tmp_path)
    original = coterie.read(sorted(map(str, (tmp_path / "audit").glob("*.parquet"))))
    assert original.frame.collect().height == len(ROWS)
    assert len(parts) >= 2
    for part in parts:
        assert coterie.verify(part, original).exit_code == 0
        assert coterie.verify(part).exit_code == 3, "without the rows nobody can tell"
    assert "rare thing" not in " ".join(part.read_text() for part in parts)
    assert (tmp_path / "audit").stat().st_mode & 0o777 == 0o700


def test_a_part_that_says_more_is_caught(tmp_path):
    part = _run(tmp_path)[0]
    original = coterie.read(sorted(map(str, (tmp_path / "audit").glob("*.parquet"))))
    part.write_text(part.read_text().replace("tea", "rare thing"))
    verdict = coterie.verify(part, original)
    assert verdict.exit_code == 1
    assert {"crowd.window", "digest"} <= {check.name for check in verdict.broken}


def test_parts_that_were_changed_are_noticed_at_the_next_start(tmp_path):
    part = _run(tmp_path)[0]
    part.write_text("something else")
    with pytest.raises(BrokenPromiseError, match="not as the gate wrote them"):
        gate_in(tmp_path)


def test_parts_may_be_taken_away(tmp_path):
    for part in _run(tmp_path):
        part.unlink()
    gate_in(tmp_path, audit=tmp_path / "audit").abandon()


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "tsv.gz"])
def test_other_kinds_of_files(tmp_path, kind):
    with gate_in(tmp_path, kind=kind, audit=tmp_path / "audit") as gate:
        gate.offer_many(rows_of(*ROWS))
    original = coterie.read(sorted(map(str, (tmp_path / "audit").glob("*.parquet"))))
    parts = sorted((tmp_path / "out").glob(f"part-*.{kind}"))
    assert parts
    assert all(coterie.verify(part, original).exit_code == 0 for part in parts)


def test_the_index_lists_all_parts(tmp_path):
    parts = _run(tmp_path)
    index = json.loads((tmp_path / "out" / "index.json").read_text())
    assert [part["name"] for part in index["parts"]] == [part.name for part in parts]
    assert sum(part["rows"] for part in index["parts"]) == lines_in(tmp_path / "out").height


def test_an_audit_forgets_what_no_snapshot_knows(tmp_path):
    shape = coterie.log(pl.DataFrame({"user": ["a"], "query": ["b"]})).shape
    kept = audit.Audit(tmp_path, shape)
    kept.add(pl.DataFrame({"user": ["a"], "item": ["b"], "time": [None], "page": [None]}))
    assert kept.stage({"user": "who"}) == ["rows-000001.parquet"]
    audit.Audit(tmp_path, shape).settle([])
    assert list(tmp_path.iterdir()) == []


def test_texts_are_bytes_one_behind_the_other():
    texts = table.Texts.of(pl.Series(["ab", None, "é", ""])[1:])
    assert texts.given.tolist() == [False, True, True]
    assert (texts.start - texts.start[0]).tolist() == [0, 0, 2, 2]
    assert bytes(texts.data[texts.start[1] : texts.start[2]]).decode() == "é"


def test_no_two_pairs_are_the_same_text():
    rows = pl.DataFrame({"item": ["a", "ab", "1:a"], "page": ["bc", "c", "bc"]})
    assert held.pairs(rows).n_unique() == 3
