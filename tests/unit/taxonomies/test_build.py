"""Trees from tables and dumps, and what is wrong with a file."""

import gzip
import json

import numpy as np
import polars as pl
import pytest

from coterie import taxonomies
from coterie.errors import InputError, MissingError, ParameterError
from coterie.taxonomies.build import build
from tests.helpers.small_trees import from_paths

GOOGLE = """# Google_Product_Taxonomy_Version: 2021-09-21
1 - Animals & Pet Supplies
3237 - Animals & Pet Supplies > Live Animals
784 - Media
543 - Media > Books/Comics
"""
IAB = """Relational ID System\t\t\t
Unique ID\tParent\tName\tTier 1
150\t\tAttractions\tAttractions
151\t150\tAmusement and Theme Parks\tAttractions
1\t\tAutomotive\tAutomotive
"""
STRUCTURE = """<?xml version="1.0" encoding="UTF-8" ?>
<RDF xmlns:r="http://www.w3.org/TR/RDF/" xmlns:d="http://purl.org/dc/elements/1.0/" xmlns="http://dmoz.org/rdf/">
  <Topic r:id="Top">
    <catid>1</catid>
    <narrow r:resource="Top/Arts"/>
  </Topic>
  <Topic r:id="Top/Arts/Music">
    <d:Title>Music</d:Title>
    <d:Description>Everything about melodies &amp; harmonies.</d:Description>
  </Topic>
  <Topic r:id="Top/World/Deutsch"></Topic>
  <Alias r:id="nothing"/>
</RDF>
"""
CONTENT = """<?xml version="1.0" encoding="UTF-8" ?>
<RDF>
  <Topic r:id="Top/Arts/Music"><link r:resource="http://a.example/"/></Topic>
  <ExternalPage about="http://a.example/">
    <d:Title>Violin strings</d:Title>
    <d:Description>A page whose description is not read: zither.</d:Description>
    <topic>Top/Arts/Music</topic>
  </ExternalPage>
  <ExternalPage about="http://b.example/">
    <topic>Top/Arts/Music/Vocal_Music</topic>
  </ExternalPage>
</RDF>
"""


