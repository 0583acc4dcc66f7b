"""Tamperings with releases of documents; see `tamperings.py`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl

import coterie
from coterie import api
from coterie.methods.microaggregate_documents import MicroaggregateDocuments
from tests.attack.tamperings import SEED, Forgery, as_a_name, tampering, write_release

DOCUMENTS = 60
LOG, OWNED = "documents.jsonl", "owned.jsonl"


def make_releases(folder: Path) -> None:
    """Releases of terms and of concepts, and one of documents that have owners."""
    from coterie.synth.documents import documents

    table = pl.concat(documents(DOCUMENTS, 7)).select(pl.col("doc").alias("id"), "text")
    table.write_ndjson(folder / LOG)
    owner = (pl.int_range(pl.len()) % 20).cast(pl.String)
    table.with_columns(owner.alias("owner")).write_ndjson(folder / OWNED)
    for name, log, method in (
        ("vectors.tsv", LOG, MicroaggregateDocuments(k=5)),
        ("subsumers.tsv", LOG, MicroaggregateDocuments(k=3, groups="random", publish="subsumer")),
        ("owned.tsv", OWNED, MicroaggregateDocuments(k=5)),
    ):
        prepared = coterie.prepare(coterie.read(folder / log))
        write_release(folder, name, api.anonymize_prepared(prepared, method, seed=SEED), log)


def _group(f: Forgery, number: int = 0) -> list[str]:
    """The documents of a group."""
    return f.groups[number]


def _named(f: Forgery, documents: list[str]) -> list[str]:
    return [f.names[document] for document in documents]


def _put_vectors(f: Forgery, change: Callable[[list[str], pl.DataFrame], pl.DataFrame]) -> None:
    """Give each group another vector: `change` gets its documents and the vector (term, weight) that it has."""
    rows, parts = f.rows, []
    for documents in f.groups:
        names = _named(f, documents)
        vector = rows.filter(pl.col("doc") == names[0]).select("term", "weight")
        parts += [change(documents, vector).with_columns(pl.lit(name).alias("doc")) for name in names]
    f.put(pl.concat(parts, how="diagonal"))


def _own(f: Forgery, document: str) -> pl.DataFrame:
    """term, weight of a document, as it could be released."""
    own = f.original.filter(pl.col("doc") == document).select("term", pl.col("weight").round(3))
    return own.filter(pl.col("weight") > 0)


def _alone(f: Forgery, documents: list[str]) -> pl.DataFrame:
    """A term that the first document of a group alone has."""
    others = f.original.filter(pl.col("doc").is_in(documents[1:]))["term"]
    return _own(f, documents[0]).filter(~pl.col("term").is_in(others.implode()))[:1]


@tampering("vectors.tsv")
def a_term_of_one_document(f: Forgery) -> None:
    _put_vectors(f, lambda documents, vector: pl.concat([vector, _alone(f, documents)]))


@tampering("vectors.tsv")
def a_term_of_one_document_less_than_promised(f: Forgery) -> None:
    """A term of two documents, with its true weight, where three are promised."""

    def more(documents: list[str], vector: pl.DataFrame) -> pl.DataFrame:
        theirs = f.original.filter(pl.col("doc").is_in(documents))
        counts = theirs.group_by("term").agg(pl.len(), (pl.col("weight").sum() / len(documents)).round(3))
        return pl.concat([vector, counts.filter(pl.col("len") == 2).sort("term").select("term", "weight")[:1]])

    _put_vectors(f, more)


@tampering("vectors.tsv")
def the_vector_of_one_document_under_all_names_of_its_group(f: Forgery) -> None:
    _put_vectors(f, lambda documents, _vector: _own(f, documents[0]))


@tampering("vectors.tsv", "owned.tsv")
def weights_of_one_document(f: Forgery) -> None:
    def heavier(documents: list[str], vector: pl.DataFrame) -> pl.DataFrame:
        own = _own(f, documents[0]).rename({"weight": "own"})
        return vector.join(own, on="term", how="left").select("term", pl.coalesce("own", "weight").alias("weight"))

    _put_vectors(f, heavier)


@tampering("vectors.tsv", "subsumers.tsv")
def weights_with_more_digits(f: Forgery) -> None:
    f.put(f.rows.with_columns(pl.col("weight") + 0.0001))


@tampering("vectors.tsv", "subsumers.tsv")
def weights_of_nothing(f: Forgery) -> None:
    _put_vectors(f, lambda _documents, vector: vector.with_columns(
        pl.when(pl.int_range(pl.len()) == 0).then(0.0).otherwise("weight").alias("weight")))  # fmt: skip


@tampering("vectors.tsv", "subsumers.tsv")
def weights_that_number_a_document(f: Forgery) -> None:
    """The thousandths of the heaviest weight say which document is the first of the group."""
    number = {document: at % 10 for at, document in enumerate(sorted(f.names))}
    _put_vectors(f, lambda documents, vector: vector.with_columns(
        pl.when(pl.int_range(pl.len()) == 0).then(pl.col("weight") + 0.01 + number[documents[0]] / 1000)
        .otherwise("weight").round(3).alias("weight")))  # fmt: skip


@tampering("vectors.tsv", "subsumers.tsv")
def names_that_are_encoded_documents(f: Forgery) -> None:
    encoded = {name: as_a_name(document[-10:]) for document, name in f.names.items()}
    f.put(f.rows.with_columns(pl.col("doc").replace(encoded)))
    subjects = pl.read_parquet(f.record / "subjects.parquet")
    subjects.with_columns(pl.col("released").replace(encoded)).write_parquet(f.record / "subjects.parquet")


@tampering("vectors.tsv")
def names_of_documents(f: Forgery) -> None:
    own = {name: document for document, name in f.names.items()}
    f.put(f.rows.with_columns(pl.col("doc").replace(own)))


@tampering("vectors.tsv")
def vectors_of_two_groups_exchanged(f: Forgery) -> None:
    first, second = (_named(f, _group(f, number)) for number in (0, 1))
    pairs = dict(zip([*first[:5], *second[:5]], [*second[:5], *first[:5]], strict=True))
    f.put(f.rows.with_columns(pl.col("doc").replace(pairs)))


@tampering("vectors.tsv")
def a_record_of_other_documents(f: Forgery) -> None:
    subjects = pl.read_parquet(f.record / "subjects.parquet")
    subjects.with_columns(pl.col("released").reverse()).write_parquet(f.record / "subjects.parquet")
    f.seal()


@tampering("vectors.tsv")
def the_seed_of_another_run_of_documents(f: Forgery) -> None:
    f.edit_run(seed=SEED + 1)


@tampering("vectors.tsv")
def a_document_removed(f: Forgery) -> None:
    f.put(f.rows.filter(pl.col("doc") != _named(f, _group(f))[0]))


@tampering("vectors.tsv")
def a_vector_of_four_documents(f: Forgery) -> None:
    names = _named(f, _group(f))[:4]
    changed = f.rows.filter(pl.col("doc").is_in(names) & (pl.col("term").rank("dense").over("doc") > 1))
    f.put(pl.concat([f.rows.filter(~pl.col("doc").is_in(names)), changed]))


@tampering("vectors.tsv")
def a_document_that_nobody_has(f: Forgery) -> None:
    one = f.rows.filter(pl.col("doc") == f.rows["doc"][0])
    f.put(pl.concat([f.rows, one.with_columns(pl.lit("u_" + "a" * 16).alias("doc"))]))


@tampering("vectors.tsv", "subsumers.tsv")
def a_term_twice(f: Forgery) -> None:
    f.put(pl.concat([f.rows, f.rows.unique("doc")]))


@tampering("vectors.tsv")
def a_term_that_nobody_wrote(f: Forgery) -> None:
    _put_vectors(f, lambda _documents, vector: pl.concat([vector, pl.DataFrame({"term": ["zyzzy"], "weight": [0.1]})]))


@tampering("vectors.tsv")
def fewer_documents_behind_a_term_in_the_promise(f: Forgery) -> None:
    a_term_of_one_document_less_than_promised(f)
    f.edit_sidecar(lambda data: data["promises"][0].update(term_documents=2))


@tampering("vectors.tsv")
def a_larger_k_of_documents(f: Forgery) -> None:
    f.edit_sidecar(lambda data: data["promises"][0].update(k=6))


@tampering("vectors.tsv")
def other_documents(f: Forgery) -> None:
    """The original with invented documents beside the true ones."""
    padded = f.path.with_name("padded.jsonl")
    padded.write_text(f.log.read_text() + '{"id": "home/more", "text": "A house, a garden and a chair."}\n')
    f.log = padded


@tampering("owned.tsv")
def documents_without_their_owners(f: Forgery) -> None:
    """The promise forgets owners, and a vector is that of documents of one."""
    mine = f.original.filter(pl.col("owner") == "0")["doc"].unique().to_list()
    others = f.original.filter(pl.col("owner") == "1")["doc"].unique().to_list()
    names = _named(f, [*mine, *others])
    theirs = f.original.filter(pl.col("doc").is_in([*mine, *others]))
    mean = theirs.group_by("term").agg(pl.len(), (pl.col("weight").sum() / len(names)).round(3))
    vector = mean.filter((pl.col("len") >= 3) & (pl.col("weight") > 0)).select("term", "weight")
    parts = [vector.with_columns(pl.lit(name).alias("doc")) for name in names]
    f.put(pl.concat([f.rows.filter(~pl.col("doc").is_in(names)), *parts], how="diagonal"))
    f.edit_sidecar(lambda data: data["promises"][0].update(owners=False))


@tampering("subsumers.tsv")
def terms_in_place_of_concepts(f: Forgery) -> None:
    _put_vectors(f, lambda documents, vector: pl.concat([vector, _alone(f, documents)]))


@tampering("subsumers.tsv")
def concepts_of_another_group(f: Forgery) -> None:
    items = f.rows["term"].unique().sort()
    f.put(f.rows.with_columns(pl.col("term").replace(dict(zip(items, reversed(items.to_list()), strict=True)))))


@tampering("subsumers.tsv")
def heavy_concepts(f: Forgery) -> None:
    f.put(f.rows.with_columns(pl.col("weight") + 0.5))


_LIGHTER_CONCEPTS = (
    "With `publish = subsumer` a concept may weigh less than the terms below it, because terms of a vector share "
    "them: the judge does not match terms once more, so a weight that is too small passes, and its digits can "
    "spell a number about the group."
)


@tampering("subsumers.tsv", uncaught=_LIGHTER_CONCEPTS)
def lighter_concepts(f: Forgery) -> None:
    f.put(f.rows.with_columns((pl.col("weight") - 0.001).clip(0.001).round(3)))


_TERMS_LEFT_OUT = (
    "What is missing from a vector of terms is not judged, as it hides more: a term that enough documents share "
    "may be left out of all copies of a vector."
)


@tampering("vectors.tsv", uncaught=_TERMS_LEFT_OUT)
def terms_left_out(f: Forgery) -> None:
    _put_vectors(f, lambda _documents, vector: vector.sort("term")[1:] if vector.height > 2 else vector)


_DOCUMENTS_LEFT_OUT = (
    "A group of documents of which nothing is released is no fault, so a whole group may be taken out of a "
    "release and its record; the number of names then tells it."
)


@tampering("vectors.tsv", uncaught=_DOCUMENTS_LEFT_OUT)
def documents_left_out(f: Forgery) -> None:
    names = _named(f, _group(f))
    f.put(f.rows.filter(~pl.col("doc").is_in(names)))
    subjects = pl.read_parquet(f.record / "subjects.parquet")
    gone = pl.when(~pl.col("released").is_in(names)).then("released").alias("released")
    subjects.with_columns(gone).write_parquet(f.record / "subjects.parquet")
