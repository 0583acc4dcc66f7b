"""A witness of one rare query: what `users` changes, on a synthetic log."""

import pytest

import coterie
from coterie.methods.affinity import Affinity


@pytest.fixture(scope="module")
def learnt():
    log = coterie.prepare(coterie.read("synth:users=300,seed=7"))
    scores_by_users = {}
    for users in ("drop", "session", "pseudonym"):
        release = coterie.anonymize(log, Affinity(k=2, users=users), seed=1)
        scores = coterie.measure(log, release, ["witness"], seed=1)
        scores_by_users[users] = {key: value for _, key, value, *_ in scores.iter_rows()}
    return scores_by_users


def test_the_raw_log_gives_everybody_away(learnt):
    assert learnt["drop"]["before.unique"] > 80
    assert learnt["drop"]["before.share"] > 80


def test_pseudonyms_are_risky_sessions_less_and_nothing_is_read_without_names(learnt):
    shares = [learnt[users]["after.share"] for users in ("drop", "session", "pseudonym")]
    assert shares[0] == 0
    assert 0 < shares[1] < shares[2] / 2
    assert shares[2] < learnt["pseudonym"]["before.share"]
    assert learnt["pseudonym"]["after.unique"] > 5
