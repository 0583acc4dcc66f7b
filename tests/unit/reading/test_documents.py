"""Documents of every kind, and what becomes of those that cannot be read.

Covers: taxonomies/lexicon.py
"""

import csv
import gzip
import io
import json
import logging
import os
import tarfile
import zipfile

import polars as pl
import pytest
import zstandard

import coterie
from coterie.core import files
from coterie.core.shapes import TERMS
from coterie.errors import InputError, MissingError, ParameterError
from coterie.reading.formats import documents
from coterie.taxonomies import load

TEA = "The teapots are on the table. Tea, tea and tea! My mother's cup is on the table."
TRAIN = "A train leaves the station. Two trains are late."
TEA_VECTOR = {"tea": 3 / 8, "table": 2 / 8, "cup": 1 / 8, "mother": 1 / 8, "teapot": 1 / 8}
TRAIN_VECTOR = {"train": 2 / 5, "leaf": 1 / 5, "station": 1 / 5, "two": 1 / 5}
PAGE = """<!doctype html><html><head><title>Teapots</title><style>p { color: horse }</style>
<script>var dog = "<p>cat</p>";</script></head>
<body><p>A&nbsp;cup</p><p>table</p><!-- monkey --><br/>te<b>a</b></body>"""


def vectors(log, *names):
    """The vector of each document, by its name."""
    rows = log.frame.collect()
    assert rows.select("doc", "term").is_duplicated().sum() == 0
    found = {doc: dict(part.select("term", "weight").iter_rows()) for (doc,), part in rows.group_by("doc")}
    return found if not names else [found[name] for name in names]


def zipped(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), data)
    return path


def tarred(path, members, mode="w"):
    with tarfile.open(path, mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "corpus"
    (place / "drink").mkdir(parents=True)
    (place / "go").mkdir()
    (place / "drink" / "a.txt").write_text(TEA)
    (place / "go" / "b.md").write_text(TRAIN)
    return place


# vectors


def test_terms_are_nouns_in_their_base_form_with_their_share(folder):
    log = coterie.read(folder)
    assert log.shape is TERMS
    assert vectors(log) == {"drink/a.txt": TEA_VECTOR, "go/b.md": TRAIN_VECTOR}
    assert log.history[0].counts == {"lines": 2, "bad": 0, "terms": 9}
    assert log.history[0].notes == ()


def test_the_most_frequent_terms_stay_ties_in_alphabetical_order(folder):
    log = coterie.read(folder, terms=3)
    assert vectors(log, "drink/a.txt") == [{"tea": 3 / 8, "table": 2 / 8, "cup": 1 / 8}]


def test_short_words_are_left_out(folder):
    assert set(vectors(coterie.read(folder, min_length=4))["drink/a.txt"]) == {"table", "mother", "teapot"}


def test_words_with_digits_and_stop_words_are_no_terms(write):
    texts = {"a": "the 1st of 12 cups b2b www", "b": "cup"}
    lines = "".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items())
    assert vectors(coterie.read(write("d.jsonl", lines))) == {"a": {"cup": 1.0}, "b": {"cup": 1.0}}


def test_all_words(folder, write):
    found = vectors(coterie.read(folder, words="all"), "go/b.md")[0]
    assert found == {"train": 2 / 6, "late": 1 / 6, "leaf": 1 / 6, "station": 1 / 6, "two": 1 / 6}
    path = write("d.jsonl", '{"id": "1", "text": "Der Zug war spät, der Zug nach Köln am Abend im Regen mit dem Hund"}')
    log = coterie.read(path, words="all")
    assert {"zug", "koln", "regen"} <= set(vectors(log)["1"])
    assert log.history[0].notes == ()
    with pytest.raises(ParameterError, match="words must be 'nouns' or 'all'"):
        coterie.read(path, words="verbs")


@pytest.mark.parametrize("number", [0, -1, True, 1.5, "5", 10**9])
@pytest.mark.parametrize("name", ["terms", "min_length"])
def test_wrong_numbers_are_refused(folder, name, number):
    with pytest.raises(ParameterError, match=f"{name} must be a whole number from 1 to"):
        coterie.read(folder, **{name: number})


