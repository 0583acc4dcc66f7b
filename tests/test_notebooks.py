"""The notebooks run from their first cell to the last, on made-up logs."""

import json
import sys
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient", reason="needs the dev extra")
nbformat = pytest.importorskip("nbformat", reason="needs the dev extra")
NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    """A kernel of this Python, and nothing of the machine's own settings."""
    folder = tmp_path / "kernels" / "python3"
    folder.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (folder / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "Python 3", "language": "python"}))
    for name, value in {"JUPYTER_PATH": tmp_path, "JUPYTER_RUNTIME_DIR": tmp_path, "IPYTHONDIR": tmp_path}.items():
        monkeypatch.setenv(name, str(value))


def _shown(cell):
    return "".join(str(text) for output in cell.outputs for text in output.get("data", {}).values())


@pytest.mark.filterwarnings("default")  # of the kernel and its client
def test_the_tour_runs_and_shows_no_value(kernels, tmp_path):
    (path,) = NOTEBOOKS
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [_shown(cell) for cell in notebook.cells if cell.cell_type == "code"]
    assert any("Release: suppress_rare, k = 5" in text for text in shown)
    assert any("The promise holds." in text for text in shown)
    assert any("crowd.query" in text and "digest" in text for text in shown), "the forged row is found"
    assert any("Columns were guessed: query = q, user = cookie" in text for text in shown)


def test_notebooks_are_kept_without_results():
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text())["cells"]
        assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in cells), path.name
