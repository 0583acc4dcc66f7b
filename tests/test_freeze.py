"""The freeze names what changes: a capability, a digit, an option. Deleted with tools/freeze.py."""

import importlib
from pathlib import Path

import click
import pytest

from coterie.core import registry

TOOLS = Path(__file__).parents[1] / "tools"


@pytest.fixture
def freeze(monkeypatch):
    monkeypatch.syspath_prepend(TOOLS)
    return importlib.import_module("freeze")


@pytest.fixture
def facts(freeze):
    return importlib.import_module("freeze_facts")


def test_a_promise_that_is_suddenly_judged_on_a_cluster(freeze, facts, monkeypatch):
    monkeypatch.setattr(registry, "names", lambda _: ["word_k_anonymity"])

    def today():
        return {"members": {key: facts.short(value) for key, value in facts.promises()}}

    before = today()
    recorded = freeze.recorded()["members"]
    assert before["members"].items() <= recorded.items(), "what is recorded is computed in the same way"
    monkeypatch.setattr(registry.member("promises", "word_k_anonymity"), "anywhere", True, raising=False)
    assert list(freeze.differences(before, today())) == [
        "members: promise word_k_anonymity: judged where rows are: was ParameterError (2), is yes"
    ]


def test_a_digit_of_a_score_and_of_a_digest(freeze):
    before, now = freeze.recorded(), freeze.recorded()
    key, value = next((key, value) for key, value in before["scores"].items() if value[:3].isdigit() or "." in value)
    number, unit = value.split(" ", 1)
    now["scores"][key] = f"{float(number) * (1 + 1e-12)!r} {unit}"
    assert not list(freeze.differences(before, now)), "the last bits may differ"
    now["scores"][key] = f"{float(number) * (1 + 1e-8)!r} {unit}"
    rows = next(key for key in before["releases"] if key.endswith(": rows"))
    now["releases"][rows] += "0"
    assert [line.split(": was ")[0] for line in freeze.differences(before, now)] == [
        f"releases: {rows}", f"scores: {key}",
    ]  # fmt: skip


def test_an_option_that_is_gone_or_has_another_default(freeze, facts):
    def today(*params):
        command = click.Command("verify", params=list(params))
        return {"options": dict(facts._options(command, click.Context(command, info_name="coterie verify")))}

    k, force = click.Option(["--k", "-k"], type=int, default=5), click.Option(["--force"], is_flag=True, hidden=True)
    other = click.Option(["--k", "-k"], type=int, default=6)
    assert list(freeze.differences(today(k, force), today(other))) == [
        "options: coterie verify: --force: gone, was boolean hidden is_flag",
        "options: coterie verify: --k/-k: was integer default 5, is integer default 6",
    ]


def test_facts_are_read_as_they_were_written(freeze, tmp_path):
    facts = {"releases": {"affinity k=2: rows": "3 = abc", "affinity k=2: exit": "0"}, "page_x": ["One", "[Two]"]}
    freeze.record(facts, tmp_path)
    assert freeze.recorded(tmp_path) == facts
    lines = list(freeze.differences(facts, {**facts, "page_x": ["One", "Three"]}))
    assert lines == ["page_x: -[Two]", "page_x: +Three"]


def test_what_depends_on_threads_stands_there_for_each(freeze):
    of_threads = {"threads=1": {"a: rows": "1", "b: rows": "2"}, "threads=8": {"a: rows": "1", "b: rows": "3"}}
    assert freeze.together(of_threads) == {"a: rows": "1", "b: rows @ threads=1": "2", "b: rows @ threads=8": "3"}
