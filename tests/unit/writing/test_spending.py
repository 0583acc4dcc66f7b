"""What is listed before anything is spent, what is refused, and what the operator alone is told."""

from dataclasses import replace

import polars as pl
import pytest

import coterie
from coterie import api, jobs
from coterie.errors import InputError, MissingError, ParameterError
from coterie.methods.private_counts import PrivateCounts
from coterie.methods.suppress_rare import SuppressRare
from coterie.reading.reading import Reading
from coterie.writing.history import Allowance, History, for_the_operator, spend, spent_of
from coterie.writing.target import Target
from tests.helpers.tasks import how

TABLE = PrivateCounts(delta=1e-6)
BASELINE = PrivateCounts(delta=1e-6, counts=0.0, mechanism="wgm")


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.tsv"
    pl.DataFrame({"user": ["u", "v"], "query": ["maps", "tea"]}).write_csv(path, separator="\t")
    return path


@pytest.fixture
def book(tmp_path):
    return History(path=tmp_path / "book.json", log_name="log.tsv")


def test_each_run_is_listed_with_the_orders_that_it_is_accounted_in(log, book):
    both = PrivateCounts(delta=1e-6, items="phrases")
    spend(coterie.read(log), [both, BASELINE], book, None)
    first, second = book.read().spent
    assert (first.what, first.epsilon, first.delta) == ("words and phrases", 1.0, 1e-6)
    assert len(first.orders) == 2
    assert all(order > 1 for order in first.orders)
    assert second.orders == (), "its accounting has no Rényi divergence"
    assert first.input_digest == second.input_digest == coterie.read(log).digest


def test_nothing_is_listed_for_other_methods_and_they_have_no_budget(log, book):
    spend(coterie.read(log), [SuppressRare(k=2)], book, None)
    assert not book.path.exists()
    with pytest.raises(ParameterError, match="A budget is for methods with differential privacy"):
        spend(coterie.read(log), [SuppressRare(k=2)], book, Allowance(epsilon=1, delta=1e-6))


def test_without_a_list_nothing_is_spent_but_of_people_who_are_made_up(log):
    with pytest.raises(ParameterError, match="leave out --history none"):
        spend(coterie.read(log), [TABLE], None, None)
    made_up = coterie.read("synth:users=20,seed=7")
    spend(made_up, [TABLE], None, None)


def test_what_a_method_refuses_is_refused_before_it_is_listed(log, book):
    with pytest.raises(ParameterError, match="takes no seed"):
        spend(coterie.read(log), [TABLE], book, None, seed=1)
    sampled = coterie.prepare(coterie.read(log), "sample(subjects=1)")
    with pytest.raises(ParameterError, match="lets one user decide"):
        spend(sampled, [TABLE], book, None)
    assert not book.path.exists()


@pytest.mark.parametrize(("method", "hint"), [(TABLE, False), (SuppressRare(k=2), True)])
def test_nobody_is_told_to_do_without_a_list_that_is_needed(log, tmp_path, method, hint):
    to = Target(path=str(tmp_path / "safe.tsv")).for_each((None,))

    def refused(error, paths, history):
        with pytest.raises(error) as told:
            jobs.anonymize_files(paths, [method], to, **how(history=history))
        return str(told.value)

    missing = refused(MissingError, [str(log)], str(tmp_path / "no" / "book.json"))
    assert "Make it first. Give another file: --history FILE" in missing
    flowing = refused(ParameterError, ["-"], None)
    (tmp_path / "list.json").write_text("[]")
    strange = refused(InputError, [str(log)], str(tmp_path / "list.json"))
    assert ["--history none" in text for text in (missing, flowing, strange)] == [hint] * 3


def test_a_log_is_found_by_its_name_and_by_its_bytes(log, book):
    spend(coterie.read(log), [TABLE], book, None)
    copy, other = log.with_name("copy.tsv"), log.with_name("other.tsv")
    copy.write_bytes(log.read_bytes())
    other.write_bytes(log.read_bytes() + b"w\tsea\n")
    (spent,) = book.read().spent
    where = str(book.path)
    assert spent_of([log], where) == spent_of([copy], where) == spent_of([other], where, "log.tsv") == [spent]
    assert spent_of([other], where) == []
    assert spent_of([copy], where, options=Reading(columns={"user": "query", "query": "user"})) == []
    assert spent_of([log], "none") == []


def test_bytes_are_those_of_a_log_that_is_read_alike(log, book):
    columns = {"user": "query", "query": "user"}
    spend(coterie.read(log, columns=columns), [TABLE], book, None)
    copy = log.with_name("copy.tsv")
    copy.write_bytes(log.read_bytes())
    assert spent_of([copy], str(book.path)) == []
    assert len(spent_of([copy], str(book.path), options=Reading(columns=columns))) == 1


def test_the_operator_alone_is_told_what_depends_on_the_log():
    users = pl.DataFrame({"user": [f"u{n}" for n in range(30)], "query": "maps"})
    log = coterie.log(users)
    few = api.anonymize_prepared(log, PrivateCounts(epsilon=4.0, population=20))
    assert ["more users than the population" in text for text in for_the_operator(few)] == [True, False]
    many = api.anonymize_prepared(log, PrivateCounts(epsilon=4.0, population=30))
    (told,) = for_the_operator(many)
    assert "keep it secret" in told
    assert not list(for_the_operator(replace(many, record=None)))
    assert not list(for_the_operator(coterie.anonymize(log, SuppressRare(k=2), seed=1)))
