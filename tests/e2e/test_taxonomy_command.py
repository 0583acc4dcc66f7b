"""`coterie taxonomy` from the command line."""

import json

import pytest

HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"
TIME = "2017-04-13 08:09:37"


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.tsv"
    queries = ["dogs", "dogs", "qzcanary", "qzcanary in new york"]
    path.write_text(HEADER + "".join(f"u{n}\t{query}\t{TIME}\t\t\n" for n, query in enumerate(queries)))
    return path


def scores(done):
    return {row["key"]: row["value"] for row in json.loads(done.out)}


def test_build_and_show(coterie, tmp_path):
    table, packed = tmp_path / "table.tsv", tmp_path / "tree.npz"
    table.write_text("Top/Pets/Dogs\t3\nTop/Pets/Cats\t2\nTop/World/Hunde\t1\n")
    done = coterie("taxonomy", "build", table, "-o", packed, "--without", "World")
    assert f"{packed}: 4 categories, 2 levels below the root." in done.err
    found = scores(coterie("taxonomy", "show", packed, "--json"))
    assert [found[key] for key in ("concepts", "leaves", "depth", "level_1", "level_2")] == [4, 2, 2, 1, 2]

    assert "exists" in coterie("taxonomy", "build", table, "-o", packed, code=2).err
    coterie("taxonomy", "build", table, "-o", packed, "--force")
    assert scores(coterie("taxonomy", "show", packed, "--json"))["concepts"] == 6


def test_nothing_is_left_of_a_bad_table(coterie, tmp_path):
    (tmp_path / "table.tsv").write_bytes(b"Arts\n\xff\xfe\n")
    done = coterie("taxonomy", "build", tmp_path / "table.tsv", "-o", tmp_path / "tree.npz", code=2)
    assert "line 2" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["table.tsv"]
    done = coterie("taxonomy", "build", tmp_path / "table.tsv", "-o", tmp_path / "tree.zip", code=2)
    assert ".npz" in done.err


def test_coverage(coterie, log, tmp_path):
    found = scores(coterie("taxonomy", "coverage", log, "--json"))
    # dogs, dogs | qzcanary | qzcanary, new york: three of five terms, three of four queries.
    assert found["unmapped.queries"] == pytest.approx(25)
    assert found["unmapped.distinct_queries"] == pytest.approx(100 / 3)
    assert found["level_5.terms"] == pytest.approx(60)
    assert found["level_5.queries"] == pytest.approx(75)
    assert found["level_10.queries"] == pytest.approx(50)  # New York is at level 9
    by_query = scores(coterie("taxonomy", "coverage", log, "--unit", "query", "--json"))
    assert by_query["level_5.terms"] == pytest.approx(75)

    (tmp_path / "table.tsv").write_text("Pets/Dogs\n")
    coterie("taxonomy", "build", tmp_path / "table.tsv", "-o", tmp_path / "tree.npz")
    pets = scores(coterie("taxonomy", "coverage", log, "--taxonomy", tmp_path / "tree.npz", "--json"))
    assert pets["unmapped.queries"] == pytest.approx(50)


def test_no_value_is_shown(coterie, log):
    for more in ((), ("--json",), ("--unit", "query")):
        done = coterie("taxonomy", "coverage", log, *more)
        assert "qzcanary" not in done.out + done.err
    done = coterie("taxonomy", "coverage", log, "--taxonomy", "no-such-file", code=2)
    assert "There is no taxonomy" in done.err
