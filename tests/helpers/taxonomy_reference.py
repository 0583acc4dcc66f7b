"""Looking up queries in a lexicon the slow and obvious way: the oracle of coterie.taxonomies."""

import re
import unicodedata
from itertools import product

import numpy as np
import polars as pl
import Stemmer

from coterie.core.arrays import offsets
from coterie.taxonomies import Taxonomy
from coterie.taxonomies.lexicon import Lexicon
from coterie.text.language import language

ENDINGS = [("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man")]
ENDINGS += [("ies", "y")]


def tree_of(parent, forms, *, stemmed=False, irregular=None):
    """A taxonomy of parents and {form: concepts}; labels are c0, c1, ..."""
    words = sorted({word for form in forms for word in form.split()})
    number = {word: i for i, word in enumerate(words)}
    base = {plural: number[singular] for plural, singular in (irregular or {}).items()}
    lexicon = Lexicon(
        words=pl.Series("text", words, dtype=pl.String),
        form_start=offsets(np.array([len(form.split()) for form in forms], dtype=np.int64)),
        form_words=np.array([number[word] for form in forms for word in form.split()], dtype=np.int32),
        sense_start=offsets(np.array([len(senses) for senses in forms.values()], dtype=np.int64)),
        senses=np.array([sense for senses in forms.values() for sense in senses], dtype=np.int32),
        stemmed=stemmed,
        irregular=pl.DataFrame({"word": list(base), "base": list(base.values())}).cast(
            {"word": pl.String, "base": pl.Int32}
        ),
    )
    labels = pl.Series("text", [f"c{i}" for i in range(len(parent))])
    return Taxonomy(name="small", parent=np.array(parent, dtype=np.int32), labels=labels, lexicon=lexicon)


def forms_of(tree):
    """{form: concepts} of a taxonomy, and {plural: singular}."""
    lexicon, forms = tree.lexicon, {}
    words = lexicon.words.to_list()
    for f in range(lexicon.form_start.size - 1):
        form = lexicon.form_words[lexicon.form_start[f] : lexicon.form_start[f + 1]]
        senses = lexicon.senses[lexicon.sense_start[f] : lexicon.sense_start[f + 1]]
        forms[" ".join(words[i] for i in form)] = senses.tolist()
    return forms, {plural: words[base] for plural, base in lexicon.irregular.iter_rows()}


class Reference:
    def __init__(self, forms, *, stemmed=False, irregular=None, stop_words=True):
        self.stemmed, self.stop_words, self.irregular = stemmed, stop_words, irregular or {}
        self.forms = forms
        if stop_words and not stemmed:
            self.forms = {}
            for changed in (True, False):  # a form without stop words counts before one that loses some
                for form, senses in forms.items():
                    kept = [word for word in form.split() if word not in language("english").stop_words]
                    if (len(kept) < len(form.split())) == changed and (len(kept) > 1 or not changed) and kept:
                        self.forms[" ".join(kept)] = senses

    def pieces(self, query):
        found = []
        for at, word in enumerate((query or "").split(" ")):
            folded = unicodedata.normalize("NFKD", word).lower()
            folded = re.sub("['’\u0300-\u036f]", "", folded)
            for piece in re.findall(r"[^\W_]+", folded):
                if not (self.stop_words and piece in language("english").stop_words):
                    found.append((at, piece))
        return found

    def spellings(self, word):
        """As typed, its singular by the list, and by each ending."""
        found = [word, self.irregular.get(word, "?")]
        if len(word) > 2 and not word.endswith("ss"):
            found += [word[: -len(ending)] + instead for ending, instead in ENDINGS if word.endswith(ending)]
        return found

    def senses(self, words):
        if self.stemmed:
            return self.forms.get(" ".join(Stemmer.Stemmer("english").stemWords(words)))
        ways = (self.forms.get(" ".join(way)) for way in product(*map(self.spellings, words)))
        return next(filter(None, ways), None)

    def terms(self, query, unit="term", phrases=True):
        """(first word, number of words, senses or None) of each term."""
        pieces = self.pieces(query)
        words = [piece for _, piece in pieces]
        if unit == "query":
            for start in range(len(words)):
                if senses := self.senses(words[start:]):
                    return [(pieces[start][0], pieces[-1][0] - pieces[start][0] + 1, senses)]
            return [(pieces[0][0], pieces[-1][0] - pieces[0][0] + 1, None)] if words else []
        found, at = [], 0
        while at < len(words):
            for end in range(len(words) if phrases else at + 1, at, -1):
                if (senses := self.senses(words[at:end])) or end == at + 1:
                    found.append((pieces[at][0], pieces[end - 1][0] - pieces[at][0] + 1, senses))
                    at = end
                    break
        return found

    def classify(self, queries, unit="term", categories=1, phrases=True):
        """Rows of Classification.terms, and n_terms."""
        rows, counts = [], []
        for q, query in enumerate(queries):
            terms = self.terms(query, unit, phrases)
            counts.append(len(terms))
            for word, width, senses in terms:
                rows += [(q, word, width, sense, rank) for rank, sense in enumerate((senses or [])[:categories])]
        return rows, counts
