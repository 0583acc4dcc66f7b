"""Charts: what is drawn can be drawn, whatever people typed. Covers: reports/_charts.py

In processes of their own: a renderer that meets a character it cannot draw ends the whole process.
"""

import subprocess
import sys

import pytest

CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]
NO_CHARACTERS = [0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xFDD0, 0xFDEF, 0xFFFE, 0xFFFF, 0x1FFFE, 0x1FFFF, 0x10FFFE, 0x10FFFF]
DRAWN = """
from xml.dom.minidom import parseString
from coterie.reports._charts import bars, curves, dots, lines, trade_off
from coterie.reports.network import Network, draw
labels = [f"tea {chr(code)}x" for code in CODES]
panels = [
    dots(labels[0], labels, {"original": [1.0] * len(labels), "k = 5": [2.0] * len(labels)}),
    bars(labels[0], [(label, 50.0, "a") for label in labels], ["a"]),
    curves(labels[0], [(label, 5, 50.0) for label in labels[:6]]),
    trade_off((labels[0], labels[0]), [(label, label, 5.0, 50.0) for label in labels[:6]]),
]
network = Network(points=(1,) * len(labels), groups=(1,) * len(labels), lines=())
pictures = [panel.svg for panel in panels]
pictures.append(lines(labels[0], labels[0], [(label, 5.0, 50.0) for label in labels], [], False))
pictures.append(draw(network, labels, labels[0], "svg").decode())
for picture in pictures:
    parseString(picture)
print(pictures[-1].count("tea "))
"""


@pytest.mark.parametrize("codes", [CONTROLS, NO_CHARACTERS], ids=["controls", "no-characters"])
def test_no_character_ends_the_renderer(codes):
    done = subprocess.run(
        [sys.executable, "-c", DRAWN.replace("CODES", repr(codes))], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-300:]
    assert int(done.stdout) >= len(codes)


def test_labels_that_differ_in_such_a_character_stay_apart():
    from coterie.reports._charts import dots

    svg = dots("Queries", ["tea \x1b", "tea \x07"], {"original": [1.0, 2.0]}).svg
    assert "tea [U+001B]" in svg
    assert "tea [U+0007]" in svg
