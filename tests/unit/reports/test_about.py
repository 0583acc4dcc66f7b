"""What people say of a release: read from a file, asked for, and refused where it makes no sense."""

import pytest

from coterie.errors import InputError, MissingError
from coterie.reports.about import About, Thresholds, ask, read_about


def _file(tmp_path, text):
    path = tmp_path / "about.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file(tmp_path):
    text = 'name = "Library"\nnext_review = 2027-03-01\ndate = "1 March"\n[thresholds]\nlinkability = 5\n'
    about = read_about(_file(tmp_path, text))
    assert (about.name, about.next_review, about.date) == ("Library", "2027-03-01", "1 March")
    assert about.thresholds.of("linkability") == 5
    assert about.thresholds.of("singling out") is None
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
