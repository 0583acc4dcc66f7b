"""Rules for sharing search data on the command line: words, small units, times, and what promises nothing."""

import json


def test_allowlist_with_its_own_words(coterie, log, tmp_path):
    """`--words` is how documents are read elsewhere, and the method's parameter here."""
    safe, record = tmp_path / "safe.tsv", tmp_path / "record"
    settings = ["--words", "1", "--k-details", "3", "--users", "mini", "--link-queries", "2", "--times", "month"]
    done = coterie("anonymize", "allowlist", log, "-o", safe, *settings, "--window", "90d", "--record", record)
    assert "were typed by one person alone" in done.err
    assert "Rows are linked in small units: up to 2 queries" in done.err
    sidecar = json.loads((tmp_path / "safe.tsv.json").read_text())
    assert sidecar["parameters"]["words"] == 1
    assert sidecar["promises"][0]["headline"] == "k = 5, m = 1"
    assert "The promise holds" in coterie("verify", safe, "--original", log, "--record", record).out
    assert "names" in coterie("verify", safe, "--original", log, code=3).out


def test_words_from_a_file(coterie, log, tmp_path):
    config = tmp_path / "rule.toml"
    config.write_text('words = "all"\nk = 3\nusers = "day"\ntimes = "drop"\n')
    coterie("anonymize", "allowlist", log, "-o", tmp_path / "safe.tsv", "--config", config)
    sidecar = json.loads((tmp_path / "safe.tsv.json").read_text())
    assert (sidecar["parameters"]["words"], sidecar["parameters"]["times"]) == ("all", "drop")


def test_what_promises_nothing_is_asked_for_as_such(coterie, log, tmp_path):
    bare = tmp_path / "bare.tsv"
    refused = coterie("anonymize", "unprotected", log, "-o", bare, code=2)
    assert "--promise none" in refused.err
    assert not bare.exists()
    done = coterie("anonymize", "unprotected", log, "-o", bare, "--promise", "none", "--prepare", "default,scrub,names")
    assert "Nothing is promised about the people in this file" in done.err
    verified = coterie("verify", bare, "--original", log, code=3)
    assert "there is nothing that could hold" in verified.out
    refused = coterie("anonymize", "suppress_rare", log, "-o", tmp_path / "safe.tsv", "--promise", "none", code=2)
    assert "leave out --promise" in refused.err
