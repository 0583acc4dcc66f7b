"""Reports and scores of files: how far they are, which measures are taken, and that they can be made again."""

import json

import pytest

import coterie
from coterie import jobs, synth
from coterie.errors import InputError, UnknownNameError
from coterie.measures.comparison import Store
from coterie.methods.microaggregate import Microaggregate
from coterie.methods.suppress_rare import SuppressRare
from coterie.reports.about import About
from tests.helpers.tasks import how


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("measuring")
    synth.write(folder / "log.tsv", 12, 7)
    log = coterie.prepare(coterie.read(folder / "log.tsv"))
    coterie.write(coterie.anonymize(log, Microaggregate(k=3), seed=7), folder / "out.tsv", record=folder / "record")
    return folder


def _page_at(to, options):
    return jobs.Page(to=to, about=options.pop("about", None))


def _report(files, to, **options):
    out, log, records = [str(files / "out.tsv")], [str(files / "log.tsv")], [files / "record"]
    jobs.report_files(out, log, _page_at(to, options), records=records, **how(**options))
    return json.loads(to.read_text())


NAMES = ("linkage", "release_share")


def test_a_report_says_how_far_it_is(files, tmp_path):
    told = []
    _report(files, tmp_path / "r.json", names=NAMES, progress=lambda *step: told.append(step))
    shares = [step[1] for step in told if step[0] == "measure"]
    assert shares[0] == 0
    assert shares[-1] == 1
    assert shares == sorted(shares)
    assert len(set(shares)) >= 2 * len(NAMES)  # the release and its random groups
    assert [step[0] for step in told if step[0] not in ("measure", "verify")] == ["read", "draw"]


def test_measures_can_be_chosen_and_the_sheet_is_complete(files, tmp_path):
    data = _report(files, tmp_path / "r.json", names=NAMES)
    assert {score["name"] for score in data["releases"][0]["scores"]} == {*NAMES, "personal_data"}
    with pytest.raises(UnknownNameError, match="linkage"):
        _report(files, tmp_path / "other.json", names=["linkag"])


def test_the_same_report_again(files, tmp_path):
    about = About(date="2026-01-01")
    pages = [_report(files, tmp_path / f"{n}.json", names=NAMES, about=about) for n in range(2)]
    assert pages[0] == pages[1]


def test_what_was_measured_before_is_the_same(files, tmp_path):
    about, store = About(date="2026-01-01"), Store(tmp_path / "cache")
    pages = [_report(files, tmp_path / f"{n}.json", names=NAMES, about=about, store=store) for n in range(2)]
    plain = _report(files, tmp_path / "plain.json", names=NAMES, about=about)
    assert pages[0] == pages[1] == plain
    assert len(list(store.folder.iterdir())) == 2 * (len(NAMES) + 1)


def test_scores_say_how_far_they_are(files):
    told = []
    given = {"names": ["linkage", "mass"], "record": files / "record", "progress": lambda *step: told.append(step)}
    jobs.measure_file(str(files / "out.tsv"), [str(files / "log.tsv")], **how(**given))
    assert told == [("read",), ("measure",), ("measure", 0.0), ("measure", 0.75)]


# --- the original: the log as it was read, and as each release prepared it --------------------------


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    """Twelve people who asked for the same things, and three of them for addresses; with a session in each row."""
    folder = tmp_path_factory.mktemp("addresses")
    asked = [(f"p{person}", f"thing {person % 3 + number % 2}") for person in range(12) for number in range(4)]
    asked += [(f"p{person}", f"p{person}@example.org") for person in range(3)]
    lines = [f"{user},s{number},{query}" for number, (user, query) in enumerate(asked)]
    (folder / "log.csv").write_text("\n".join(["user_id,session_id,query", *lines]) + "\n")
    for column in ("user_id", "session_id"):
        log = coterie.read(folder / "log.csv", columns={"user": column, "query": "query"})
        for steps in ("default", "default,scrub"):
            release = coterie.anonymize(coterie.prepare(log, steps), SuppressRare(k=3), seed=7)
            coterie.write(release, folder / f"{column}.{steps}.tsv")
    return folder


def _page(folder, to, *names, **options):
    names = [str(folder / f"{name}.tsv") for name in names]
    jobs.report_files(
        names, [str(folder / "log.csv")], jobs.Page(to=to, about=About(date="2026-01-01")),
        names=["personal_data", "release_share"], **options,
    )  # fmt: skip
    return json.loads(to.read_text())


def test_the_original_is_the_log_before_any_step(addresses, tmp_path):
    data = _page(addresses, tmp_path / "r.json", "user_id.default,scrub")
    assert data["log"]["rows"] == 51
    assert data["decision"]["data"]["Prepared by"] == "normalize, drop_empty, scrub (left out: 3 of 51 rows)"
    counted = data["decision"]["identifiability"][0]["personal_data"][0]
    assert (counted["before"], counted["after"]) == ("3", "0")


def test_each_release_is_compared_with_the_log_as_it_was_prepared_for_it(addresses, tmp_path):
    """Whatever stands beside it, and in whatever order."""
    names = ["user_id.default", "user_id.default,scrub"]
    alone = [_page(addresses, tmp_path / f"{place}.json", name) for place, name in enumerate(names)]
    both = _page(addresses, tmp_path / "both.json", *names)
    turned = _page(addresses, tmp_path / "turned.json", *names[::-1])
    for place in range(2):
        scores = alone[place]["releases"][0]["scores"]
        assert both["releases"][place]["scores"] == turned["releases"][1 - place]["scores"] == scores
        lines = alone[place]["decision"]["identifiability"][0]["lines"]
        assert both["decision"]["identifiability"][place]["lines"] == lines
    assert both["log"] == turned["log"]
    assert "scrub (left out: 3 of 51 rows)" in both["decision"]["data"]["Prepared by"]


@pytest.mark.parametrize("turn", [1, -1])
def test_releases_of_a_log_that_was_read_in_two_ways_share_no_page(addresses, tmp_path, turn):
    names = ["user_id.default", "session_id.default"][::turn]
    with pytest.raises(InputError, match="read in different ways"):
        _page(addresses, tmp_path / "r.json", *names)
    loaded = [coterie.load_release(addresses / f"{name}.tsv") for name in names]
    log = coterie.read(addresses / "log.csv", columns={"user": "user_id", "query": "query"})
    with pytest.raises(InputError, match="read in different ways"):
        coterie.report(loaded, original=log, to=tmp_path / "r.json")


def test_a_log_that_was_prepared_otherwise_is_refused(addresses, tmp_path):
    log = coterie.read(addresses / "log.csv", columns={"user": "user_id", "query": "query"})
    release = coterie.load_release(addresses / "user_id.default.tsv")
    with pytest.raises(InputError, match="Give the log as it was read"):
        coterie.report(release, original=coterie.prepare(log, "default,scrub"), to=tmp_path / "r.json", names=["mass"])
