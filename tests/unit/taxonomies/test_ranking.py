"""Categories of a word by BM25, on a tree small enough to rank by hand."""

import numpy as np
import polars as pl

from coterie.taxonomies.build import MOST, ranked_lexicon, stemmed

LABELS = pl.Series(["Top", "Music", "Jazz Music", "Sports", "Music Shops"])
NO_TITLES = pl.DataFrame(schema={"category": pl.Int32, "stem": pl.String, "n": pl.Int64})


def _senses(made, form):
    """The categories of a form, best first."""
    words = made.words.to_list()
    spelled = [
        " ".join(words[w] for w in made.form_words[made.form_start[i] : made.form_start[i + 1]])
        for i in range(made.form_start.size - 1)
    ]
    place = spelled.index(form)
    return made.senses[made.sense_start[place] : made.sense_start[place + 1]].tolist()


def test_stems_in_their_order_without_stop_words():
    table = stemmed(np.array([3, 4]), pl.Series(["The Running of the Bulls", "of"]))
    assert table.rows() == [(3, "run"), (3, "bull")]


def test_the_category_whose_name_is_the_word_comes_first():
    made = ranked_lexicon(LABELS, np.zeros(5, dtype=np.int64), NO_TITLES)
    assert _senses(made, "music") == [1, 2, 4], "the shortest text first, then by number"
    assert _senses(made, "sport") == [3]
    assert made.stemmed


def test_equal_scores_are_ranked_by_pages():
    made = ranked_lexicon(LABELS, np.array([9, 0, 1, 0, 5]), NO_TITLES)
    assert _senses(made, "music") == [1, 4, 2]


def test_a_label_of_several_words_is_a_form_and_the_root_has_no_meaning():
    made = ranked_lexicon(LABELS, np.zeros(5, dtype=np.int64), NO_TITLES)
    assert _senses(made, "jazz music") == [2]
    assert 0 not in made.senses


def test_titles_add_words_but_a_name_weighs_more():
    titles = pl.DataFrame(
        {"category": [3, 3, 0], "stem": ["jazz", "ball", "ball"], "n": [1, 2, 9]}, schema=NO_TITLES.schema
    )
    made = ranked_lexicon(LABELS, np.zeros(5, dtype=np.int64), titles)
    assert _senses(made, "jazz") == [2, 3]
    assert _senses(made, "ball") == [3]


def test_a_word_of_many_categories_keeps_the_best_ones():
    labels = pl.Series(["Top", *[f"News {chr(97 + n) * 3}" for n in range(MOST + 5)]])
    made = ranked_lexicon(labels, np.arange(MOST + 6), NO_TITLES)
    assert _senses(made, "news") == list(range(MOST + 5, 5, -1)), "those with most pages"
