"""What names of columns tell about who is counted."""

import pytest

from coterie.core import wording
from coterie.reading.people import may_name_people


@pytest.mark.parametrize("name", ["user_id", "context.user.id", "user.email", "subscriber_ref", "Kundennummer", "mail"])
def test_names_that_may_name_people(name):
    assert may_name_people(name)


@pytest.mark.parametrize("name", ["user_agent", "user_query", "session_id", "user_ip", "cookie", "is_member", "uuid",
                                  "user.country", "account_type", "customer_count"])  # fmt: skip
def test_names_that_do_not(name):
    assert not may_name_people(name)


@pytest.mark.parametrize(
    ("counted", "noun"),
    [("session.id", "session"), ("idvisit,sid", "session"), ("ip", "address"), ("userToken,ip", ""), ("", "")],
)
def test_the_noun_is_that_of_all_fields(counted, noun):
    assert wording.noun_of(counted) == noun


def test_sentences_speak_of_what_is_counted():
    text = "Each query has 5 users. Users of a user_id, and a user."
    assert wording.in_place_of_people(text, "address") == (
        "Each query has 5 addresses. Addresses of a user_id, and an address."
    )
    assert wording.in_place_of_people(text, "") == text
