"""What `verify`, `measure` and `report` refuse with --engine before anything is read: no cluster says so."""

import pytest


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    from coterie import synth

    path = tmp_path_factory.mktemp("log") / "log.tsv"
    synth.write(path, 40, 7)
    return path


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["verify", "OUT"], "give --original LOG, or leave out --engine."),
        (["verify", "LOG", "-O", "LOG", "--promise", "query_k_anonymity", "-k", "2"],
         "A file without a sidecar is verified on one machine; leave out --engine."),
        (["measure", "OUT", "-O", "LOG"], "No such option '--engine'."),
        (["report", "OUT", "-O", "LOG", "-o", "page.md"], "No such option '--engine'."),
        (["verify", "OUT", "-O", "LOG", "--engine", "cluster"], "--engine is one of: spark://HOST:PORT"),
    ],
)  # fmt: skip
def test_what_needs_one_machine_says_so(coterie, small, tmp_path, words, sentence):
    out = tmp_path / "safe.tsv"
    coterie("anonymize", "suppress_rare", small, "-o", out, "-k", "2", "--history", "none")
    given = [{"OUT": out, "LOG": small}.get(word, word) for word in words]
    engine = [] if "--engine" in words else ["--engine", "spark://127.0.0.1:9"]
    assert sentence in " ".join(coterie(*given, *engine, code=2).err.split())
