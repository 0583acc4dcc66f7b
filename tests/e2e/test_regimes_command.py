"""Regimes on the command line: listed, shown, run and changed; the sidecar says which one it was."""

import html
import json

import pytest

from coterie import regimes


def test_the_list_and_a_page(coterie):
    listed = coterie("regimes").out
    assert [line.split()[0] for line in listed.splitlines()] == regimes.names()
    shown = coterie("regimes", "commission_2026").out
    for part in ("words = 1", "not public", "https://", "coterie anonymize regime:commission_2026"):
        assert part in shown
    assert "No regime is called 'comission'" in coterie("regimes", "comission", code=2).err
    assert "No regime is called 'orca'" in coterie("anonymize", "regime:orca", "x", "-o", "y", code=2).err
    assert "coterie regimes orcas" in coterie("anonymize", "regime:orcas", "--help").out


@pytest.mark.parametrize("name", regimes.names())
def test_the_command_of_a_page_runs_as_printed(coterie, log, tmp_path, name):
    _, _, command = coterie("regimes", name).out.strip().splitlines()[-1].partition("Run it: coterie ")
    out = tmp_path / "out.tsv"
    words = [{"LOG": log, "OUT": out}.get(word, word) for word in command.split()]
    coterie(*words, "--history", "none", "-q")
    assert json.loads((tmp_path / "out.tsv.json").read_text())["regime"] == name


def test_a_release_under_a_regime(coterie, log, tmp_path):
    out = tmp_path / "shared.tsv"
    done = coterie("anonymize", "regime:orcas", log, "-o", out, "--k", "5", "--history", "none")
    assert "changed: k = 5 in place of 30" in " ".join(done.err.split())
    sidecar = json.loads((tmp_path / "shared.tsv.json").read_text())
    assert (sidecar["regime"], sidecar["changed"]) == ("orcas", ["k"])
    assert (sidecar["parameters"]["k"], sidecar["parameters"]["times"]) == (5, "drop")
    assert "The promise holds" in coterie("verify", out, "--original", log).out


@pytest.mark.parametrize(("key", "value", "code"), [("regime", "mozilla", 3), ("changed", [], 3), ("regime", "", 1)])
def test_a_sidecar_that_names_another_regime_is_found_out(coterie, log, tmp_path, key, value, code):
    out, side = tmp_path / "shared.tsv", tmp_path / "shared.tsv.json"
    coterie("anonymize", "regime:orcas", log, "-o", out, "--k", "5", "--history", "none", "-q")
    side.write_text(json.dumps({**json.loads(side.read_text()), key: value}))
    assert "sidecar" in coterie("verify", out, "--original", log, code=code).out


def test_a_plain_method_names_no_regime(coterie, log, tmp_path):
    out = tmp_path / "safe.tsv"
    coterie("anonymize", "suppress_rare", log, "-o", out, "--history", "none", "-q")
    sidecar = json.loads((tmp_path / "safe.tsv.json").read_text())
    assert (sidecar["regime"], sidecar["changed"]) == ("", [])


def test_a_regime_that_promises_nothing_says_so(coterie, log, tmp_path):
    out = tmp_path / "shared.tsv"
    arguments = ("anonymize", "regime:duckduckgo_2026", log, "-o", out, "--history", "none")
    assert "--promise none" in " ".join(coterie(*arguments, code=2).err.split())
    assert not out.exists()
    coterie(*arguments, "--promise", "none", "-q")
    sidecar = json.loads((tmp_path / "shared.tsv.json").read_text())
    assert (sidecar["regime"], sidecar["changed"]) == ("duckduckgo_2026", [])
    assert [promise["name"] for promise in sidecar["promises"]] == ["none"]
    assert sidecar["prepare"] == list(regimes.load("duckduckgo_2026").prepare)
    coterie("verify", out, "--original", log, code=3)


def test_the_report_says_which_regime_it_is_and_how_often_pieces_are_put_together(coterie, log, tmp_path):
    """The sheet has the sources, what is ours and what is unknown; the attacks have the rate of re-linking."""
    safe, record = tmp_path / "safe.tsv", tmp_path / "record"
    plain, linked = tmp_path / "plain.tsv", tmp_path / "linked"
    coterie("anonymize", "regime:commission_2026", log, "-o", safe, "--k", "3", "--record", record, "--seed", "1")
    coterie("anonymize", "suppress_rare", log, "-o", plain, "--k", "3", "--users", "day", "--record", linked)
    both = ["report", safe, plain, "-O", log, "--record", record, "--record", linked, "--measures", "relink"]
    regime = regimes.load("commission_2026")
    for name in ("report.html", "report.md"):
        coterie(*both, "-o", tmp_path / name)
        text = html.unescape((tmp_path / name).read_text()).replace("<wbr>", "").replace("\\", "")
        assert "Regime: European Commission, proposed measures in case DMA.100209" in text
        assert regime.unknown[0] in text
        assert regime.ours[0] in text
        assert all(source.url in text for source in regime.sources)
        assert "put together again" in text
        assert text.count("has the settings of the file") == 1
    coterie(*both, "-o", tmp_path / "report.json")
    told = json.loads((tmp_path / "report.json").read_text())["releases"]
    assert [each["regime"] for each in told] == [{"name": "commission_2026", "changed": ["k"]}, None]
