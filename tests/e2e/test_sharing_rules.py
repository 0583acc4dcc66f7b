"""Rules for sharing search data on the command line: words, small units, times, and what promises nothing."""

import json

import click
import polars as pl
import pytest

from coterie import read, regimes
from coterie.cli.anonymize import anonymize


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


@pytest.fixture(scope="module")
def devices(tmp_path_factory, log):
    """The log as a table with two columns more."""
    path = tmp_path_factory.mktemp("devices") / "log.csv"
    rows = read(log).to_polars()
    place = pl.int_range(pl.len())
    wide = rows.with_columns(
        pl.when(place % 3 == 0).then(pl.lit("phone")).otherwise(pl.lit("desk")).alias("device"),
        pl.when(place % 7 == 0).then(pl.lit("fr")).otherwise(pl.lit("de")).alias("land"),
    )
    wide.write_csv(path)
    return path


def test_further_details_from_the_log_to_the_report(coterie, devices, tmp_path):
    """Thirty people for the query, five for what accompanies it with device and country, as Google has it."""
    safe, record = tmp_path / "safe.csv", tmp_path / "record"
    given = ["--details", "device,country=land", "--k", "30", "--record", record]
    done = coterie("anonymize", "regime:google_2024", devices, "-o", safe, *given)
    assert "device" in done.err
    sidecar = json.loads((tmp_path / "safe.csv.json").read_text())
    assert sidecar["details"] == ["device", "country"]
    assert sidecar["reading"]["details"] == ["device", "country=land"]
    assert "clicked page, rank, device, country and quarter" in sidecar["promises"][0]["sentence"]
    rows = pl.read_csv(safe)
    assert rows["device"].count()
    assert rows["country"].count()
    assert "The promise holds" in coterie("verify", safe, "-O", devices, "--record", record).out
    assert "one_user_share" in coterie("measure", safe, "-O", devices, "--record", record, "one_user_share").out
    coterie("report", safe, "-O", devices, "--record", record, "-o", tmp_path / "report.html")
    refused = coterie("verify", safe, "-O", devices, "--details", "device=land", code=2)
    assert "that column is the country already" in refused.err, (
        "details that are given are added to those of the sidecar"
    )


def test_details_where_they_cannot_be(coterie, devices, log, tmp_path):
    out = tmp_path / "safe.tsv"
    refused = coterie("anonymize", "microaggregate", devices, "-o", out, "--details", "device", code=2)
    assert "releases no further details (device)" in refused.err
    assert "affinity, allowlist, generalize, suppress_rare, unprotected" in refused.err
    refused = coterie("anonymize", "suppress_rare", devices, "-o", tmp_path / "safe.ubi", "--details", "device", code=2)
    assert "QUERIES with device. Write another kind." in refused.err
    refused = coterie("anonymize", "suppress_rare", log, "-o", out, "--details", "device", code=2)
    assert "the table has no column of that name" in refused.err
    kept = ["--state", tmp_path / "state", "-o", tmp_path / "parts"]
    refused = coterie("append", "suppress_rare", devices, *kept, "--details", "device", code=2)
    assert "Leave out --details" in refused.err
    assert not out.exists()


def test_exact_times_and_a_finest_time_are_not_had_at_once(coterie, log, tmp_path):
    """Also not where what is said is the default: nobody could tell that it was not heeded."""
    for times in ("day", "month"):
        refused = coterie(
            "anonymize", "suppress_rare", log, "-o", tmp_path / "x.tsv", "--attrs", "keep", "--times", times, code=2
        )
        assert "keeps times as they were logged" in refused.err
    coterie("anonymize", "suppress_rare", log, "-o", tmp_path / "x.tsv", "--attrs", "keep")


def test_a_shell_completes_regimes():
    context = click.Context(anonymize)
    offered = [item.value for item in anonymize.shell_complete(context, "regime:")]
    assert offered == [f"regime:{name}" for name in regimes.names()]
    assert "regime:mozilla" in [item.value for item in anonymize.shell_complete(context, "")]
    assert "suppress_rare" in [item.value for item in anonymize.shell_complete(context, "s")]
