"""Pack the nouns of WordNet 3.0: `python tools/build_wordnet.py /usr/share/wordnet`, from Debian's wordnet-base.

Writes src/coterie/taxonomies/data/wordnet.npz and the licence that stands at the top of the source.
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl

from coterie import taxonomies
from coterie.core.arrays import offsets
from coterie.taxonomies import Taxonomy, by_depth
from coterie.taxonomies.lexicon import Lexicon
from coterie.text.words import pieces

TO = Path(__file__).parents[1] / "src" / "coterie" / "taxonomies" / "data"
SYNSETS, LEMMAS, SENSES = 82_115, 117_798, 146_312


def synsets(path: Path) -> tuple[dict[int, int], list[str], list[int]]:
    """Synset offset -> position; labels; the offset of each first hypernym (0 for the root)."""
    position, labels, first = {}, [], []
    for line in path.read_text(encoding="ascii").splitlines():
        if line.startswith(" "):
            continue  # the licence
        fields = line.partition(" | ")[0].split(" ")
        n_words = int(fields[3], 16)
        pointers = fields[4 + 2 * n_words :]  # their number, then four fields each
        above = [int(pointers[i + 1]) for i in range(1, len(pointers) - 3, 4) if pointers[i] in ("@", "@i")]
        position[int(fields[0])] = len(labels)
        labels.append(fields[4].replace("_", " "))
        first.append(above[0] if above else 0)
    return position, labels, first


def lemmas(path: Path) -> list[tuple[str, list[int]]]:
    """Each lemma with the offsets of its senses, the most frequent first."""
    found = []
    for line in path.read_text(encoding="ascii").splitlines():
        if not line.startswith(" "):
            fields = line.split()
            found.append((fields[0].replace("_", " "), [int(each) for each in fields[-int(fields[2]) :]]))
    return found


def lexicon(given: list[tuple[str, list[int]]], concept: dict[int, int], irregular: list[list[str]]) -> Lexicon:
    """The words of lemmas as queries are split, and their senses."""
    forms = pl.DataFrame({"lemma": [lemma for lemma, _ in given]}).select(pieces(pl.col("lemma")))["lemma"].to_list()
    senses: dict[tuple[str, ...], list[int]] = {}
    # A lemma that is written as it is looked up comes before those that become equal to it, as `co-op` to `co op`.
    order = sorted(range(len(given)), key=lambda i: (" ".join(forms[i]) != given[i][0], given[i][0]))
    for i in order:
        if forms[i]:
            known = senses.setdefault(tuple(forms[i]), [])
            known += [concept[each] for each in given[i][1] if concept[each] not in known]
    words = sorted({word for form in senses for word in form})
    number = {word: i for i, word in enumerate(words)}
    listed = sorted(senses)
    base: dict[str, int] = {}
    for plural, *singulars in irregular:
        for singular in singulars:
            if plural.isalnum() and (singular,) in senses:
                base.setdefault(plural, number[singular])
    return Lexicon(
        words=pl.Series("text", words),
        form_start=offsets(np.array([len(form) for form in listed])),
        form_words=np.array([number[word] for form in listed for word in form], dtype=np.int32),
        sense_start=offsets(np.array([len(senses[form]) for form in listed])),
        senses=np.array([each for form in listed for each in senses[form]], dtype=np.int32),
        stemmed=False,
        irregular=pl.DataFrame({"word": list(base), "base": np.array(list(base.values()), dtype=np.int32)}),
    )


def licence(path: Path) -> str:
    """The numbered lines at the top of each file of WordNet."""
    lines = [line for line in path.read_text(encoding="ascii").splitlines()[:40] if line.startswith("  ")]
    return "".join(line.split(maxsplit=1)[1].rstrip() + "\n" if len(line.split()) > 1 else "\n" for line in lines)


def main(source: Path) -> None:
    """Read, check, write."""
    position, labels, first = synsets(source / "data.noun")
    given = lemmas(source / "index.noun")
    irregular = [line.split() for line in (source / "noun.exc").read_text(encoding="ascii").splitlines()]
    found = (len(labels), len(given), sum(len(senses) for _, senses in given), first.count(0))
    if found != (SYNSETS, LEMMAS, SENSES, 1):
        sys.exit(f"This is not WordNet 3.0: synsets, lemmas, senses and roots are {found}.")
    parent = np.array([position[offset] if offset else -1 for offset in first])
    order, parent = by_depth(parent)
    new = np.argsort(order)
    concept = {offset: int(new[i]) for offset, i in position.items()}
    tree = Taxonomy(
        name="wordnet",
        parent=parent,
        labels=pl.Series("text", labels)[order.tolist()],
        lexicon=lexicon(given, concept, irregular),
    )
    TO.mkdir(exist_ok=True)
    taxonomies.write(tree, TO / "wordnet.npz")
    (TO / "WORDNET-LICENCE").write_text(licence(source / "data.noun"))
    print(repr(tree), repr(tree.lexicon), f"{(TO / 'wordnet.npz').stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/wordnet"))
