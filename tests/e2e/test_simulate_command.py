"""`coterie simulate` from the command line.

Covers: lab/simulate/cli.py
"""

import json

import pytest

QUICK = ("--measure", "exposure", "--measure", "simattack", "--seed", "7")


def test_a_table_and_a_folder(coterie, log, tmp_path):
    done = coterie(
        "simulate", log, "--protocol", "friends", "--topology", "ba", "--degree", "4", *QUICK, "-o", tmp_path / "out"
    )
    assert "true_past.recall" in done.out
    assert "Numbers: " in done.err
    assert json.loads((tmp_path / "out" / "simulation.json").read_text())["parameters"]["topology"] == "ba"
    again = coterie("simulate", log, *QUICK, "-o", tmp_path / "out", code=2)
    assert "scores.csv" in again.err


def test_json_is_repeatable(coterie, log):
    run = ("simulate", log, "--protocol", "uup", "--group", "4", *QUICK, "--json")
    one, other = (json.loads(coterie(*run).out) for _ in range(2))
    assert one == other
    assert all(set(row) == {"name", "key", "value", "unit"} for row in one)


def test_a_seed_that_was_drawn_is_told(coterie, log):
    run = ("simulate", log, "--protocol", "uup", "--measure", "simattack", "--json")
    one = coterie(*run)
    (told,) = [line for line in one.err.splitlines() if "repeats this simulation" in line]
    assert coterie(*run, "--seed", told.split()[1]).out == one.out


def test_a_parameter_of_another_protocol_is_refused(coterie, log):
    done = coterie("simulate", log, "--protocol", "unlinkable", "--degree", "4", code=2)
    assert "unlinkable has no parameter --degree" in done.err
    assert "Did you mean 'friends'" in coterie("simulate", log, "--protocol", "freinds", code=2).err


def test_what_was_left_out_is_said(coterie, log):
    done = coterie("simulate", log, "--protocol", "unlinkable", "--answer-repeats", "--seed", "7")
    assert "Left out: unmix: it is about friends" in done.err


@pytest.fixture
def canaries(tmp_path):
    rows = [(f"qzuser{n}", f"qzquery {n % 3}", f"http://qzpage{n}.example") for n in range(12) for _ in range(4)]
    lines = [f"{user}\t{query}\t2017-04-13 08:09:{i:02}\t1\t{url}\n" for i, (user, query, url) in enumerate(rows)]
    path = tmp_path / "log.tsv"
    path.write_text("AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n" + "".join(lines))
    return path


@pytest.mark.parametrize(
    ("edges", "code"),
    [
        ("qzuser0 qzuser1\nqzuser1 qzuser1\nqzuser1 qzuser0\nqzstranger qzuser2\n", 0),
        ("qzuser0 qzuser1\nqzalone\n", 2),
        ("qzother qzstranger\n", 2),
        ("", 2),
    ],
)
def test_no_value_is_shown_whatever_the_list_is(coterie, canaries, tmp_path, edges, code):
    path = tmp_path / "friends.txt"
    path.write_text(edges)
    out = tmp_path / "out"
    done = coterie("simulate", canaries, "--topology", path, "--nodes", "users", "--seed", "7", "-o", out, code=code)
    assert "qz" not in (done.out + done.err).lower()
    for file in out.glob("*"):
        assert "qz" not in file.read_text().lower()
    if code == 0:
        assert "People of the list who are not in the log, left out: 1." in done.err
        assert "Users without friends, who submit their queries themselves: 10." in done.err


def test_a_network_that_is_too_small(coterie, canaries, tmp_path):
    path = tmp_path / "friends.txt"
    path.write_text("a b\nb c\n")
    done = coterie("simulate", canaries, "--topology", path, code=2)
    assert "3 people with friends, and the log 12 users" in done.err
    coterie("simulate", canaries, "--topology", path, "--users", "3", *QUICK)
