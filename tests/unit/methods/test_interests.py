"""Vectors of interests: the plain formula, any language, models of others, and sensitive topics."""

from collections import Counter
from math import cos, log, log2, pi, sin, sqrt
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
import Stemmer

import coterie
from coterie.algorithms import lsa
from coterie.algorithms.kernels.grouping import UNIT
from coterie.core import registry, threads
from coterie.errors import InputError, ParameterError
from coterie.methods.interest_microaggregate import InterestMicroaggregate
from coterie.methods.interest_microaggregate import model as module
from coterie.methods.interest_microaggregate.model import InterestSettings, interests, read_topics, topic_owners
from coterie.promises.user_k_anonymity import users_with_topics
from coterie.text.language import language
from tests.helpers.runs import a_run

ROWS = [
    ("a", "gardening tips"), ("a", "garden roses"), ("a", "garden roses"), ("b", "roses for the garden"),
    ("c", "car tires"), ("c", "cars"), ("d", "tires of a car"), ("e", "погода москва"), ("f", "погода"),
    ("g", "天気"), ("h", "天気"), ("i", "the of www"), ("j", "qwxz"), ("k", "-!-"),
]  # fmt: skip


def made(rows):
    names = ["user", "query", "url"][: len(rows[0])]
    return coterie.log(pl.DataFrame(rows, schema=names, orient="row"))


def vectors_of(rows, settings=None, seed=1):
    found = interests(made(rows), a_run(seed), settings or InterestSettings(dimensions=512))
    return dict(zip(found.users, found.vectors / UNIT, strict=True))


def plain_words(rows):
    stem = Stemmer.Stemmer("english").stemWord
    users = {user: Counter() for user, _ in rows}
    for user, query in rows:
        users[user].update(
            stem(word) for word in query.replace("-", " ").split() if word not in language("english").stop_words
        )
    return users


def plain_similarity(rows, one, other, weight=0.1):
    """The cosine of tf-idf vectors and the product of the size terms; words of one user alone count for nothing."""
    users = plain_words(rows)
    having = Counter(word for words in users.values() for word in words)

    def tfidf(user):
        kept = {word: n for word, n in users[user].items() if having[word] > 1}
        return {w: (1 + log(n)) * (1 + log((1 + len(users)) / (1 + having[w]))) for w, n in kept.items()}

    x, y = tfidf(one), tfidf(other)
    length = sqrt(sum(v * v for v in x.values()) * sum(v * v for v in y.values()))
    cosine = sum(x[w] * y[w] for w in x.keys() & y.keys()) / length if length else 0
    octaves = [log2(sum(user == who for user, _ in rows)) for who in (one, other)]
    a, b = (pi / 10 * o for o in octaves)
    return cosine + weight * (cos(a) * cos(b) + sin(a) * sin(b))


def test_products_of_vectors_are_the_plain_formula():
    """With as many directions as there are, LSA changes no angle."""
    found = vectors_of(ROWS)
    for one in found:
        for other in found:
            assert found[one] @ found[other] == pytest.approx(plain_similarity(ROWS, one, other), abs=2e-3), (
                one,
                other,
            )


CLICKS = [
    ("a", "red roses", "http://www.flowers.example/roses?id=1"), ("a", "tulips", "https://flowers.example:80/"),
    ("a", "tulips", "maps.example"), ("b", "red roses", "flowers.example"), ("b", "fast cars", "http://cars.example/x"),
    ("c", "fast cars", "http://CARS.example"), ("c", "maps", "maps.example"), ("d", "trout", None),
    ("d", "trout", "http://"), ("e", "trout", "http://nobody-else.example"), ("f", "trout bait", "cars.example"),
]  # fmt: skip


