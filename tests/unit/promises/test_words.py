"""The words of promises: no edition changes, the newest says everything, and no text of it is dead."""

import hashlib
import json
from dataclasses import MISSING, fields
from itertools import combinations, product

import pytest

from coterie.core import registry
from coterie.core.params import Choice, Flag, Several, params_of
from coterie.errors import ParameterError
from coterie.promises import _words
from coterie.promises.none import None_
from coterie.promises.query_k_anonymity import QueryKAnonymity
from tests.helpers.hand_made import DIGEST

DIGESTS = {
    1: "23b62e455159b4bc65da24be4cf71a1148277ec161699a8e3c177ed05b611106",
    2: "de91dfc1cb8dc2c957d047304138f2b54501c29b87cb3acea1d62a169f9463b1",
}
"""Of all that an edition says. Whoever changes a digest that was released makes releases out there "not checked"."""
CHANGED = (
    "The words of edition {0} are not what they were, and releases out there have them. Put new words into a new file, "
    "as coterie/promises/_words.py says."
)
GRID = {
    "attrs": ["common", "keep", "drop"],
    "count_items": [10, 500],
    "counts": [0.2, 0.0],
    "days": ["", "2020-01-01", True, False],
    "delta": [1e-6, 0.25],
    "details": ["", "device", "device,country", "by", "none", "referrer,browser,hour,day", "method", "status,bytes"],
    "entities": ["words", "detect"],
    "epsilon": [1.0, 3.14159],
    "function_words": ["english", "none", DIGEST],
    "items": ["queries", "words", "phrases", "clicks"],
    "k": [5, 1, 2, 3, 1000],
    "k_details": ["k", 2, 60],
    "labels": ["", "wordnet", DIGEST],
    "language": ["english", "german"],
    "link_minutes": [30, 1, 7, 60],
    "link_queries": [3, 1],
    "m": [2, 1, 3, "all"],
    "max_words": [10, 1],
    "mechanism": ["table", "wgm", "sips", "korolova"],
    "min_term_users": [2, 1, 9],
    "min_users": [0, 3],
    "order": ["lines", "times"],
    "owners": [False, True],
    "paper_compat": [False, True],
    "paths": ["prefix", "exact"],
    "phrases": [False, True],
    "queries_per_user": [16, 1],
    "session_minutes": [30, 1, 7, 60],
    "shape": ["QUERIES", "VISITS"],
    "size": ["users", "queries"],
    "strict": [False, True],
    "tables": ["pages,landing,pairs,referrers,days,browsers,lengths", "none", "hours", "pages,browsers", "lengths"],
    "taxonomy": ["wordnet", DIGEST],
    "term_documents": [2, 3],
    "theta": [0.9, 1, 0.125],
    "times": ["day", "", "drop", "quarter", "month", "week", "hour"],
    "topic_share": [0.5, 0.125, 1],
    "topics": ["", DIGEST],
    "users": ["drop", "mini", "session", "day", "pseudonym"],
    "visitors": [True, False],
    "window": ["all", "30d"],
}
"""Values of each number. Those that come later stay out of what an earlier edition can say."""
NAMES = registry.names("promises")


def _of(cls):
    """Promises of a class with each two of its numbers at all values of the grid."""
    numbers = [field.name for field in fields(cls)]
    base = {field.name: GRID[field.name][0] for field in fields(cls) if field.default is MISSING}
    seen = set()
    for some in combinations(numbers, 2) if len(numbers) > 1 else [tuple(numbers)]:
        for values in product(*(GRID[name] for name in some)):
            try:
                promise = cls(**{**base, **dict(zip(some, values, strict=True))})
            except ParameterError:
                continue
            if promise not in seen:
                seen.add(promise)
                yield promise


def _said(edition):
    """All that an edition says, a line for each promise with the numbers that it knows."""
    for name in NAMES:
        known = _words._texts(edition)["promises"].get(name, {}).get("numbers", ())
        for promise in _of(registry.member("promises", name)):
            if words := _words.words_in(edition, promise):
                numbers = {number: getattr(promise, number) for number in known}
                yield json.dumps([name, numbers, words.headline, words.sentence, words.limits, words.foreign])


def test_no_edition_changes():
    assert sorted(DIGESTS) == list(range(1, _words.EDITION + 1))
    for edition, digest in DIGESTS.items():
        assert _words.has_edition(edition)
        lines = sorted(set(_said(edition)))
        assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == digest, CHANGED.format(edition)


@pytest.mark.parametrize("name", NAMES)
def test_the_newest_edition_has_words_for_every_promise(name):
    cls = registry.member("promises", name)
    assert _words._texts(_words.EDITION)["promises"][name]["numbers"] == [field.name for field in fields(cls)]
    for param in params_of(cls):
        rule, values = param.rule, GRID[param.name]
        if type(rule) is Choice:
            assert set(rule.options) <= set(values), "the grid lacks a value"
        if isinstance(rule, Several):
            assert set(rule.options) <= {word for text in values for word in str(text).split(",")}
        if isinstance(rule, Flag):
            assert {True, False} <= set(values)
    for promise in _of(cls):
        assert _words.words_in(_words.EDITION, promise), promise


def test_every_text_of_the_newest_edition_is_said(monkeypatch):
    spoken, say = set(), _words._Filled.said

    def said(self, text):
        spoken.add(text)
        return say(self, text)

    monkeypatch.setattr(_words._Filled, "said", said)
    assert sum(1 for _ in _said(_words.EDITION)) > 2_000
    texts = _words._texts(_words.EDITION)
    own = [text for each in texts["promises"].values() for name, text in each.items() if name != "numbers"]
    joins = ("by", "each", "list", "between", "last", "none")
    for text in texts["texts"].values():
        lists = isinstance(text, dict) and "by" not in text
        own += (
            [text]
            if isinstance(text, str)
            else [t for key, t in text.items() if key != "by" and not (lists and key in joins)]
        )
    written = {text for each in own for text in ([each] if isinstance(each, str) else each)}
    assert written - spoken == set()


def test_a_promise_that_an_edition_does_not_have():
    class Unknown(QueryKAnonymity):
        name = "of_another_package"

    assert _words.words_in(1, Unknown(k=3)) is None
    with pytest.raises(LookupError, match="has no words for this of_another_package"):
        _ = Unknown(k=3).sentence


def test_names_of_columns_are_no_commands():
    """A further detail may be called as the editions' own keys, or as a text."""
    for details in ("by", "else", "by,else", "kept_too", "k,details"):
        said = " and ".join(details.split(","))
        assert f"The same goes for {said}." in QueryKAnonymity(k=3, attrs="keep", details=details).sentence
        assert f"The same goes for {said}." in None_(details=details).sentence