def test_the_numbers_are_part_of_the_reading(folder):
    logs = [coterie.read(folder), coterie.read(folder, terms=3), coterie.read(folder, min_length=4)]
    assert len({log.digest for log in logs}) == 3
    assert logs[1].settings == {"terms": 3, "min_length": 3, "words": "nouns"}


def test_batches_do_not_change_the_answer(folder, monkeypatch):
    whole = coterie.read(folder).to_polars()
    monkeypatch.setattr(documents, "_DOCUMENTS", 1)
    assert coterie.read(folder).to_polars().equals(whole)


def test_bases_of_words():
    words = pl.Series(["cats", "cat", "mice", "glass", "foxes", "firemen", "xyzzy", "ponies", "quickly"])
    expected = ["cat", "cat", "mouse", "glass", "fox", "fireman", None, "pony", None]
    assert load("wordnet").lexicon.bases(words).to_list() == expected


# where documents are


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress], ids=["tar", "tar.gz", "tar.zst"])
@pytest.mark.parametrize("mode", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_tar(tmp_path, pack, mode):
    long = "x" * 150 + "/é.txt"
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=mode) as archive:
        for name, text in {"./a.txt": TEA, long: TRAIN}.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    path = tmp_path / "corpus.bin"
    path.write_bytes(pack(plain.getvalue()))
    assert vectors(coterie.read(path)) == {"a.txt": TEA_VECTOR, long: TRAIN_VECTOR}


def test_zip(tmp_path):
    path = zipped(tmp_path / "corpus.zip", a_txt=TEA, go__b_md=TRAIN)
    assert vectors(coterie.read(path)) == {"a.txt": TEA_VECTOR, "go/b.md": TRAIN_VECTOR}


def test_a_glob_and_several_files(folder):
    log = coterie.read(f"{folder}/*/*")
    assert vectors(log, f"{folder}/drink/a.txt", f"{folder}/go/b.md") == [TEA_VECTOR, TRAIN_VECTOR]
    several = coterie.read([folder / "go" / "b.md", folder / "drink" / "a.txt"])
    assert vectors(several) == vectors(log)


def test_several_folders_and_archives(folder, tmp_path):
    path = zipped(tmp_path / "corpus.zip", a_txt=TEA)
    log = coterie.read([folder, path])
    assert set(vectors(log)) == {f"{folder}/drink/a.txt", f"{folder}/go/b.md", f"{path}/a.txt"}


@pytest.mark.parametrize("name", ["d.jsonl", "d.jsonl.gz", "d.csv", "d.csv.gz", "d.tsv"])
def test_tables(write, name):
    rows = [("7", TEA, "ann"), ("8", TRAIN, "bob")]
    if ".jsonl" in name:
        text = "".join(json.dumps({"id": int(i), "text": t, "owner": o, "more": []}) + "\n\n" for i, t, o in rows)
    elif name.endswith(".tsv"):
        text = "id\ttext\towner\n" + "".join("\t".join(row) + "\n" for row in rows)
    else:
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([("id", "text", "owner"), *rows])
        text = out.getvalue().replace(TRAIN, '"' + TRAIN.replace(". ", ".\r\n") + '"')
    log = coterie.read(write(name, text))
    assert vectors(log) == {"7": TEA_VECTOR, "8": TRAIN_VECTOR}
    assert dict(log.frame.select("doc", "owner").unique().collect().iter_rows()) == {"7": "ann", "8": "bob"}


def test_columns_of_a_table_are_named(write):
    path = write("d.csv", f'key,body\n1,"{TEA}"\n2,{TRAIN}\n')
    assert vectors(coterie.read(path, columns={"doc": "key", "text": "body"}))["2"] == TRAIN_VECTOR
    assert set(vectors(coterie.read(path, columns={"text": "body"}))) == {"d.csv#2", "d.csv#3"}
    for wrong in ({"text": "nothing"}, {"text": "body", "user": "key"}):
        with pytest.raises(InputError, match="columns="):
            coterie.read(path, columns=wrong)
    with pytest.raises(InputError, match="no column 'text'"):
        coterie.read(path, format="documents")


def test_a_csv_with_semicolons(write):
    path = write("d.csv", f"id;text\n1;{TEA}\n2;{TRAIN}\n")
    assert set(vectors(coterie.read(path))) == {"1", "2"}


