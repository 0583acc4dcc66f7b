"""The scrub step: what each recognizer takes and leaves, and that both versions agree.

All cases are made up or documented test numbers; the labelled real sample is only read in place.
"""

import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie.steps import scrub
from coterie.steps.scrub import RECOGNIZERS, find, kinds

YES = {
    "url_credentials": (
        "https://bob:secret@example.com/x", "ftp://u:p@host", "example.com/?password=hunter22",
        "example.com login&SessionId 84736251",
    ),
    "email": (
        "jane.doe@example.com", "mail Jane+x@mail.example.co.uk now", "jané@exämple.com",
        "jane(at)example.com", "jane[at]example.com",
    ),
    "iban": (
        "DE89 3704 0044 0532 0130 00", "gb82west12345698765432", "BE68 5390 0754 7034 bank",
    ),
    "payment_card": (
        "4111 1111 1111 1111", "2006 4111-1111-1111-1111", "378282246310005", "3782 822463 10005",
        "5555555555554444", "6011111111111117", "3056 930902 5904", "2223003122003222",
    ),
    "us_ssn": ("536-90-4399", "my ssn 536 90 4399", "536\u201390\u20134399"),
    "us_itin": ("912-90-3456",),
    "es_dni": ("54362315K", "54362315-k"),
    "es_nie": ("x-2482300-w", "X2482300W"),
    "de_idnr": ("36 574 261 809", "36574261809"),
    "fr_nir": ("2 95 10 99 126 111 93", "295109912611193"),
    "it_codicefiscale": ("rccmnl83s18d969h", "RCCMNL 83S18 D969H"),
    "nl_bsn": ("1112.22.333",),
    "gb_nino": ("AB 12 34 56 C", "ab123456c"),
    "br_cpf": ("390.533.447-05", "39053344705"),
    "cn_ric": ("360426199101010071",),
    "in_aadhaar": ("2341 2341 2346",),
    "in_pan": ("acupa7085r",),
    "kr_rrn": ("971013-9019902",),
    "mx_curp": ("boxw310820hnerxn09",),
    "be_nn": ("85.07.30-033 28",),
    "ch_ssn": ("756.9217.0769.85",),
    "pl_pesel": ("44051401359",),
    "fi_hetu": ("131052-308t",),
    "se_personnummer": ("880320-0016",),
    "dk_cpr": ("211062-5629",),
    "ca_sin": ("123-456-782",),
    "mac": ("00:1A:2B:3C:4D:5E", "00-1a-2b-3c-4d-5e"),
    "ipv4": (
        "192.0.2.1", "www.192.0.2.44", "http 192.0.2.44 8080", "192.0.2.44.",
        "c-192-0-2-44.hsd1.example.net",
    ),
    "ipv6": ("fe80::1", "2001:db8::8a2e:370:7334", "http://[2001:DB8::1]:80/"),
    "phone": (
        "212-555-0123", "(212) 555-0123", "212.555.0123", "555 010 4477", "1 212 555 0123",
        "212 - 555 - 0123", "212\u2013555\u20130123", "2125550123", "212 5550123",
        "fax212-555-0123x",
        "+44 20 7946 0958", "0044 20 7946 0958 home", "011 44 20 7946 0958", "020 7946 0958",
        "+1 (212) 555-0123", "555-0123", "call 555 0123", "06 12 34 56 78",
    ),
    "po_box": ("po box 12", "P.O. Box 77 springfield", "p.obox77", "post office box 9"),
    "address": (
        "12 main st", "860 Elm Ave springfield", "pizza 88 e 19th street", "100 n. oak blvd.",
        "12 oak court", "4500 old mill way", "512 rt 9 n", "7700 jones suite 12",
        "1950 elm ave", "1925 elm st. springfield", "hauptstrasse 12", "Hauptstraße 12a",
        "12 rue de la paix", "calle mayor 5",
    ),
    "zip4": ("90210-1234",),
    "account": ("acct 111-22-333", "1-2222-333-44", "1-2345-6789"),
    "digits": ("12345", "springfield 90210", "order00123456x"),
}  # fmt: skip

