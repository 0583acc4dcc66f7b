"""Pieces of work that travel: versions, failures, and what never travels."""

import copy

import polars as pl
import pytest

from coterie.core.run import Engine
from coterie.core.shapes import QUERIES, Shape
from coterie.core.threads import DoneSoFar, thread_count
from coterie.engines import remote
from coterie.engines.remote import Piece, refuse_versions, said, told, versions
from coterie.errors import InputError, InternalError


def test_a_piece_knows_the_types_of_its_result():
    piece = Piece(lambda rows: rows.select(pl.col("n") * 2, pl.lit("x").alias("t")), ({"n": pl.Int64()},))
    assert piece.schema == {"n": pl.Int64, "t": pl.String}
    assert piece(pl.DataFrame({"n": [1, 2]})).rows() == [(2, "x"), (4, "x")]


def test_workers_with_other_versions_are_refused(monkeypatch):
    expected = versions()
    refuse_versions(expected)
    with pytest.raises(RuntimeError) as refused:
        refuse_versions({**expected, "polars": "0.1"})
    assert "polars" in str(said(f"Traceback ... {refused.value}\n more"))
    assert isinstance(said(str(refused.value)), InputError)


def test_sentences_are_found_in_whatever_is_around_them():
    def refuse():
        raise InputError("Not\nthese rows.")

    with pytest.raises(RuntimeError) as failure:
        told(refuse)
    found = said(f"org.apache.Something: {failure.value}\n\tat java.lang")
    assert isinstance(found, InputError)
    assert str(found) == "Not these rows."
    assert said("anything else") is None


def test_failures_do_not_show_values():
    piece = Piece(lambda rows: rows.select(pl.col("t").cast(pl.Int64, strict=False)), ({"t": pl.String()},))
    piece.work = lambda rows: rows.select(pl.col("t").cast(pl.Int64))
    with pytest.raises(InternalError) as failure:
        piece(pl.DataFrame({"t": ["canary"]}))
    assert "canary" not in str(failure.value)
    assert failure.value.__cause__ is None


def test_known_shapes_are_the_same_objects_elsewhere():
    assert copy.copy(QUERIES) is QUERIES
    own = Shape(name="OWN", columns=QUERIES.columns, doc="")
    assert copy.copy(own) == own


def test_progress_is_not_told_elsewhere():
    heard = []
    there = copy.copy(DoneSoFar(10, heard.append))
    there.add(5)
    assert not heard


def test_a_task_has_one_thread(monkeypatch):
    from coterie.core import threads

    monkeypatch.setattr(threads, "_granted", None)
    assert thread_count() >= 1
    Piece(lambda rows: rows, ({"n": pl.Int64()},)).elsewhere(pl.DataFrame({"n": [1]}))
    assert thread_count() == 1
    assert remote.table_of(pl.LazyFrame()) is None


class _Panic(BaseException):
    """As polars has them: no Exception."""


def test_panics_do_not_show_values():
    def panic(*_):
        raise _Panic("kim typed this")

    piece = Piece(lambda rows: rows, ({"t": pl.String()},))
    piece.work = panic
    for run in (lambda: piece(pl.DataFrame({"t": ["x"]})), lambda: list(remote.guarded(panic)(iter(())))):
        with pytest.raises((InternalError, RuntimeError)) as failure:
            run()
        assert "kim" not in str(failure.value)
        assert failure.value.__suppress_context__


@pytest.mark.parametrize("ending", [GeneratorExit, KeyboardInterrupt, SystemExit])
def test_what_ends_a_task_is_no_fault(ending):
    def end(*_):
        raise ending

    piece = Piece(lambda rows: rows, ({"t": pl.String()},))
    piece.work = end
    with pytest.raises(ending):
        piece(pl.DataFrame({"t": ["x"]}))


def test_an_engine_of_other_machines_has_every_verb_in_its_own_way():
    """One that it does not have would quietly be done to rows that come here."""
    public = {name for name in vars(Engine) if not name.startswith("_")}
    assert public <= set(vars(remote.Remote))
