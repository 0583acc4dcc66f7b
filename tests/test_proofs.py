"""Every step of a proof is named where the code takes it, and the code names no step that the page does not have."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "proofs").glob("*.md"))
LABEL = re.compile(r"(?<=[\" ])\[([1-9]|P|D|L\d)\](?=[ :])")
CODE = {
    "private_counts.md": [
        *(ROOT / "src" / "coterie" / "methods" / "private_counts").glob("*.py"),
        ROOT / "src" / "coterie" / "promises" / "differential_privacy.py",
    ]
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_labels(page):
    steps = set(re.findall(r"\*\*\[(\d|P|D|L\d)\]", page.read_text(encoding="utf-8")))
    texts = [file.read_text(encoding="utf-8") for file in CODE[page.name]]
    named = {label for text in texts for label in LABEL.findall(text)}
    assert len(steps) > 10
    assert named == steps