def plain_similarity_with_hosts(one, other):
    """The cosine of tf-idf vectors of words at length 1 beside those of hosts at length 1/2, without the size terms."""
    words = [(user, query) for user, query, _ in CLICKS]
    hosts = [(user, (url or "").lower().split("//")[-1].split("/")[0].split(":")[0].removeprefix("www."))
             for user, _, url in CLICKS]  # fmt: skip
    clicked = {user: Counter() for user, _ in hosts}
    for user, host in hosts:
        clicked[user].update([host] if host else [])
    blocks = [(plain_words(words), 1.0), (clicked, 0.5)]
    product, lengths = 0.0, [0.0, 0.0]
    for users, weight in blocks:
        having = Counter(word for counts in users.values() for word in counts)
        sides = []
        for place, user in enumerate((one, other)):
            kept = {word: n for word, n in users[user].items() if having[word] > 1}
            found = {w: (1 + log(n)) * (1 + log((1 + len(users)) / (1 + having[w]))) for w, n in kept.items()}
            length = sqrt(sum(v * v for v in found.values()))
            sides.append({w: weight * v / length for w, v in found.items()})
            lengths[place] += weight**2 if found else 0
        product += sum(v * sides[1].get(w, 0) for w, v in sides[0].items())
    return product / sqrt(lengths[0] * lengths[1])


def test_clicked_hosts_are_words_of_half_weight():
    found = vectors_of(CLICKS, InterestSettings(dimensions=512, size_weight=0))
    for one in found:
        for other in found:
            expected = plain_similarity_with_hosts(one, other)
            assert found[one] @ found[other] == pytest.approx(expected, abs=2e-3), (one, other)


def test_hosts_count_only_where_they_are_asked_for_and_known():
    without = vectors_of([row[:2] for row in CLICKS])
    not_asked = vectors_of(CLICKS, InterestSettings(dimensions=512, hosts=False))
    unknown = vectors_of([(*row[:2], "http://") for row in CLICKS])
    asked = vectors_of(CLICKS)
    for user, vector in without.items():
        assert (vector == not_asked[user]).all()
        assert (vector == unknown[user]).all()
    assert asked["a"] @ asked["c"] > without["a"] @ without["c"] + 0.05  # no word in common, but a host


@pytest.mark.parametrize(("dimensions", "scales"), [(40, (10, 20, 40)), (33, (8, 16, 33)), (31, (15, 31)), (7, (7,))])
def test_users_are_compared_at_several_scales(dimensions, scales):
    log = coterie.prepare(coterie.read("synth:users=300,seed=3"))
    settings = InterestSettings(dimensions=dimensions, size_weight=0)
    vectors = interests(log, a_run(1), settings).vectors[:, :-2] / UNIT
    assert vectors.shape[1] == sum(scales)
    ends = np.cumsum(scales)
    parts = [vectors[:, end - scale : end] for end, scale in zip(ends, scales, strict=True)]
    for part, scale in zip(parts, scales, strict=True):
        lengths = np.linalg.norm(part, axis=1)
        assert (lengths > 0).mean() > 0.9
        assert lengths[lengths > 0] == pytest.approx(1 / sqrt(len(scales)), abs=2e-3)
        finest = parts[-1][:, :scale]
        assert part * np.linalg.norm(finest, axis=1)[:, None] == pytest.approx(finest / sqrt(len(scales)), abs=1e-3)


def test_words_of_any_language_count():
    found = vectors_of(ROWS, InterestSettings(size_weight=0))
    assert found["e"] @ found["f"] == pytest.approx(1, abs=1e-2)
    assert found["g"] @ found["h"] == pytest.approx(1, abs=1e-2)
    assert abs(found["e"] @ found["g"]) < 1e-2


def test_users_without_known_words_are_known_by_their_size():
    found = vectors_of(ROWS, InterestSettings(size_weight=0))
    for user in "ijk":  # stop words, a word of nobody else, no word
        assert (found[user] == 0).all()
    assert len(vectors_of([("a", "-"), ("b", "!")])) == 2


def test_words_that_go_together_are_similar():
    """LSA: bait and trout are never typed by the same two users, but both go with fishing."""
    rows = [(f"x{i}", query) for i in range(8) for query in ("fishing", "bait" if i % 2 else "trout")]
    rows += [(f"y{i}", query) for i in range(8) for query in ("mortgage", "rates" if i % 2 else "loans")]
    rows += [("one", "bait"), ("two", "trout"), ("three", "loans")]
    found = vectors_of(rows, InterestSettings(dimensions=2, size_weight=0))
    assert found["one"] @ found["two"] > 0.9
    assert abs(found["one"] @ found["three"]) < 0.1


def test_users_of_unlike_size_are_less_similar():
    rows = [("few", "maps"), ("two", "maps"), ("two", "maps"), *[("many", "maps")] * 3000]
    found = vectors_of(rows)
    near, far = (found["few"] @ found[other] for other in ("two", "many"))
    assert found["few"] @ found["few"] - near == pytest.approx(0.005, abs=1e-3)
    assert near - far > 0.1


