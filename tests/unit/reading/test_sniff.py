"""Every format says how sure it is; the surest one reads the file, whoever ships it."""

import sys
import types
from pathlib import Path

import pytest

import coterie
from coterie.core import registry
from coterie.core.shapes import QUERIES
from coterie.errors import InputError
from coterie.formats import sureness
from coterie.reading.sniff import Head, sure_of
from coterie.testing import check_format


@pytest.fixture
def third_party(monkeypatch):
    """Formats of other packages, by name and module."""

    def third_party(**modules):
        points = [type("Point", (), {"name": name, "module": module}) for name, module in modules.items()]
        monkeypatch.setattr(registry, "_entry_points", lambda kind: points if kind == "formats" else [])

    return third_party


@pytest.mark.parametrize("name", registry.names("formats"))
def test_each_sample_has_one_surest_format(name):
    head = Head(registry.module("formats", name).sample.splitlines())
    sure = {each: sure_of(registry.module("formats", each), head) for each in registry.names("formats")}
    most = max(sure.values())
    assert [each for each, value in sure.items() if value == most] == [name]


def test_a_format_of_a_third_party_is_sniffed_and_passes_the_examination(third_party, write):
    third_party(session_lines="tests.helpers.session_lines")
    check_format("session_lines")
    log = coterie.read(write("log.txt", "1\tQ\t17\t0\tblue,teapot\n1\tC\t17\t3\t99\n1\tQ\t17\t9\ttea\n"))
    assert log.to_polars()["query"].to_list() == ["blue teapot", "tea"]


def test_its_name_is_that_of_its_entry_point(third_party, write):
    third_party(theirs="tests.helpers.session_lines")
    path = write("log.txt", "1\tQ\t17\t0\tblue,teapot\n" * 5 + "damaged\n" * 5)
    with pytest.raises(InputError, match="could not be read as theirs"):
        coterie.read(path)


def test_two_formats_that_are_equally_sure_are_an_error_that_says_what_to_do(third_party, write):
    third_party(ours="tests.helpers.session_lines", theirs="tests.helpers.session_lines")
    path = write("log.txt", "1\tQ\t17\t0\tblue,teapot\n")
    with pytest.raises(InputError, match=r"log\.txt could be of the formats ours and theirs\. .*with format"):
        coterie.read(path)
    assert coterie.read(path, format="ours").to_polars().height == 1


def test_sureness_grows_with_the_lines_that_fit():
    assert sureness("^a", []) == 0
    assert sureness("^a", ["b", "a", "a"]) == 0, "the first line decides whether it is a candidate"
    assert sureness("^a", ["a", "b", "b"]) == 0.7
    assert sureness("^a", ["a", "a"]) == 0.9
    assert sureness("^a", ["a"] * 20 + ["b"] * 80) == 0.9, "only the first lines are looked at"


def test_lines_after_the_first_tell_two_formats_apart(write):
    """The first query of this Excite log is a time, so that the line could also be AOL's."""
    path = write(
        "log.txt", "0123456789ABCDEF\t970916105432\t2006-03-01 10:00:00\n0123456789ABCDEF\t970916105433\ttea\n"
    )
    assert coterie.read(path).to_polars()["query"].to_list() == ["2006-03-01 10:00:00", "tea"]


def test_a_table_is_the_last_resort(write):
    """A line of AOL's log in which somebody searched for the word that tables have in their header."""
    path = write("log.txt", "17\tquery\t2006-03-01 10:00:00\t\t\n17\ttea\t2006-03-01 10:00:01\t\t\n")
    assert coterie.read(path).to_polars()["query"].to_list() == ["query", "tea"]


@pytest.mark.parametrize("answer", [KeyError("blue,teapot"), "blue,teapot", None, 2, -1, float("nan")])
def test_a_format_that_fails_is_left_out_and_breaks_no_other(answer, third_party, write, monkeypatch, caplog):
    def sniff(head):
        if isinstance(answer, Exception):
            raise answer
        return answer

    broken = types.ModuleType("broken")
    broken.sniff = sniff
    monkeypatch.setitem(sys.modules, "broken", broken)
    third_party(session_lines="tests.helpers.session_lines", broken="broken", missing="there.is.no.such.module")
    log = coterie.read(write("log.txt", "1\tQ\t17\t0\tblue,teapot\n"))
    assert log.to_polars().height == 1
    assert [record.name for record in caplog.records] == ["coterie", "coterie"]
    assert "format broken" in caplog.text
    assert "format missing" in caplog.text
    assert "teapot" not in caplog.text


def test_a_format_of_others_that_fails_while_it_reads_is_not_our_fault(third_party, write, monkeypatch):
    def load(source, options):
        raise KeyError("teapot")

    broken = types.ModuleType("broken")
    broken.__dict__.update(sniff=lambda head: 1.0, load=load, shape=QUERIES, expected={}, sample="x\n")
    monkeypatch.setitem(sys.modules, "broken", broken)
    third_party(broken="broken")
    with pytest.raises(InputError, match="the format broken, which is not part of Coterie, failed") as raised:
        coterie.read(write("log.txt", "teapot\n"))
    assert "teapot" not in str(raised.value)


def test_a_file_is_opened_once_to_find_its_format(write, monkeypatch):
    opened = []
    path, open_path = write("log.tsv", registry.module("formats", "aol").sample), Path.open

    def open_counted(self, *args, **kwargs):
        opened.append(self)
        return open_path(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", open_counted)
    assert coterie.read(path).to_polars().height == 3
    assert opened.count(path) == 1


def test_lines_are_looked_at_where_the_first_files_have_none(write):
    write("a.tsv", "")
    write("b.tsv", "\n\n")
    line = "17\tblue teapot\t2020-02-03 09:00:00\n"
    write("c.tsv", line * 40)
    assert coterie.read(write("d.tsv", "").parent / "*.tsv").to_polars().height == 40
