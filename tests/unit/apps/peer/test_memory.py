"""Repeats are answered from memory."""

from coterie.apps.peer.memory import Answer, Memory
from coterie.apps.peer.results import Result


def _answer():
    return Answer(results=(), through_friend=False)


def test_repeats():
    memory, answer = Memory(), _answer()
    assert memory.recall("a") is None
    memory.keep("a", answer)
    assert memory.recall("a") is answer
    assert 0 <= answer.age < 60


def test_the_page_opened_last_stays_known():
    memory, answer = Memory(), _answer()
    memory.keep("a", answer)
    memory.opened(answer.token, "https://a.example/")
    memory.opened("nothing", "https://b.example/")
    newer = _answer()
    memory.keep("a", newer)
    assert memory.recall("a").opened == "https://a.example/"
    memory.opened(answer.token, "https://c.example/")  # from a page that is still open
    assert memory.recall("a").opened == "https://c.example/"


def test_the_one_not_used_for_longest_goes():
    memory, answers = Memory(most=2), [_answer() for _ in range(3)]
    memory.keep("a", answers[0])
    memory.keep("b", answers[1])
    memory.recall("a")
    memory.keep("c", answers[2])
    assert len(memory) == 2
    assert memory.recall("b") is None
    memory.opened(answers[1].token, "https://a.example/")
    assert answers[1].opened is None


def test_long_answers_push_others_out():
    long = Result("https://a.example/", "t" * 50, "x" * 40)
    memory = Memory(most_letters=250)
    for query in "abc":
        memory.keep(query, Answer(results=(long,), through_friend=True))
    assert [query for query in "abc" if memory.recall(query)] == ["b", "c"]
    memory.keep("c", Answer(results=(long,), through_friend=True))  # once more is not twice
    assert [query for query in "abc" if memory.recall(query)] == ["b", "c"]
    memory.keep("d", Answer(results=(long, long, long), through_friend=True))
    assert len(memory) == 0
