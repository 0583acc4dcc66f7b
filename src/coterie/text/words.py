"""Text: words, runs of letters, and what promises call lists of words.

The one spelling of a text: NFKC, lower case, trimmed, runs of white space to one space.

Codes that Unicode keeps free of any meaning (U+FDD0 and others) count as white space: nobody can see them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import polars as pl

from coterie.errors import InputError

# Scripts whose words follow each other without a space, or carry their endings with them; and the long vowel of kana.
_JOINED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_JOINED_RUN = _JOINED + r"\u{30fc}"
_LETTER = r"[\p{L}\p{M}\p{N}]"
JOINT = "\ufdd0"  # a code that stands for nothing in any text
LETTER_WITHOUT_SPACES = rf"[{_JOINED_RUN}]\p{{M}}*"
"""One letter, with its marks, of a script whose words follow each other without a space."""


def digest_of(words: Iterable[str]) -> str:
    """A digest of a set of words, whatever their order."""
    return "sha256:" + hashlib.sha256("\n".join(sorted(set(words))).encode()).hexdigest()


def name_of_topics(topics: pl.DataFrame) -> str:
    """What promises call topics (topic, word): their digest."""
    return digest_of(f"{topic} {word}" for topic, word in topics.select("topic", "word").iter_rows())


def words(text: pl.Expr) -> pl.Expr:
    """The words of a normalized text: split at spaces and nothing else."""
    return text.str.split(" ")


def words_and_letters(texts: pl.Series) -> pl.Series:
    """The words of each text as a list; where a script is written without spaces, each letter is a word.

    A word that follows another one without a space begins with JOINT; `put_together` makes a text of words again.
    """
    text, letter = pl.col("text"), f"({LETTER_WITHOUT_SPACES})"
    written = texts.to_frame("text")
    if written.filter(_beyond_ascii(text)).select(text.str.contains(letter).any()).item():
        if written.select(text.str.contains(JOINT, literal=True).any()).item():
            raise InputError(
                "Some queries have the code U+FDD0, which stands for nothing: --prepare normalize removes it."
            )
        joined = text.str.replace_all(letter, f"{JOINT}${{1}}{JOINT}").str.replace_all(f"{JOINT}+", JOINT)
        joined = joined.str.replace_all(f"(^| ){JOINT}", "${1}").str.replace_all(f"{JOINT}( |$)", "${1}")
        text = joined.str.replace_all(JOINT, f" {JOINT}")
    return written.select(words(text).alias("words"))["words"]


def put_together(spaced: pl.Expr) -> pl.Expr:
    """The text of some words in a row of `words_and_letters`, given with a space between each two of them."""
    return spaced.str.strip_prefix(JOINT).str.replace_all(f" {JOINT}", "", literal=True)


def folded(text: pl.Expr) -> pl.Expr:
    """A text in lower case, without accents and apostrophes."""
    return text.str.normalize("NFKD").str.to_lowercase().str.replace_all(r"['’\u{0300}-\u{036f}]", "")


def folded_latin(text: pl.Expr) -> pl.Expr:
    """The same, but only Latin letters lose their accents: `й` is not `и`, as `é` is `e`."""
    bare = text.str.normalize("NFKD").str.to_lowercase().str.replace_all(r"['’]", "")
    return bare.str.replace_all(r"(\p{Latin})[\u{0300}-\u{036f}]+", "${1}").str.normalize("NFC")


def runs(text: pl.Expr) -> pl.Expr:
    """The runs of letters and digits in a folded text; everything else separates."""
    return text.str.extract_all(rf"{_LETTER}+")


def pieces(text: pl.Expr) -> pl.Expr:
    """The runs of letters and digits in a text, as they are looked up in a taxonomy: lower case, no accents.

    An apostrophe joins (`mother's` is `mothers`); everything else that is no letter or digit separates.
    """
    return runs(folded(text))


def without_spaces(word: pl.Expr) -> pl.Expr:
    """Whether a word is of a script whose words follow each other without a space, or carry endings with them."""
    return word.str.contains(f"[{_JOINED}]")


def has_letters_without_spaces(texts: pl.Series) -> bool:
    """Whether one of some texts has letters of such scripts."""
    text = pl.col("text")
    return bool(texts.to_frame("text").filter(_beyond_ascii(text)).select(without_spaces(text).any()).item())


def _beyond_ascii(text: pl.Expr) -> pl.Expr:
    """Whether a text has letters beyond ASCII: cheap to tell, and most texts have none."""
    return text.str.len_bytes() != text.str.len_chars()


def only_without_spaces(text: pl.Expr) -> pl.Expr:
    """Texts that have letters of such scripts; others become null, so that what is done with them costs nothing."""
    return pl.when(without_spaces(text)).then(text)


def cut_runs(text: pl.Expr, others: str = _LETTER) -> pl.Expr:
    """The pieces of a text: runs of letters `without_spaces` become pairs of neighbouring letters, a single one stays.

    Runs of `others` stay as well.
    """
    joined = f"[{_JOINED_RUN}]"
    held = text.str.normalize("NFC")  # accents of kana, parts of hangul
    singles = held.str.extract_all(f"{joined}+").list.eval(pl.element().filter(pl.element().str.len_chars() == 1))
    even = held.str.extract_all(f"{joined}{{2}}")
    odd = held.str.replace_all(f"{joined}({joined}*)", " ${1}").str.extract_all(f"{joined}{{2}}")
    rest = held.str.extract_all(f"[{others}--{joined}]+")
    return pl.concat_list(rest, singles, even, odd)


# Printable ASCII without capitals, words separated by single spaces: nothing to do.
_BETWEEN_WORDS = r"[\s\u{fdd0}-\u{fdef}\u{fffe}\u{ffff}]+"
_NORMAL = r"^[!-@\[-~]+(?: [!-@\[-~]+)*$"


def is_normal(text: pl.Expr) -> pl.Expr:
    """Whether a text is plain enough to be in its one spelling for sure. Telling so is cheaper than spelling it."""
    return text.str.contains(_NORMAL)


def spell(text: pl.Expr) -> pl.Expr:
    """The one spelling of a text."""
    # NFKC once more after lower-casing: a few capitals fall apart into letter and accent.
    folded = text.str.normalize("NFKC").str.to_lowercase().str.normalize("NFKC")
    return folded.str.replace_all(_BETWEEN_WORDS, " ").str.strip_chars()
