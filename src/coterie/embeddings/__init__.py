"""Word vectors from models that others made, for `interest_microaggregate`; one file per model.

A model is a module with one function:

    def embed(words: Sequence[str]) -> matrix    # one row per word, any number of columns; zeros: word unknown

Words come in lower case and without accents, each of them once. Third parties add a model of theirs under a name of the
entry point group `coterie.embeddings` that points to such a module; `--embedding NAME` then finds it. A model must not
need a network and must give the same vectors each time, or the same seed will not give the same release.
"""