NO = {
    "url_credentials": ("http://example.com/a?b=c", "password reset", "http://example.com:80/"),
    "email": ("a@b", "user @ home", "jobs at example.com", "@handle"),
    "iban": ("DE89 3704 0044 0532 0130 01",),
    "payment_card": ("4111 1111 1111 1112", "1234567812345670", "411111111111111"),
    "us_ssn": ("000-12-3456", "666-12-3456", "536-00-4399", "078-05-1120"),
    "es_dni": ("54362315A",),
    "gb_nino": ("GB 12 34 56 C", "mp3 12 34 56 c"),
    "br_cpf": ("390.533.447-06",),
    "in_pan": ("abcde1234f",),
    "ca_sin": ("123-456-789",),
    "mac": ("00:1a:2b:3c",),
    "ipv4": ("v1.2.3", "256.1.1.1", "10.5", "1-2-3-4"),
    "ipv6": ("std::add", "std::1", "mp3::a", "12:30:45", "abc::def", "::"),
    "phone": (
        "1999-2000", "300 400 500", "boeing 747-400", "model 555-0123", "2011 04 05", "1 800",
    ),
    "po_box": ("xbox 360", "po boxes"),
    "address": (
        "80 gb hard drive", "4 wheel drive trucks", "7 days in st louis", "route 287 danbury ct",
        "2011 boston st patricks", "miracle on 34th street", "2006 iowa st football",
        "2004 four wheel drive", "5 star hotel paris", "main street", "100 street",
    ),
    "zip4": ("1234-1234", "123456-1234"),
    "account": ("2011-04-05", "09-11-2001", "10-12-06", "1999-2000", "1-2-3"),
    "digits": ("1984", "1961 1962", "3 5 7 9 11", "12,345"),
}  # fmt: skip