def test_a_long_text_in_csv(write):
    limit = csv.field_size_limit()
    path = write("d.csv", f'id,text\n1,"{"tea " * 100_000}"\n2,cup\n')
    assert vectors(coterie.read(path)) == {"1": {"tea": 1.0}, "2": {"cup": 1.0}}
    assert csv.field_size_limit() == limit


def test_standard_input(monkeypatch):
    data = json.dumps({"id": "1", "text": TEA}).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert vectors(coterie.read("-")) == {"1": TEA_VECTOR}


SMART = """.I 1
.T
Tea, tea
.A
Horse, A.
.W
tea on the table and the
table of a cup, a mother, a teapot
.X
5 monkey 1
.I 2
.W
train
"""


def test_smart_records(write, tmp_path):
    assert vectors(coterie.read(write("med.all", SMART))) == {
        f"{tmp_path}/med.all#1": TEA_VECTOR,
        f"{tmp_path}/med.all#2": {"train": 1.0},
    }
    path = tarred(tmp_path / "all.tar", {"./med.all": SMART.encode(), "cacm.all": b".I 9\n.T\ncup\n"})
    log = coterie.read(path)
    assert set(vectors(log)) == {"med.all#1", "med.all#2", "cacm.all#9"}
    assert log.history[0].counts["lines"] == 3


# texts


def test_web_pages_without_scripts_styles_and_comments(write):
    path = write("p/a.html", PAGE)
    assert set(vectors(coterie.read(path))[str(path)]) == {"teapot", "cup", "table"}


@pytest.mark.parametrize(
    ("page", "terms"),
    [
        ("<script>cup", set()),
        ("tea<!-- cup", {"tea"}),
        ("<style><script></style>tea<p>cup", {"tea", "cup"}),
        ("<SCRIPT a='1'>cup</Script >tea", {"tea"}),
        ("<svg/>tea", {"tea"}),
        ("<p<p>cup", {"cup"}),
        ("&#xffffffff; cup <!-", {"cup"}),
        ("<![endif]>tea<?xml version='1'?>", {"tea"}),
        ("a < tea, cup<", {"tea", "cup"}),
        ("tea <p cup", {"tea"}),
    ],
)
def test_odd_web_pages(write, page, terms):
    log = coterie.read([write("p/a.html", page), write("p/b.html", "horse")])
    assert set(vectors(log).get(str(log.sources[0]), {})) == terms
    assert log.history[0].counts["bad"] == 0


@pytest.mark.parametrize(
    ("data", "latin"),
    [("\ufeffcafé tea".encode(), 0), ("café tea".encode("utf-16"), 0), ("café tea".encode("latin-1"), 1)],
)
def test_encodings(write, data, latin):
    log = coterie.read([write("p/a.txt", data), write("p/b.txt", "cup")])
    assert vectors(log)[str(log.sources[0])] == {"cafe": 0.5, "tea": 0.5}
    assert log.history[0].counts.get("latin_1", 0) == latin
    assert len(log.history[0].notes) == latin


