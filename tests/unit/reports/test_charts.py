"""Charts: what is drawn can be drawn, whatever people typed. Covers: reports/_charts.py

In processes of their own: a renderer that meets a character it cannot draw ends the whole process.
"""

import re
import subprocess
import sys

import pytest

from coterie.reports._charts import COLOURS, bars, curves, dots, lines, sign_svg, trade_off

CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]
NO_CHARACTERS = [0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xFDD0, 0xFDEF, 0xFFFE, 0xFFFF, 0x1FFFE, 0x1FFFF, 0x10FFFE, 0x10FFFF]
DRAWN = """
from xml.dom.minidom import parseString
from coterie.reports._charts import bars, curves, dots, lines, trade_off
from coterie.reports.drawing import Network, draw_network
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
pictures.append(draw_network(network, labels, labels[0], "svg").decode())
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
    svg = dots("Queries", ["tea \x1b", "tea \x07"], {"original": [1.0, 2.0]}).svg
    assert "tea [U+001B]" in svg
    assert "tea [U+0007]" in svg


LONG = [f"a_method_with_a_long_name (publish={what})" for what in ("queries", "phrases")]


def test_the_legend_has_names_whole():
    panel = curves("Kept", [(line, k, 50.0) for line in LONG for k in (3, 5)])
    assert [sign.name for sign in panel.signs] == list(LONG)
    assert len({sign.colour for sign in panel.signs}) == len({sign.mark for sign in panel.signs}) == len(LONG)
    assert all(sign.colour in panel.svg and sign.colour in sign_svg(sign) for sign in panel.signs)
    assert all(line in panel.alt for line in LONG)
    assert curves("Kept", [("one", k, 50.0) for k in (3, 5)]).signs == ()


def test_names_beside_bars_are_wrapped_and_never_cut():
    name = "interest_microaggregate k=10, m=10 and something_without_a_place_to_break_it"
    lines = bars("Kept", [(name, 50.0, "a")], ["a"]).svg
    texts = re.findall(r"<tspan[^>]*>([^<]*)</tspan>", lines)
    assert "…" not in lines
    assert "".join(texts).replace(" ", "") == name.replace(" ", "")


def test_a_file_is_as_wide_as_its_longest_name():
    long = "Random groups: interest_microaggregate (publish=queries) exposed mean and still more of it"
    drawn = lines("Title", "k", [(long, 3, 1.0), (long, 5, 2.0), ("b", 3, 1.0)], [], percent=True)
    assert long in drawn
    assert "…" not in drawn


def test_names_that_would_become_equal_stay_whole():
    names = [f"a_method_with{middle}a_long_name_and_settings" for middle in ("_x_", "_y_")]
    panel = bars("Kept", [(name, 50.0, "a") for name in names], ["a"])
    assert panel.svg.count("with_x_") == panel.svg.count("with_y_") == 1


def test_a_line_has_one_colour_in_all_maps():
    points = [(line, line, 5.0 + n, 50.0) for n, line in enumerate(LONG)]
    every = ["suppress_rare", *LONG]
    with_all = trade_off(("risk", "use"), [("suppress_rare", "", 5.0, 40.0), *points], every=every)
    with_some = trade_off(("risk", "use"), points, every=every)
    blue, orange, green = COLOURS[:3]
    assert {blue, orange, green} <= set(re.findall("#[0-9a-f]{6}", with_all.svg))
    assert {orange, green} <= set(colours := re.findall("#[0-9a-f]{6}", with_some.svg))
    assert blue not in colours


@pytest.mark.parametrize("share", [90.0, 122.0, 400.0])
def test_more_than_all_is_drawn_inside_the_picture(share):
    for panel in (
        curves("Rows kept", [("a", 3, share), ("b", 3, 20.0), ("a", 5, 50.0)]),
        trade_off(("risk", "use"), [("a", "", 5.0, share), ("b", "", 6.0, 20.0), ("b", "", 6.0, 50.0)]),
    ):
        marks = re.findall(r'transform="translate\(([-\d.]+),([-\d.]+)\)"[^>]*d="M', panel.svg)
        assert len(marks) >= 3
        assert all(float(y) >= 0 for _, y in marks)
