"""Every tampering is caught by `verify`, or stands in docs/limits.md with the reason."""

import re
from pathlib import Path

import pytest

from coterie.errors import InputError
from tests.attack import tamperings_of_documents, tamperings_of_parts, tamperings_of_rules, tamperings_of_visits
from tests.attack.tamperings import ALL, KINDS, Forgery, make_releases

LIMITS = Path(__file__).parents[2] / "docs" / "limits.md"
HEADING = "## Of verification: what it does not catch"
UNCAUGHT = {each.name: each.uncaught for each in ALL if each.uncaught}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("releases")
    make_releases(folder)
    for others in (tamperings_of_visits, tamperings_of_documents, tamperings_of_parts, tamperings_of_rules):
        others.make_releases(folder)
    return folder


def _exit_code(forgery, record=True):
    try:
        return forgery.verify(record).exit_code
    except InputError:
        return 2


@pytest.mark.parametrize(
    "tampering",
    [pytest.param(each, id=each.name) for each in ALL],
)
def test_a_tampering_is_caught_or_known(tampering, made, tmp_path):
    forgery = Forgery(made, tampering.release, tmp_path)
    tampering.act(forgery)
    code = _exit_code(forgery)
    assert code == 0 if tampering.uncaught else code in (1, 2, 3)


@pytest.mark.parametrize("name", [f"queries.{kind}" for kind in KINDS] + [
    "linked.tsv", "sessions.tsv", "affine.tsv", "concepts.tsv", "profiles.tsv", "profiles.parquet", "sets.tsv",
    "affine_sessions.tsv", "concepts_linked.tsv", "labels.tsv", "visits.tsv", "walks.tsv", "cells.tsv", "records.tsv",
    "vectors.tsv", "subsumers.tsv", "owned.tsv", "words.tsv", "found.tsv", "minis.tsv",
    "days.tsv", "devices.csv", *tamperings_of_parts.PARTS,
])  # fmt: skip
def test_what_was_not_tampered_with_holds(name, made, tmp_path):
    verdict = Forgery(made, name, tmp_path).verify()
    assert [check.text for check in verdict.checks if check.status != "passed"] == []
    assert verdict.exit_code == 0


@pytest.mark.parametrize("name", ["linked.tsv", "sessions.tsv", "profiles.tsv", "sets.tsv"])
def test_without_the_record_names_are_not_taken_for_people(name, made, tmp_path):
    verdict = Forgery(made, name, tmp_path).verify(record=False)
    assert verdict.exit_code == 3
    assert verdict.largest_k is None


def test_one_history_under_all_names_without_the_record(made, tmp_path):
    forgery = Forgery(made, "profiles.tsv", tmp_path)
    next(each for each in ALL if each.name == "one_history_under_all_names").act(forgery)
    assert _exit_code(forgery, record=False) == 3


def test_there_are_many_and_none_twice():
    assert len(ALL) >= 60
    assert len({each.name for each in ALL}) == len(ALL)


def test_what_is_not_caught_stands_in_the_limits():
    section = LIMITS.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n## ")[0]
    listed = {name: " ".join(text.split()) for name, text in re.findall(r"^- `(\w+)`: (.+(?:\n  .+)*)", section, re.M)}
    assert listed == UNCAUGHT