def made(tmp_path, text, name="table.tsv", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return build([path], name="made", **options)


def paths(tree):
    return ["/".join(tree.path(concept)) for concept in range(len(tree))]


def meant(tree, query, **options):
    found = tree.classify(pl.Series([query]), **{"categories": 5, **options})
    return ["/".join(tree.path(concept)) for concept in found.terms["concept"]]


def test_paths_with_counts(tmp_path):
    built = made(tmp_path, "Top/Arts/Theme_Parks\t3\nTop/Arts\t2\nTop/Science/Math\t7\n")
    assert paths(built.tree) == ["", "Arts", "Science", "Arts/Theme Parks", "Science/Math"]
    assert built.tree.labels[0] == "Top"
    assert built.notes == ("2 categories are only named as a part of others; they were added.",)
    assert meant(built.tree, "theme park") == ["Arts/Theme Parks"]
    assert meant(built.tree, "parks") == ["Arts/Theme Parks"]


def test_equal_labels_are_ranked_by_pages_below(tmp_path):
    text = "Top/Arts/Music/Jazz\t50\nTop/Shopping/Music\t20\nTop/Games/Music\t30\n"
    assert meant(made(tmp_path, text).tree, "music") == ["Arts/Music", "Games/Music", "Shopping/Music"]


def test_titles_tell_what_a_category_is_about(tmp_path):
    text = "path,title\nArts,Painting a fence\nArts,Painting portraits\nHouse,painting and doors and windows\n"
    built = made(tmp_path, text, "table.csv")
    assert built.notes == ("It has 2 roots; they were joined under one.",)
    assert meant(built.tree, "paint") == ["Arts", "House"]
    assert meant(built.tree, "windows") == ["House"]


def test_googles_product_taxonomy(tmp_path):
    built = made(tmp_path, GOOGLE, "taxonomy-with-ids.en-US.txt")
    assert built.tree.labels.to_list() == ["root", "Animals & Pet Supplies", "Media", "Live Animals", "Books/Comics"]
    assert built.notes == ("It has 2 roots; they were joined under one.",)
    assert meant(built.tree, "live animals") == ["Animals & Pet Supplies/Live Animals"]
    assert meant(built.tree, "comic book", unit="query") == ["Media/Books/Comics"]


def test_a_table_of_parents(tmp_path):
    tree = made(tmp_path, IAB).tree
    assert paths(tree) == ["", "Attractions", "Automotive", "Attractions/Amusement and Theme Parks"]
    lines = IAB.splitlines(keepends=True)
    shuffled = made(tmp_path, "".join([*lines[:2], *lines[:1:-1]])).tree
    assert paths(shuffled) == paths(tree)
    own_parent = made(tmp_path, IAB.replace("150\t\tAttr", "150\t150\tAttr")).tree
    assert paths(own_parent) == paths(tree)


def test_a_list_without_paths_is_noticed(tmp_path):
    log = "user\tquery\n1\tcats\n2\tdogs\n"
    assert any("--separator" in note for note in made(tmp_path, log).notes)
    assert any("--separator" in note for note in made(tmp_path, "a > b\na > c\n", separator="/").notes)
    assert not any("--separator" in note for note in made(tmp_path, "a > b\na > c\n").notes)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_dump_of_the_open_directory(tmp_path, suffix):
    pack = gzip.compress if suffix else bytes
    files = [tmp_path / f"{name}.rdf.u8{suffix}" for name in ("structure", "content")]
    for file, text in zip(files, (STRUCTURE, CONTENT), strict=True):
        file.write_bytes(pack(text.encode()))
    tree = build(files, name="odp", without=["World"]).tree
    assert paths(tree) == ["", "Arts", "Arts/Music", "Arts/Music/Vocal Music"]
    assert meant(tree, "violins") == ["Arts/Music"]
    assert meant(tree, "harmony") == ["Arts/Music"]
    assert meant(tree, "music") == ["Arts/Music", "Arts/Music/Vocal Music"]
    assert meant(tree, "zither") == []
    assert len(build(files, name="odp").tree) == 6
    with pytest.raises(ParameterError, match="no first-level category Wrld"):
        build(files, name="odp", without=["Wrld"])


@pytest.mark.parametrize("between", ["", " ", "\n"])
def test_tags_of_a_dump_may_stand_side_by_side(tmp_path, between):
    trees = []
    for name, join in (("lines", "\n"), ("side", between)):
        folder = tmp_path / name
        folder.mkdir()
        files = [folder / "structure.rdf.u8", folder / "content.rdf.u8"]
        for file, text in zip(files, (STRUCTURE, CONTENT), strict=True):
            first, second, *others = text.split("\n")
            file.write_text("\n".join([first, second, join.join(line.strip() for line in others)]))
        trees.append(build(files, name="odp").tree)
    assert paths(trees[1]) == paths(trees[0])
    for query in ("violins", "harmony", "music", "zither"):
        assert meant(trees[1], query) == meant(trees[0], query)
    assert meant(trees[1], "violins") == ["Arts/Music"]


def test_a_few_damaged_lines_of_a_dump_are_left_out(tmp_path):
    topics = "".join(f'<Topic r:id="Top/{n}">\n' for n in range(200)).encode()
    built = made(tmp_path, b"<RDF>\n" + topics + b'<Topic r:id="Top/\xe9">\n', "structure.rdf.u8")
    assert built.notes == ("structure.rdf.u8: 1 lines are not in the encoding utf-8 and were left out.",)
    with pytest.raises(InputError, match="3 lines are not in the encoding"):
        made(tmp_path, b"<RDF>\n" + b'<Topic r:id="Top/\xe9">\n' * 3, "structure.rdf.u8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "no categories"),
        (b"\n\n# nothing\n", "no categories"),
        (b"<RDF>\n</RDF>\n", "no categories"),
        (b"Arts\nArts/M\xfcsik\n", "line 2 is not in the encoding utf-8. Say which it is: --encoding latin-1"),
        (b"Arts\n\x00\x01\x02", "line 2 is not text"),
        ("Arts\n".encode("utf-16"), "line 1 is not text"),
        (b"Arts\t1\nMusic\tmany\n", "line 2: the number of pages is not a whole number"),
        (b"id\tparent\tlabel\n1\t2\tA\n2\t1\tB\n", "cycle.* 2 categories .* first in line 2"),
        (b"id\tparent\tlabel\n2\t\tB\n1\t3\tA\n3\t1\tC\n", "cycle.* 2 categories .* first in line 3"),
        (b"id\tparent\tlabel\n3\t\tC\n4\t1\tD\n1\t2\tA\n2\t1\tB\n", "cycle.* 3 categories .* first in line 3"),
        (b"Arts\t7\n", "nothing in it but a root"),
        (b"id\tparent\tlabel\n1\t\tA\n2\t7\tB\n3\t8\tC\n", "2 categories have a parent .* first in line 3"),
        (b"id\tparent\tlabel\n1\t\tA\n1\t\tB\n", "line 3 has an id that another line has too"),
        (b"id\tparent\tlabel\n1\t\t\n", "line 2 has no label"),
        (b"id\tparent\tlabel\n\t1\tA\n", "line 2 has no id"),
    ],
)
def test_what_is_no_taxonomy(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        made(tmp_path, text)


def test_other_encodings(tmp_path):
    text = "Arts\nArts/Müsik\n"
    assert paths(made(tmp_path, text.encode("latin-1"), encoding="latin-1").tree) == ["", "Müsik"]
    assert paths(made(tmp_path, b"\xef\xbb\xbf" + text.encode()).tree) == ["", "Müsik"]
    assert meant(made(tmp_path, text).tree, "musik") == ["Müsik"]
    for name in ("martian", "hex", "rot13", "undefined", ""):  # codecs that are no encodings of text among them
        with pytest.raises(ParameterError, match="no such encoding"):
            made(tmp_path, text, encoding=name)
    with pytest.raises(InputError, match="line 2 is not in the encoding idna"):
        made(tmp_path, text.encode("latin-1"), encoding="idna")


def test_nothing_is_left_out_of_a_table_of_parents(tmp_path):
    with pytest.raises(ParameterError, match="take them out of the table"):
        made(tmp_path, IAB, without=["Automotive"])


def test_damaged_csv(tmp_path):
    with pytest.raises(InputError, match="is not csv"):
        made(tmp_path, "path\n" + '"' + "x" * 200_000 + '"\n', "table.csv")


def test_files_that_do_not_go_together(tmp_path):
    (tmp_path / "a.rdf").write_text(STRUCTURE)
    (tmp_path / "b.tsv").write_text("Arts\n")
    (tmp_path / "c.tsv").write_text("Arts\n")
    with pytest.raises(InputError, match="cannot be one taxonomy"):
        build([tmp_path / "a.rdf", tmp_path / "b.tsv"], name="x")
    with pytest.raises(InputError, match="give one table"):
        build([tmp_path / "b.tsv", tmp_path / "c.tsv"], name="x")
    with pytest.raises(MissingError):
        build([tmp_path / "none.tsv"], name="x")


def test_the_packed_file_is_read_again_when_it_changes(tmp_path):
    path = tmp_path / "tree.npz"
    taxonomies.write(from_paths([["a", "b"]]), path)
    first = taxonomies.load(path)
    assert taxonomies.load(str(path)) is first
    taxonomies.write(from_paths([["a", "b", "c"]]), path)
    assert len(taxonomies.load(path)) == 3
    with pytest.raises(MissingError, match="There is no taxonomy"):
        taxonomies.load(tmp_path / "none.npz")


def test_a_packed_file_has_more_than_a_root(tmp_path):
    path = tmp_path / "tree.npz"
    taxonomies.write(from_paths([["a"]]), path)
    with pytest.raises(InputError, match="is not a packed taxonomy"):
        taxonomies.load(path)


def test_nothing_in_a_packed_file_is_believed(tmp_path):
    path = tmp_path / "tree.npz"
    taxonomies.write(from_paths([["a", "b c"], ["a", "d", "e"]]), path)
    with np.load(path) as file:
        good = dict(file)

    def read(**changes):
        np.savez(path, **{name: array for name, array in (good | changes).items() if array is not None})
        return taxonomies.read(path)

    short = [
        np.array([], dtype=np.int32),
        np.array([-1, 0, 9, 0], dtype=np.int32),
        np.array([0, 0, 0, 0], dtype=np.int32),
    ]
    about = json.loads(good["about"].tobytes())
    texts = {name: np.frombuffer(text, dtype=np.uint8) for name, text in (
        ("latin", b"\xe9\n" * 4), ("other", b'{"format": "zip"}\n'), ("list", b"[]\n"), ("none", b"{\n"),
        ("version", json.dumps(about | {"version": 99}).encode()),
    )}  # fmt: skip
    assert len(read()) == 4
    wrong = [("parent", each) for each in short] + [
        ("parent", good["parent"].astype(np.int64)), ("parent", good["parent"].reshape(2, 2)),
        ("parent", np.array([-1, 0, 1, 0], dtype=np.int32)), ("parent", None), ("words", good["words"][::-1].copy()),
        ("labels", good["labels"][:-3]), ("labels", texts["latin"]), ("form_words", good["form_words"] + 100),
        ("form_size", good["form_size"] * 0), ("sense_size", good["sense_size"][1:]), ("senses", good["senses"] - 9),
        ("irregular_base", np.array([0], dtype=np.int32)), ("about", texts["other"]), ("about", texts["list"]),
        ("about", texts["none"]),
    ]  # fmt: skip
    for name, array in wrong:
        with pytest.raises(InputError, match="is not a packed taxonomy"):
            read(**{name: array})
    with pytest.raises(InputError, match="another version"):
        read(about=texts["version"])
    np.save(path.with_suffix(".npy"), good["parent"])
    for junk in (
        path.with_suffix(".npy").read_bytes(),
        b"",
        b"junk",
        b"PK\x03\x04junk",
        b"\x93NUMPY\x01\x00",
        np.random.default_rng(1).bytes(999),
    ):
        path.write_bytes(junk)
        with pytest.raises(InputError, match="cannot be read"):
            taxonomies.read(path)


def test_parameters():
    tree = from_paths([["a", "b"]])
    for options in ({"unit": "word"}, {"categories": 0}):
        with pytest.raises(ParameterError):
            tree.classify(pl.Series(["b"]), **options)
    with pytest.raises(ParameterError):
        tree.ancestor_at(-1)
    assert tree.classify(pl.Series([], dtype=pl.String)).unmapped_share() == 0
    assert "qzquery" not in repr(tree.classify(pl.Series(["qzquery"])))


def test_real_counts_of_the_open_directory(real_data):
    source = real_data / "odp_topics_counts.tsv.gz"
    with pytest.raises(InputError, match="--encoding latin-1"):
        build([source], name="odp")
    tree = build([source], name="odp", encoding="latin-1").tree
    assert (len(tree), tree.height, (tree.depth == 1).sum()) == (5_037, 3, 13)
    assert meant(tree, "music")[0] == "Arts/Music"