def test_order_blocks_and_threads_do_not_matter(monkeypatch):
    log = coterie.prepare(coterie.read("synth:users=300,seed=3"))
    expected = interests(log, a_run(1), InterestSettings())
    monkeypatch.setattr(lsa, "_ROWS_AT_ONCE", 7)
    monkeypatch.setattr(threads.os, "cpu_count", lambda: 5)
    shuffled = log.frame.collect().sample(fraction=1, shuffle=True, seed=2)
    again = interests(made(shuffled.select("user", "query", "url").rows()), a_run(1, blocks=4), InterestSettings())
    assert again.users.equals(expected.users)
    assert (again.vectors == expected.vectors).all()


def test_directions_come_from_a_sample_that_the_seed_draws(monkeypatch):
    monkeypatch.setattr(module, "SAMPLE_USERS", 40)
    log = coterie.prepare(coterie.read("synth:users=300,seed=3"))
    one, same, other = (interests(log, a_run(seed), InterestSettings()).vectors for seed in (1, 1, 2))
    assert (one == same).all()
    assert one.shape != other.shape or (one != other).any()


def model(monkeypatch, embed):
    """A third party's model: a module behind an entry point."""
    monkeypatch.setattr(registry, "module", lambda kind, name: SimpleNamespace(embed=embed))


def test_a_model_brings_words_of_like_meaning_together(monkeypatch):
    seen = []

    def embed(words):
        seen.extend(words)
        table = {"garden": [1, 0], "roses": [0.9, 0.1], "tulips": [1, 0.1], "car": [0, 1], "cars": [0, 1]}
        return np.array([table.get(word, [0, 0]) for word in words])

    model(monkeypatch, embed)
    rows = [*ROWS, ("l", "tulips"), ("m", "cars"), ("n", "cars")]
    found = vectors_of(rows, InterestSettings(embedding="theirs", size_weight=0))
    assert found["l"] @ found["b"] > 0.4
    assert found["l"] @ found["c"] < 0
    assert (found["j"] == 0).all()
    assert "cars" in seen  # three users typed it, two the other word of its stem
    assert "car" not in seen
    assert len(set(seen)) == len(seen)


@pytest.mark.filterwarnings("error")
def test_a_model_that_knows_no_word(monkeypatch):
    def embed(words):
        if not words:
            raise ValueError("nothing to look up")
        return np.zeros((len(words), 3))

    model(monkeypatch, embed)
    assert len(vectors_of(ROWS, InterestSettings(embedding="theirs"))) == 11
    assert len(vectors_of([("a", "-"), ("b", "!")], InterestSettings(embedding="theirs"))) == 2


@pytest.mark.parametrize("table", [np.zeros((3, 2)), np.zeros(5), np.full((9, 2), np.nan)])
def test_a_model_that_does_not_fit_is_refused(monkeypatch, table):
    model(monkeypatch, lambda words: np.resize(table, (len(words), 2)) if table.shape == (9, 2) else table)
    with pytest.raises(ParameterError, match="embedding 'theirs'"):
        vectors_of(ROWS, InterestSettings(embedding="theirs"))


def test_no_model_comes_along():
    assert registry.names("embeddings") == []
    with pytest.raises(
        ParameterError, match="The 'embedding' parameter of interest_microaggregate must be one of 'none'"
    ):
        InterestMicroaggregate(embedding="wordllama")


def test_topics(tmp_path):
    path = tmp_path / "topics.txt"
    path.write_text("# what nobody should know\nplants: Rose, gardens\n\ncars # more\n: 天気\n", encoding="utf-8")
    topics = read_topics(path)
    assert len(topics) == 3
    log = made(ROWS)
    found = interests(log, a_run(1), InterestSettings())
    masks = dict(zip(found.users, topic_owners(log, found, topics, 1.0).masks[:, 0].tolist(), strict=True))
    assert masks == {"a": 1, "b": 1, "c": 2, "d": 2, "g": 4, "h": 4} | dict.fromkeys("efijk", 0)
    common = topic_owners(log, found, topics, 2 / 11)  # each is had by that share of all
    assert not common.masks.any()
    assert (common.common, common.unknown) == (3, 0)
    many = topic_owners(log, found, [*[pl.Series(["nobody"])] * 64, *topics], 1.0)
    assert many.masks.shape == (11, 2)
    assert many.masks[:, 1].tolist() == list(masks.values())
    assert not many.masks[:, 0].any()
    assert (many.common, many.unknown) == (0, 64)


