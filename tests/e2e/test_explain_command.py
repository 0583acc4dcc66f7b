"""`coterie explain affinity` from the command line; values only where they are asked for."""

import json

import pytest

HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"
TIME = "2017-04-13 08:09:37"


@pytest.fixture
def canaries(tmp_path):
    """Eight people who ask the same, and one who asks it with a word more; a query that stands alone."""
    rows = [(f"u{n}", "qzphone qzcase") for n in range(8)] + [("u8", "qzcase qzphone qzcase"), ("u9", "qzalone")]
    path = tmp_path / "log.tsv"
    path.write_text(HEADER + "".join(f"{user}\t{query}\t{TIME}\t\t\n" for user, query in rows))
    (tmp_path / "queries.txt").write_text("QZphone  qzcase\n\nqzcase qzphone qzcase\nqzalone\nqznever\n")
    return tmp_path


def test_the_numbers(coterie, canaries):
    done = coterie("explain", "affinity", canaries / "log.tsv", "--query-file", canaries / "queries.txt", "--json")
    rows = json.loads(done.out)
    assert all(set(row) == {"name", "key", "value", "unit"} for row in rows)
    found = {row["key"]: row["value"] for row in rows}
    assert [found[f"1.{key}"] for key in ("in_log", "users", "degree", "covering_queries")] == [1, 8, 9, 1]
    assert [found[f"3.{key}"] for key in ("users", "degree", "covering_users", "core_order", "core_queries")] == [
        1, 9, 8, 8, 2,
    ]  # fmt: skip
    assert [found[f"4.{key}"] for key in ("in_log", "in_graph", "degree", "core_order")] == [1, 0, 1, None]
    assert [found[f"5.{key}"] for key in ("in_log", "degree")] == [0, None]


def test_nothing_is_shown_unless_asked(coterie, canaries):
    base = ("explain", "affinity", canaries / "log.tsv", "--query-file", canaries / "queries.txt")
    for more in ((), ("--json",), ("--picture", canaries / "a.svg"), ("--picture", canaries / "a.html")):
        done = coterie(*base, *more)
        assert "qz" not in (done.out + done.err).lower()
    assert "not in log" in coterie(*base).out
    for name in ("a.svg", "a.html"):
        assert "qz" not in (canaries / name).read_text().lower()


def test_values_on_request(coterie, canaries):
    base = ("explain", "affinity", canaries / "log.tsv", "--query-file", canaries / "queries.txt", "--show-values")
    assert "qzalone" in coterie(*base).out
    assert {row["label"] for row in json.loads(coterie(*base, "--json").out)} >= {"qzphone qzcase", "qznever"}
    coterie(*base, "--picture", canaries / "a.svg")
    assert "qzphone qzcase" in (canaries / "a.svg").read_text()


def test_theta_is_the_methods(coterie, canaries):
    """Alone at θ = 1, where only equal vectors are affine; strict gives a rare word the degree 0."""
    base = ("explain", "affinity", canaries / "log.tsv", "--query-file", canaries / "queries.txt", "--json")
    found = {row["key"]: row["value"] for row in json.loads(coterie(*base, "--theta", "1", "--strict").out)}
    assert found["4.degree"] == 0
    assert found["1.degree"] >= 8


def test_the_whole_log(coterie, canaries):
    """Numbers only, also with --show-values; a picture needs a query to start from."""
    found = {
        row["key"]: row["value"]
        for row in json.loads(coterie("explain", "affinity", canaries / "log.tsv", "--json").out)
    }
    assert [found[key] for key in ("users", "queries", "queries.in_graph", "queries.rare_word")] == [10, 3, 2, 1]
    assert [found[f"degree.{key}"] for key in ("1.queries", "1.higher", "5_to_9.mean")] == [2, 50, 9]
    shown = coterie("explain", "affinity", canaries / "log.tsv", "--show-values")
    assert "component.largest" in shown.out
    assert "qz" not in shown.out + shown.err
    done = coterie("explain", "affinity", canaries / "log.tsv", "--picture", canaries / "a.svg", code=2)
    assert "--query-file" in done.err


def test_function_words(coterie, canaries):
    """A list of one's own, or none; the words are no concepts by themselves."""
    (canaries / "words.txt").write_text("QZphone")
    counts = {}
    for words in ("english", "none", canaries / "words.txt"):
        done = coterie("explain", "affinity", canaries / "log.tsv", "--json", "--function-words", words)
        counts[str(words)] = {row["key"]: row["value"] for row in json.loads(done.out)}["concepts.words.1"]
    assert list(counts.values()) == [2, 2, 1]
    done = coterie("explain", "affinity", canaries / "log.tsv", "--function-words", "german", code=2)
    assert "'english', 'none' or the path of a file" in done.err
    base = ("anonymize", "affinity", canaries / "log.tsv", "--k", "3", "--function-words", canaries / "words.txt")
    coterie(*base, "-o", canaries / "safe.tsv", "--record", canaries / "record")
    check = ("verify", canaries / "safe.tsv", "--original", canaries / "log.tsv")
    coterie(*check, "--record", canaries / "record")
    assert "function words" in coterie(*check, code=3).out
    assert "words.txt" in (canaries / "safe.tsv.json").read_text()
    assert str(canaries) not in (canaries / "safe.tsv.json").read_text()


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("", (), "no query in it"),
        ("qzalone\n", ("--picture", "x.svg"), "nothing to draw"),
        ("qzalone\n", ("--picture", "x.jpg"), ".svg, .png or .html"),
        ("qzalone\n", ("--picture", "log.tsv"), ".svg, .png or .html"),
        ("qzalone\n", ("--theta", "2"), "theta"),
    ],
)
def test_errors(coterie, canaries, monkeypatch, text, more, message):
    monkeypatch.chdir(canaries)
    (canaries / "queries.txt").write_text(text)
    done = coterie("explain", "affinity", "log.tsv", "--query-file", "queries.txt", *more, code=2)
    assert message in done.err
    assert "qz" not in done.err


def test_other_errors(coterie, canaries, monkeypatch):
    monkeypatch.chdir(canaries)
    (canaries / "bytes.txt").write_bytes(b"qz\xff\n")
    (canaries / "old.svg").write_text("")
    base = ("explain", "affinity", "log.tsv", "--query-file")
    assert "not UTF-8" in coterie(*base, "bytes.txt", code=2).err
    for missing in ("missing.txt", "."):
        assert "no such file" in coterie(*base, missing, code=2).err
    (canaries / "nobody.csv").write_text("query\nqz\n")
    assert "who asked" in coterie("explain", "affinity", "nobody.csv", code=2).err
    assert "--force" in coterie(*base, "queries.txt", "--picture", "old.svg", code=2).err
    coterie(*base, "queries.txt", "--picture", "old.svg", "--force")
    assert "Methods that it explains: affinity" in coterie("explain", "suppress_rare", "log.tsv", code=2).err
