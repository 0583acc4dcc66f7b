import gzip

import polars as pl
import pytest

from coterie.errors import InputError, MissingError, ParameterError
from coterie.measures.inputs import read_topics, topics_of

DOCUMENTS = pl.Series(["sport/1.txt", "a/b/2.txt", "cacm.all#7", "3.txt"])


def test_topics_by_names():
    assert read_topics("names") == "names"
    found = topics_of(DOCUMENTS, "names")
    assert dict(found.iter_rows()) == {"sport/1.txt": "sport", "a/b/2.txt": "a/b", "cacm.all#7": "cacm.all"}


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl", "t.csv.gz"])
def test_topics_from_a_file(tmp_path, name):
    text = {
        "csv": 'doc,topic,more\n 3.txt,tea,x\nsport/1.txt,"ball, bat",\n',
        "tsv": "topic\tid\ntea\t3.txt\nball, bat\tsport/1.txt\n",
        "jsonl": '{"id": "3.txt", "topic": "tea"}\n{"id": "sport/1.txt", "topic": "ball, bat"}\n',
    }[name.split(".")[1]]
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    found = topics_of(DOCUMENTS, read_topics(path))
    assert found.rows() == [("3.txt", "tea"), ("sport/1.txt", "ball, bat")]


def test_what_cannot_be_read(tmp_path):
    for text, message in (
        ("doc,x\n1,2\n", "have a column 'topic'"),
        ("topic\n1\n", "'doc' or 'id'"),
        ("doc,topic\n1,a\n1,b\n", "2 lines of topics say different things"),
        ("doc,topic\n1,a,b,c\n", "cannot be read as a table of topics"),
    ):
        path = tmp_path / "t.csv"
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            read_topics(path)
    with pytest.raises(MissingError, match="no such file"):
        read_topics(tmp_path / "nothing.csv")
    with pytest.raises(InputError, match="Topics are read from"):
        read_topics(tmp_path / "t.xml")
    with pytest.raises(ParameterError, match="not int"):
        read_topics(7)
