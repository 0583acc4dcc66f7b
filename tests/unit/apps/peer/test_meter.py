"""The meter against the formula."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.apps.peer.meter import ALPHA, Meter
from coterie.errors import InputError
from coterie.text.language import keywords_of, language

ENGLISH = language("english")
QUERIES = st.lists(st.sampled_from(["tea", "cup", "red", "the", "rome", "cat"]), max_size=5).map(" ".join)


def _plain(query, past):
    """The formula, word for word."""
    words = keywords_of(query, ENGLISH)
    sets = [known for each in past if (known := keywords_of(each, ENGLISH))]
    if not words or not sets:
        return 0.0
    s = sorted(len(words & known) / math.sqrt(len(words) * len(known)) for known in sets)
    value = s[0]
    for each in s[1:]:
        value = ALPHA * each + (1 - ALPHA) * value
    return value


@given(QUERIES, st.lists(QUERIES, max_size=60))
def test_the_formula(query, past):
    meter = Meter(ENGLISH)
    for each in past:
        meter.add(each)
    assert meter.of(query) == pytest.approx(_plain(query, past), abs=1e-9)


@given(QUERIES, st.lists(QUERIES, min_size=3, max_size=30))
def test_only_the_last_ones_count(query, past):
    meter = Meter(ENGLISH, most=3)
    for each in past:
        meter.add(each)
    kept = [each for each in past if keywords_of(each, ENGLISH)][-3:]
    assert len(meter) == len(kept)
    assert meter.of(query) == pytest.approx(_plain(query, kept), abs=1e-9)


def test_nothing_is_stored_unless_a_file_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Meter(ENGLISH).add("red tea")
    assert not list(tmp_path.iterdir())


def test_a_file_goes_on_where_it_stopped(tmp_path):
    file = tmp_path / "past"
    Meter(ENGLISH, file=file).add("the red tea")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_text() == "red tea\n"
    again = Meter(ENGLISH, file=file)
    assert again.of("red tea") == 1.0


def test_files_that_cannot_be_used(tmp_path):
    file = tmp_path / "past"
    file.write_text("red tea\n")
    file.chmod(0o644)
    with pytest.raises(InputError, match="Others may read"):
        Meter(ENGLISH, file=file)
    file.chmod(0o600)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="no text"):
        Meter(ENGLISH, file=file)
    with pytest.raises(InputError, match="cannot be used for --past"):
        Meter(ENGLISH, file=tmp_path / "no" / "past")
    (tmp_path / "link").symlink_to(file)
    with pytest.raises(InputError, match="cannot be used for --past"):
        Meter(ENGLISH, file=tmp_path / "link")