def test_all_words_of_a_topic_count(tmp_path):
    """Also after a second colon, a byte order mark or an accent, and whatever their case and number."""
    path = tmp_path / "topics.txt"
    path.write_text("\ufeff@influenza\nplants: Garden: ROSES\nmore: GÄRDENS\n", encoding="utf-8")
    rows = [*ROWS, ("l", "grippe")]
    log = made(rows)
    found = interests(log, a_run(1), InterestSettings())
    masks = dict(zip(found.users, topic_owners(log, found, read_topics(path), 1.0).masks[:, 0].tolist(), strict=True))
    assert {user: mask for user, mask in masks.items() if mask} == {"a": 6, "b": 6, "l": 1}
    only_roses = [("a", "rose"), ("b", "garden")]
    found = interests(made(only_roses), a_run(1), InterestSettings())
    assert topic_owners(made(only_roses), found, read_topics(path)[1:2], 2.0).masks[:, 0].tolist() == [1, 1]


def test_topics_of_another_language(tmp_path):
    path = tmp_path / "topics.txt"
    path.write_text("Gärten\nschulden: Versicherung und\n手机\n", encoding="utf-8")
    log = made([("a", "garten"), ("b", "versicherungen für alle"), ("c", "买手机壳"), ("d", "und")])
    german = language("de")
    topics = read_topics(path, german)
    assert [topic.to_list() for topic in topics] == [["garten"], ["versicherung"], ["手机"]]
    found = interests(log, a_run(1), InterestSettings(language="de"))
    assert topic_owners(log, found, topics, 2.0).masks[:, 0].tolist() == [1, 2, 4, 0]
    judged = users_with_topics(log.frame.select("user", "query"), _table(topics), german)
    assert sorted(judged.rows()) == [(0, "a"), (1, "b"), (2, "c")]
    in_english = users_with_topics(log.frame.select("user", "query"), _table(topics), language("english"))
    assert (1, "b") not in in_english.rows(), "an ending that English does not have"


def _table(topics):
    rows = [(number, word) for number, words in enumerate(topics) for word in words]
    return pl.DataFrame(rows, schema=["topic", "word"], orient="row")


def test_a_release_in_another_language_is_judged_in_that_language(tmp_path):
    path = tmp_path / "topics.txt"
    path.write_text("versicherung\n", encoding="utf-8")
    typed = {"a": "versicherungen", "b": "versicherung", "c": "garten", "d": "gärten", "e": "haus", "f": "häuser"}
    log = coterie.prepare(made(list(typed.items())))
    method = InterestMicroaggregate(k=2, language="de", sensitive=str(path))
    release = coterie.anonymize(log, method, seed=1)
    assert release.promises[0].language == "german"
    assert "topics" in {check.name for check in release.checks if check.status == "passed"}
    coterie.write(release, tmp_path / "out.tsv", record=tmp_path / "record")
    assert coterie.verify(tmp_path / "out.tsv", log, record=tmp_path / "record").exit_code == 0
    groups = release.record.subjects.collect()
    assert groups.filter(pl.col("original").is_in(["a", "b"]))["group"].n_unique() == 2, "who have the topic are apart"


def test_people_share_parts_of_text_without_spaces():
    rows = [("a", "蓝茶壶"), ("b", "买茶壶"), ("c", "安静的火车"), ("d", "火车时刻")]
    vectors = vectors_of(rows, InterestSettings(size_weight=0))
    assert vectors["a"] @ vectors["b"] > 0.1 > vectors["a"] @ vectors["c"]
    assert vectors["c"] @ vectors["d"] > 0.1


def test_files_without_topics_are_refused(tmp_path):
    path = tmp_path / "topics.txt"
    path.write_text("# nothing\n the of\n")
    with pytest.raises(ParameterError, match="no words"):
        read_topics(path)
    path.write_text("roses\nhealth:\n")
    with pytest.raises(ParameterError, match=r"Line 2 .* has no words"):
        read_topics(path)
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(InputError, match="UTF-8"):
        read_topics(path)
