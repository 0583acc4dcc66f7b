"""The command lines that are shown are those that do the same: they are parsed by the command line itself."""

import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest

from coterie.apps.studio import commands
from coterie.apps.studio.fields import method_of, offers
from coterie.apps.studio.plain import Source
from coterie.cli.main import cli
from coterie.reading.reading import Reading, columns_as_text, columns_of
from coterie.steps import spelled

OFFERS = {offer.name: offer for offer in offers()}
SOURCE = Source(paths=("my log's.tsv",), reading=Reading(columns={"user": "cookie", "query": "q"}, allow_bad=True))


def _parsed(line):
    """The options that the command line makes of a line."""
    words = shlex.split(line)[1:]
    context, command = click.Context(cli), cli
    while isinstance(command, click.Group):
        name = words.pop(0)
        command = command.get_command(context, name)
    return command.make_context(command.name, words, resilient_parsing=False).params


def test_inspect():
    said = _parsed(commands.inspect(SOURCE))
    assert said["log"] == ("my log's.tsv",)
    assert said["columns"] == "user=cookie,query=q"
    assert said["allow_bad"] is True


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("suppress_rare", {"k": "7", "users": "session", "attrs": "common"}),
        ("affinity", {"k": "5", "theta": "0.75", "strict": "on"}),
        ("generalize_visits", {"k": "3"}),
    ],
)
def test_anonymize_and_its_settings_make_the_same_method(name, typed, tmp_path):
    offer = OFFERS[name]
    wanted = method_of(name, typed)
    said = _parsed(commands.anonymize(SOURCE, offer, typed, "out.tsv"))
    assert {key: said[key] for key in typed if key not in ("k", "strict")} == {
        key: getattr(wanted, key) for key in typed if key not in ("k", "strict")
    }
    assert said["k"] == [wanted.k]
    assert [spelled(step) for step in said["steps"]] == ["default"]
    settings = tmp_path / "settings.toml"
    settings.write_text(commands.settings(SOURCE, offer, typed))
    again = _parsed(f"coterie anonymize {name} log -o out.tsv --config {settings}")
    assert {key: again[key] for key in said if key not in ("log", "output")} == {
        key: said[key] for key in said if key not in ("log", "output")
    }


def test_verify_report_and_measure():
    said = _parsed(commands.verify("out.tsv", SOURCE, "query_k_anonymity", 5))
    assert (said["out"], said["original"], said["promise"], said["k"]) == (
        "out.tsv", ("my log's.tsv",), "query_k_anonymity", 5,
    )  # fmt: skip
    assert _parsed(commands.measure(SOURCE, "out.tsv", "record"))["out"] == "out.tsv"
    assert _parsed(commands.report(SOURCE, ["a.tsv", "b.tsv"], "r.html", ["ra", "rb"]))["out"] == ("a.tsv", "b.tsv")


def test_settings_are_toml_whatever_stands_in_them():
    source = Source(paths=("x",), reading=Reading(columns={'a"b': "c\\d\x7f\n"}), prepare='none"')
    read = tomllib.loads(commands.settings(source, OFFERS["suppress_rare"], {"k": "3"}))
    assert read == {"k": 3, "prepare": 'none"', "columns": {'a"b': "c\\d\x7f\n"}}


def test_names_that_look_like_something_else():
    source = Source(paths=("/x",), shown=("-x y.tsv",), reading=Reading(columns={"user": "us,er=x", "query": 'a"b'}))
    said = _parsed(commands.inspect(source))
    assert said["log"] == ("./-x y.tsv",)
    assert columns_of(said["columns"]) == source.reading.columns
    offer = OFFERS["suppress_rare"]
    assert _parsed(commands.anonymize(source, offer, {"k": "3"}, "out.tsv"))["log"] == ("./-x y.tsv",)
    settings = tomllib.loads(commands.settings(source, offer, {"k": "3"}))
    assert columns_of(columns_as_text(settings["columns"])) == source.reading.columns
    assert _parsed(commands.verify("-r.tsv", None))["out"] == "./-r.tsv"


def test_a_crontab_ends_no_line_at_a_percent_sign():
    line = commands.nightly(Source(paths=("/logs/50% off.tsv",)), OFFERS["suppress_rare"], Path("/a%b"), "tsv", "s")
    assert re.findall(r"(?<!\\)%", line) == []
    words = shlex.split(line.replace("\\%", "%"))[5:]
    assert words[:3] == ["cd", "/a%b", "&&"]
    assert words[words.index("-o") - 1] == "/logs/50% off.tsv"


def test_names_of_files_that_were_dropped_are_those_of_their_owner():
    source = Source(paths=("/private/0a1b/log.tsv",), shown=("my log.tsv",), kept=False)
    assert commands.inspect(source) == "coterie inspect 'my log.tsv'"