def table(cases: dict[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    return [(name, text) for name, texts in cases.items() for text in texts]


@pytest.mark.parametrize(("name", "text"), table(YES))
def test_fires(name: str, text: str) -> None:
    assert name in kinds(text)


@pytest.mark.parametrize(("name", "text"), table(NO))
def test_stays_silent(name: str, text: str) -> None:
    assert name not in kinds(text)


@pytest.mark.parametrize(
    "text",
    ["", "cheap flights", "2006 honda civic", "windows 95 98", "f-150 parts", "xbox 360 vs ps3",
     "10-20 percent", "9 to 5", "june 14 1999", "101 dalmatians", "mp3;wav", "?", "北京 2008"],
)  # fmt: skip
def test_ordinary_queries_are_clean(text: str) -> None:
    assert kinds(text) == ()


def test_every_recognizer_has_a_case_and_a_name_of_its_own() -> None:
    names = [r.name for r in RECOGNIZERS]
    assert len(set(names)) == len(names)
    assert set(names) == set(YES)
    assert all(r.doc for r in RECOGNIZERS)


def test_a_pattern_that_decides_alone_reads_the_same_in_both_engines() -> None:
    for recognizer in RECOGNIZERS:
        if recognizer.check is None:
            assert not re.search(r"\(\?i|\\[bdswBDSW]|\(\?[=!<]", recognizer.pattern)


def test_find_gives_the_first_kind_and_keeps_order_length_and_name() -> None:
    texts = pl.Series("query", ["cats", "12345", None, "jane@example.com 12345", "12345", ""])
    expected = [None, "digits", None, "email", "digits", None]
    assert find(texts).to_list() == expected
    assert find(texts).name == "query"
    assert find(texts).dtype == pl.String


@pytest.mark.parametrize("texts", [[], [None], ["cats"]])
def test_find_without_findings(texts: list[str | None]) -> None:
    found = find(pl.Series("query", texts, dtype=pl.String))
    assert found.dtype == pl.String
    assert found.to_list() == [None] * len(texts)


def first(text: str) -> str | None:
    return next(iter(kinds(text)), None)


def test_find_agrees_with_kinds_on_the_tables() -> None:
    texts = [text for _, text in table(YES) + table(NO)]
    assert find(pl.Series(texts)).to_list() == [first(text) for text in texts]


# Fragments that start, join and end findings, so that random strings come near the rules' edges.
FRAGMENTS = st.sampled_from(
    [text for _, text in table(YES)] + list(" .-()@:/#+?&=[],") + list("0123456789")
    + ["st", "drive", "po box", "12", "2006", "212", "555", "0123", "a", "DE89", "(at)",
       "\u017ft", "\u212a"]
)  # fmt: skip
NEAR = st.lists(FRAGMENTS, max_size=8).map("".join)


@given(st.lists(NEAR | st.text(max_size=40), max_size=20))
def test_find_agrees_with_kinds(texts: list[str]) -> None:
    assert find(pl.Series(texts, dtype=pl.String)).to_list() == [first(text) for text in texts]


@given(st.text())
def test_kinds_never_raises_and_keeps_the_fixed_order(text: str) -> None:
    order = [r.name for r in RECOGNIZERS]
    found = [order.index(kind) for kind in kinds(text)]
    assert found == sorted(found)


@pytest.mark.parametrize(
    "unit",
    ["1 ", "1", "1-", "12 a ", "a@a.", "a.", "1:", "::", "p o ", "&token", "a://:", "de89 ",
     "12 main ", "(0)", "calle a ", "strasse ", "aa11", "012-345-", "+12 34 "],
)  # fmt: skip
def test_cost_does_not_explode_with_length(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An expression that tries all ways to split such text would not come to an end on this one."""
    monkeypatch.setattr(scrub, "LONGEST", 20_000)
    text = unit * (20_000 // len(unit))
    assert kinds(text) == kinds(text[: len(text) // 2 // len(unit) * len(unit)])


@pytest.mark.parametrize("unit", ["de89 3704 0044 0532 0130 01 ", "00 1(2)3/4 ", "aa11 ", "cheap flights ", "ß "])
def test_longer_texts_are_left_out_without_a_look(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = unit * 40_000
    longest, longer = text[: scrub.LONGEST], text[: scrub.LONGEST + 1]

    def look(_: str) -> bool:
        raise AssertionError("it was looked at")

    assert find(pl.Series([longest])).to_list() == [first(longest)] != ["too_long"]
    monkeypatch.setattr(scrub, "RECOGNIZERS", [scrub.Recognizer("any", "any text", ".", look)])
    assert find(pl.Series("query", [text, None, longer, text])).to_list() == ["too_long", None, "too_long", "too_long"]
    assert kinds(longer) == kinds(text) == ("too_long",)


def test_the_step_counts_them() -> None:
    log = coterie.log(pl.DataFrame({"user": ["1", "2", "3"], "query": ["x " * 40_000, "tea", "tea"]}))
    scrubbed = coterie.prepare(log, ["scrub"])
    assert scrubbed.to_polars()["query"].to_list() == ["tea", "tea"]
    assert scrubbed.history[-1].counts == {"too_long": 1}


def test_quality_on_the_labelled_sample(real_data: Path) -> None:
    frame = pl.read_csv(real_data / "aol_pii_labelled_1000.tsv.gz", separator="\t", quote_char=None)
    frame = frame.with_row_index("row").filter(pl.col("is_pii") != "maybe")
    frame = frame.with_columns(kind=find(frame["query"])).filter(pl.col("row") % 2 == 1)
    positive = set(frame.filter(pl.col("is_pii") == "yes")["row"])
    everything = frame.filter(pl.col("kind").is_not_null())
    named = everything.filter(pl.col("kind") != "digits")
    for fired, precision, recall in ((everything, 0.72, 0.96), (named, 0.94, 0.92)):
        hits = positive & set(fired["row"])
        assert len(hits) / len(fired) >= precision
        assert len(hits) / len(positive) >= recall
