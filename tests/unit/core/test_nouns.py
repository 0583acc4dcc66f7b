import pytest

from coterie.core.scores import score_table
from coterie.core.shapes import COUNTS, QUERIES, TERMS, VISITS
from coterie.core.wording import in_words_of, scores_in_words_of


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Users whose queries nobody typed.", "Visitors whose pages nobody requested."),
        ("A user's searches, each query once", "A visitor's requests, each page once"),
        ("what users searched for", "what visitors requested"),
        ("when a person searched", "when a person visited"),
        ("% of users", "% of visitors"),
        ("In the research on query logs a user counts", "In the research on query logs a visitor counts"),
        ("the query string and search terms", "the query string and search terms"),
        ("{queries.count} of {users} users", "{queries.count} of {users} visitors"),
        ("after.queries, query_k_anonymity, --user-field, users=drop, users = drop", None),
        ("queries.", "pages."),
        ("usernames and requery", None),
    ],
)
def test_an_access_log_has_visitors_and_pages(text, said):
    assert in_words_of(VISITS, text) == (text if said is None else said)
    assert in_words_of(QUERIES, text) == text
    assert in_words_of(COUNTS, text) == text, "nobody is in it"


def test_documents_have_terms():
    assert in_words_of(TERMS, "Users and their queries") == "Documents and their terms"
    assert in_words_of(TERMS, "half of a person's searches") == "half of a document's terms"
    assert in_words_of(TERMS, "most queries are typed by one user") == "most terms are written by one document"


def test_keys_for_people():
    keys = ["before.one_query", "rows_without_user", "queries.count", "rows"]
    scores = score_table([("measure", key, 1.0, "rows") for key in keys])
    shown = ["before.one_page", "rows_without_visitor", "pages.count", "rows"]
    assert scores_in_words_of(VISITS, scores)["key"].to_list() == shown
    assert scores_in_words_of(QUERIES, scores).equals(scores)
    assert scores_in_words_of(COUNTS, scores).equals(scores)
    assert scores_in_words_of(VISITS, scores.clear()).height == 0
