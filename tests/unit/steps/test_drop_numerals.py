"""Searches with a numeral or an @ are left out, whatever the script of the numeral."""

import polars as pl

import coterie


def test_numerals_and_at():
    queries = ["maps", "route 66", "a@b.example", "१२ rooms", "one two", "x²"]
    log = coterie.log(pl.DataFrame({"user": ["a"] * 6, "query": queries}))
    kept = coterie.prepare(log, ["drop_numerals"])
    assert kept.frame.collect()["query"].to_list() == ["maps", "one two", "x²"]
    assert kept.steps == ("drop_numerals",)