def pdf(*pages):
    """A small PDF, written by hand."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for page in pages:
        content = f"BT /F1 12 Tf 10 10 Td ({page}) Tj ET".encode()
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + end


def test_pdf(write, monkeypatch):
    path = write("p/a.pdf", pdf("Tea and tea", "a train"))
    assert vectors(coterie.read(path)) == {str(path): {"tea": 2 / 3, "train": 1 / 3}}
    monkeypatch.setitem(__import__("sys").modules, "pypdf", None)
    with pytest.raises(MissingError, match=r"coterie\[documents\]"):
        coterie.read(path)


def test_nothing_is_said_about_what_is_in_a_pdf(write, caplog):
    odd = write("p/odd.pdf", pdf("tea").replace(b"startxref", b"startxxxx").replace(b"%%EOF", b"%%E"))
    coterie.read([odd, write("p/a.txt", "cup")], format="documents", allow_bad=True)
    assert not caplog.records
    assert logging.getLogger("pypdf").getEffectiveLevel() <= logging.WARNING


# what cannot be read


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("bad.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary"),
        ("bad.md", bytes(range(1, 32)) * 9, "binary"),
        ("bad.txt", b"\xff\xfe\x00", "binary"),
        ("bad.pdf", b"%PDF-1.4 and nothing else", "damaged"),
        ("bad.html", b"\0", "binary"),
    ],
)
def test_bad_documents_are_told_by_number(folder, name, data, reason):
    (folder / "drink" / name).write_bytes(data)
    with pytest.raises(InputError, match=rf"1 of 3 documents could not be .*corpus document 2, {reason} \("):
        coterie.read(folder)
    log = coterie.read(folder, allow_bad=True)
    assert set(vectors(log)) == {"drink/a.txt", "go/b.md"}
    assert log.history[0].counts == {"lines": 3, "bad": 1, "terms": 9}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"id": "1", "text": "tea"}', "id"),
        ('{"id": " ", "text": "tea"}', "id"),
        ('{"text": "tea"}', "id"),
        ('{"id": "2"}', "text"),
        ('{"id": "2", "text": ["tea"]}', "text"),
        ("[]", "columns"),
        ("{", "columns"),
    ],
)
def test_bad_lines_of_tables(write, line, reason):
    path = write("d.jsonl", '{"id": "1", "text": "tea cup"}\n' + line + "\n")
    with pytest.raises(InputError, match=rf"d\.jsonl document 2, {reason} \("):
        coterie.read(path)
    assert set(vectors(coterie.read(path, allow_bad=True))) == {"1"}


def test_documents_that_are_too_large(folder, monkeypatch):
    monkeypatch.setattr(documents, "MOST_BYTES", 60)
    with pytest.raises(InputError, match="document 1, large"):
        coterie.read(folder)


def test_what_is_counted_and_left_out(folder):
    (folder / "empty.txt").write_text(" \n")
    (folder / "numbers.txt").write_text("12 13 14")
    (folder / "copy.txt").write_text(TEA)
    (folder / "de.txt").write_text(
        "Der Zug war spät und wir haben am Bahnhof lange auf den Mann mit dem Hund gewartet."
    )
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / "more.zip").write_bytes(b"PK")
    (folder / ".hidden.txt").write_text(TEA)
    (folder / ".git").mkdir()
    (folder / ".git" / "a.txt").write_text(TEA)
    (folder / "link.txt").symlink_to(folder / "copy.txt")
    log = coterie.read(folder)
    assert set(vectors(log)) == {"copy.txt", "de.txt", "drink/a.txt", "go/b.md"}
    counts = dict(log.history[0].counts)
    assert counts.pop("terms") == log.to_polars().height == log.rows_read
    assert counts == {"lines": 6, "bad": 0, "empty": 2, "other_language": 1, "copies": 1}
    notes = " ".join(log.history[0].notes)
    for part in (
        "Documents without any noun of WordNet, which were left out: 2.",
        "so that their vectors say little: 1.",
        "Documents that have the same text as another one: 1.",
        "Not read: 1 files of other kinds, 1 archives within, 1 links, 2 hidden files.",
    ):
        assert part in notes
    assert set(log.sources) == {path.absolute() for path in files.files_in(folder)}


def test_a_folder_without_documents(tmp_path):
    (tmp_path / "a.csv").write_text("query\nx\n")
    with pytest.raises(InputError, match="is a folder"):
        coterie.read(tmp_path)
    with pytest.raises(InputError, match=r"no documents to read\. Not read: 1 files of other kinds"):
        coterie.read(tmp_path, format="documents")


def test_a_folder_of_logs_is_not_taken_for_documents(tmp_path):
    (tmp_path / "log.txt").write_text("AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n1\tx\t2006-03-01 00:00:00\t\t\n")
    with pytest.raises(InputError, match=r"looks like logs \(aol\)"):
        coterie.read(tmp_path)
    assert coterie.read(f"{tmp_path}/*").shape.name == "QUERIES"


def test_a_single_text_is_no_corpus_unless_it_is_said(write):
    path = write("a.txt", TEA)
    with pytest.raises(InputError, match="none of the known formats"):
        coterie.read(path)
    assert vectors(coterie.read(path, format="documents")) == {str(path): TEA_VECTOR}


def test_texts_without_any_noun_are_refused(write):
    path = write("d.jsonl", '{"id": "1", "text": "и в на"}\n{"id": "2", "text": ""}\n')
    with pytest.raises(InputError, match="none of 2 documents has a word that is a noun of WordNet"):
        coterie.read(path)


# archives that mean harm


def test_names_and_links_lead_nowhere(tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for name, kind in (("../../up.txt", None), ("/etc/x.txt", None), ("link.txt", tarfile.SYMTYPE)):
            info = tarfile.TarInfo(name)
            if kind is not None:
                info.type, info.linkname = kind, "/etc/passwd"
                archive.addfile(info)
            else:
                info.size = 3
                archive.addfile(info, io.BytesIO(b"tea"))
        pipe = tarfile.TarInfo("pipe.txt")
        pipe.type = tarfile.FIFOTYPE
        archive.addfile(pipe)
    before = set(tmp_path.rglob("*"))
    log = coterie.read(path)
    assert set(vectors(log)) == {"../../up.txt", "/etc/x.txt"}
    assert "1 links" in log.history[0].notes[-1]
    assert set(tmp_path.rglob("*")) == before
    linked = tmp_path / "a.zip"
    with zipfile.ZipFile(linked, "w") as archive:
        info = zipfile.ZipInfo("link.txt")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
        archive.writestr("../../up.txt", "tea")
    assert set(vectors(coterie.read(linked))) == {"../../up.txt"}


def test_nested_archives_are_counted(tmp_path):
    inner = zipped(tmp_path / "inner.zip", a_txt=TEA).read_bytes()
    log = coterie.read(zipped(tmp_path / "outer.zip", a_txt=TRAIN, inner_zip=inner))
    assert set(vectors(log)) == {"a.txt"}
    assert "1 archives within" in log.history[0].notes[-1]


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_bombs_are_refused(tmp_path, monkeypatch, kind):
    bomb = b"tea " * 100_000
    if kind == "zip":
        path = zipped(tmp_path / "a.zip", a_txt=bomb)
    else:
        path = tarred(tmp_path / "a.tar.gz", {"a.txt": bomb}, "w:gz")
    assert vectors(coterie.read(path)) == {"a.txt": {"tea": 1.0}}
    monkeypatch.setattr(files, "MOST_UNPACKED", 10_000)
    monkeypatch.setattr(files, "MOST_TIMES", 2)
    with pytest.raises(InputError, match="unpacks to more than"):
        coterie.read(path)


def test_what_stands_between_members_is_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "_BETWEEN", 4_096)
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("a.txt")
        info.pax_headers = {"comment": "x" * 100_000}
        archive.addfile(info)
    with pytest.raises(InputError, match="damaged or cut off"):
        coterie.read(path)


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_archives_that_are_cut_off(tmp_path, kind):
    members = {f"{n}.txt": os.urandom(3_000).hex().encode() for n in range(5)}
    path = tmp_path / f"a.{kind}"
    if kind == "zip":
        zipped(path, **{name.replace(".", "_"): data for name, data in members.items()})
    else:
        tarred(path, members, "w:gz" if kind == "tar.gz" else "w")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InputError, match="damaged or cut off"):
        coterie.read(path, format="documents")


def test_members_that_cannot_be_read_are_bad(tmp_path):
    path = zipped(tmp_path / "a.zip", a_txt=TEA, b_txt=TRAIN * 9)
    data = bytearray(path.read_bytes())
    data[data.index(b"b.txt") + 20] ^= 0xFF  # within its packed text
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"a\.zip document 2, damaged"):
        coterie.read(path)
    assert set(vectors(coterie.read(path, allow_bad=True))) == {"a.txt"}


def test_encrypted_members_are_bad(tmp_path):
    path = zipped(tmp_path / "a.zip", a_txt=TEA, b_txt=TRAIN)
    data = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.rindex(mark) + at] |= 1
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match="document 2, encrypted"):
        coterie.read(path)


def test_texts_in_memory():
    table = pl.DataFrame({"id": [1, 2], "text": [TEA, TRAIN], "owner": ["ann", None], "more": [0, 0]})
    log = coterie.log(table)
    assert vectors(log) == {"1": TEA_VECTOR, "2": TRAIN_VECTOR}
    assert log.settings == {"terms": 100, "min_length": 3, "words": "nouns"}
    assert set(vectors(coterie.log(table, terms=2), "1")[0]) == {"tea", "table"}
    named = coterie.log(table.rename({"id": "key", "text": "body"}), {"doc": "key", "text": "body"})
    assert vectors(named) == vectors(log)
    with pytest.raises(InputError, match="1 of 2 rows cannot become a TERMS row; the first is row 1, column 'id'"):
        coterie.log(table.with_columns(id=1))
