"""What people say of a release: read from a file, asked for, and refused where it makes no sense."""

import datetime

import pytest

import coterie
from coterie.errors import InputError, MissingError, ParameterError
from coterie.reports.about import About, Thresholds, as_about, ask, read_about, with_policy


def _file(tmp_path, text):
    path = tmp_path / "about.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file(tmp_path):
    text = 'name = "Library"\nnext_review = 2027-03-01\ndate = "1 March"\n[thresholds]\nlinkability = 5\n'
    about = read_about(_file(tmp_path, text))
    assert (about.name, about.next_review, about.date) == ("Library", "2027-03-01", "1 March")
    assert about.threshold("linkability") == 5
    assert about.threshold("singling out") == pytest.approx(100 / 11)
    assert about.missing == ("purpose", "recipient", "conditions", "reason", "reviewer")
    assert read_about(_file(tmp_path, "")) == About()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('porpose = "x"', "purpose"),
        ("name = 5", "text"),
        ("[thresholds]\ninference = 101", "from 0 to 100"),
        ("[thresholds]\ninference = -1", "from 0 to 100"),
        ("name = ", "not valid TOML"),
        ('policy = "lax"', "policy is one of default, internal"),
    ],
)
def test_what_is_refused(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        read_about(_file(tmp_path, text))


def test_no_file(tmp_path):
    with pytest.raises(MissingError, match="no such file"):
        read_about(tmp_path / "none.toml")
    with pytest.raises(InputError):
        read_about(tmp_path)


def test_only_what_is_missing_is_asked_for():
    asked = []

    def answer(question):
        asked.append(question)
        return " an answer " if "purpose" not in question and "for" in question else ""

    about = ask(About(name="Library", reviewer="B", thresholds=Thresholds(inference=3)), answer)
    assert len(asked) == 5
    assert about.name == "Library"
    assert about.purpose == "an answer"
    assert about.recipient == ""
    assert about.thresholds.inference == 3


def test_where_thresholds_come_from():
    about = with_policy(About(thresholds=Thresholds(inference=3)), "internal")
    assert about.threshold("singling out") == pytest.approx(100 / 3)
    assert about.threshold("inference") == 3
    assert "1 in 3" in about.policy_says
    assert "Given by hand (--about): inference." in about.policy_says
    assert "does not by itself make a release lawful" in about.policy_says
    every = About(thresholds=Thresholds(singling_out=1, linkability=1, inference=1))
    assert "1 in" not in every.policy_says
    assert with_policy(None, None) == About()
    with pytest.raises(ParameterError, match="default, internal"):
        with_policy(None, "lax")


def test_a_dictionary_is_taken_like_the_file():
    about = as_about({"name": "Library", "next_review": datetime.date(2027, 3, 1), "thresholds": {"linkability": 5}})
    assert about == About(name="Library", next_review="2027-03-01", thresholds=Thresholds(linkability=5))
    assert as_about(None) is None
    assert as_about(about) is about
    with pytest.raises(InputError, match="about: unknown key 'porpose'"):
        as_about({"porpose": "x"})


def test_what_is_no_dictionary_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(ParameterError, match=r"TOML file, or a dictionary with the same keys \(name, purpose"):
        coterie.report(None, original=None, to=tmp_path / "r.html", about=["name"])
