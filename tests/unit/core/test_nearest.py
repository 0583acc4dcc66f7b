"""The nearest known name."""

import re
from pathlib import Path

import coterie
from coterie.errors import did_you_mean, nearest


def test_the_nearest_name():
    assert nearest("qurey", ("user", "query")) == "query"
    assert nearest("zzz", ("user", "query")) is None
    assert did_you_mean("qurey", {"user": 1, "query": 2}) == " Did you mean 'query'?"
    assert did_you_mean("zzz", ["user"]) == ""


def test_one_file_knows_how_near_names_are():
    src = Path(coterie.__file__).parent
    users = [path for path in src.rglob("*.py") if re.search(r"\bdifflib\b", path.read_text(encoding="utf-8"))]
    assert users == [src / "errors.py"]
