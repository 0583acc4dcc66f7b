"""Names, sizes and lists of parts, and the folders that are not what their sidecar describes."""

import json
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie
from coterie.core.digests import (
    changed_parts,
    even_sizes,
    is_release_of_parts,
    list_digest,
    listed_parts,
    part_name,
    refuse_other_files,
    refuse_other_parts,
)
from coterie.errors import InputError
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing import queries_log


@given(rows=st.integers(0, 500), parts=st.integers(1, 60))
def test_parts_are_even(rows, parts):
    sizes = even_sizes(rows, parts)
    assert sum(sizes) == rows
    assert len(sizes) == max(1, min(rows, parts))
    assert max(sizes) - min(sizes) <= 1
    assert sizes == sorted(sizes, reverse=True)


def test_names_are_in_order():
    names = [part_name(number, "tsv.gz") for number in (0, 1, 9, 10, 99_999)]
    assert names == sorted(names)
    assert names[0] == "part-00000.tsv.gz"


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "safe.tsv"
    coterie.write(coterie.anonymize(queries_log(), SuppressRare(k=3), seed=1), path, parts=3)
    return path


def test_the_list_is_what_the_tools_of_the_system_print(folder):
    parts = listed_parts(folder)
    assert [part.name for part in parts] == ["part-00000.tsv", "part-00001.tsv", "part-00002.tsv"]
    lines = subprocess.run(["sha256sum", *(part.name for part in parts)], cwd=folder, capture_output=True, check=True)
    done = subprocess.run(["sha256sum"], input=lines.stdout, capture_output=True, check=True)
    assert done.stdout.decode().split()[0] == list_digest(parts)
    assert json.loads(folder.with_name("safe.tsv.json").read_text())["sha256"] == list_digest(parts)


def _remove(folder):
    (folder / "part-00001.tsv").unlink()


def _rename(folder):
    (folder / "part-00001.tsv").rename(folder / "part-00003.tsv")


def _add(folder):
    (folder / "part-00003.tsv").write_text("")


def _hide(folder):
    (folder / ".notes").write_text("")


def _nest(folder):
    (folder / "more").mkdir()


def _link(folder):
    (folder / "part-00001.tsv").rename(folder.parent / "elsewhere")
    (folder / "part-00001.tsv").symlink_to(folder.parent / "elsewhere")


OTHER_FILES = {
    _remove: r"1 part is missing \(part-00001.tsv\)",
    _rename: "1 part is missing",
    _add: r"1 file is in the folder and not in the sidecar \('part-00003.tsv'\)",
    _hide: r"1 file is in the folder and not in the sidecar \('.notes'\)",
    _nest: r"1 file is in the folder and not in the sidecar \('more'\)",
    _link: "1 part is no regular file",
}


@pytest.mark.parametrize("act", OTHER_FILES, ids=lambda act: act.__name__)
def test_other_files_are_refused_by_everybody(folder, act):
    parts = listed_parts(folder)
    refuse_other_parts(folder, parts)
    assert is_release_of_parts(folder)
    act(folder)
    readers = (coterie.verify, coterie.load_release, coterie.read, lambda path: refuse_other_files(path, parts))
    for reader in readers:
        with pytest.raises(InputError, match=OTHER_FILES[act]):
            reader(folder)
    assert not is_release_of_parts(folder)


def test_other_bytes_are_refused(folder):
    parts = listed_parts(folder)
    part = folder / "part-00001.tsv"
    part.write_bytes(part.read_bytes().replace(b"w", b"v"))
    assert changed_parts(folder, parts) == ["part-00001.tsv"]
    for reader in (coterie.load_release, coterie.read):
        with pytest.raises(InputError, match=r"1 part is not as written \(part-00001.tsv\)"):
            reader(folder)
    assert coterie.verify(folder).exit_code == 1


def test_a_folder_is_no_file_and_a_file_no_folder(folder, tmp_path):
    (tmp_path / "other.tsv").write_bytes(b"".join(path.read_bytes() for path in sorted(folder.iterdir())))
    (tmp_path / "other.tsv.json").write_bytes((tmp_path / "safe.tsv.json").read_bytes())
    with pytest.raises(InputError, match="it is one file, and the sidecar names parts"):
        coterie.verify(tmp_path / "other.tsv")
    data = json.loads((tmp_path / "safe.tsv.json").read_text())
    (tmp_path / "safe.tsv.json").write_text(json.dumps({**data, "parts": []}))
    with pytest.raises(InputError, match="the sidecar names no parts"):
        coterie.verify(folder)


@pytest.mark.parametrize("text", ["[]", "{", '{"parts": 7}', '{"format": 5}'])
def test_a_file_of_that_name_may_be_anybodys(tmp_path, text):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs.json").write_text(text)
    assert listed_parts(tmp_path / "logs") == ()
    assert not is_release_of_parts(tmp_path / "logs")
