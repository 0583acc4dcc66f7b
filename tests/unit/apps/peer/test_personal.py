"""What looks like personal data, and questions that wait."""

import pytest

from coterie.apps.peer import meter
from coterie.apps.peer.meter import Questions, looks_like


@pytest.mark.parametrize(("query", "what"), [
    ("anna@example.org", "e-mail address"),
    ("call 555-867-5309 now", "phone number"),
    ("12 main street", "street address"),
    ("x" * 2001, "a very long text"),
    ("ａｎｎａ＠ｅｘａｍｐｌｅ．ｏｒｇ", "e-mail address"),
    ("５５５-８６７-５３０９", "phone number"),
])  # fmt: skip
def test_what_is_found(query, what):
    assert what in looks_like(query)


def test_what_is_not():
    assert looks_like("red tea cups 2024") == ()


def test_a_token_works_once():
    questions = Questions()
    token = questions.ask("a")
    assert token != questions.ask("a")
    assert questions.answered(token) == "a"
    assert questions.answered(token) is None
    assert questions.answered("nothing") is None


def test_questions_end(monkeypatch):
    questions, now = Questions(), meter.time.monotonic()
    token = questions.ask("a")
    monkeypatch.setattr(meter.time, "monotonic", lambda: now + meter.SECONDS + 60)
    assert questions.answered(token) is None
    for _ in range(200):
        last = questions.ask("b")
    assert len(questions) == 50
    assert questions.answered(last) == "b"
