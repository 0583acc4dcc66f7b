"""Categories from a dump of the Open Directory (DMOZ, Curlie): `structure.rdf.u8` and `content.rdf.u8`.

Read line by line, because the dumps are gigabytes in size and not always well-formed XML. The structure names the
categories and describes them; the content lists pages, whose titles and number tell what a category is about. Either
file alone will do.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from coterie.core.files import byte_lines, head
from coterie.errors import InputError
from coterie.taxonomies.build import Categories
from coterie.taxonomies.lines import check

_WANTED = (b"<Topic", b"</Topic", b"<ExternalPage", b"<d:Title", b"<d:Description", b"<topic")
_CATEGORY = re.compile(r'<Topic r:id="([^"]*)"')
_TITLE = re.compile(r"<d:Title>([^<]*)")
_DESCRIPTION = re.compile(r"<d:Description>([^<]*)")
_PLACE = re.compile(r"<topic>([^<]*)</topic>")
_BAD = 0.01  # share of lines in a wrong encoding from which the file is refused


def is_dump(path: Path) -> bool:
    """Whether a file looks like a dump: by its first lines."""
    return any("<RDF" in line for line in head(path)[:20])


def read(path: Path, categories: Categories, encoding: str) -> list[str]:
    """Add the categories of a file; what there is to say about it."""
    check(encoding)
    lines = bad = 0
    category, title = "", ""
    for _, raw in byte_lines(path):
        stripped = raw.strip()
        if not stripped.startswith(_WANTED):
            continue
        lines += 1
        try:
            line = stripped.decode(encoding)
        except UnicodeError:
            bad += 1
            continue
        if match := _CATEGORY.match(line):
            category = unescape(match[1])
            categories.add_path(category.split("/"))
        elif line.startswith("</Topic"):
            category = ""
        elif line.startswith("<ExternalPage"):
            category = title = ""
        elif match := _TITLE.match(line):
            title = unescape(match[1])
        elif category and (match := _DESCRIPTION.match(line)):
            categories.add_path(category.split("/"), title=unescape(match[1]))
        elif match := _PLACE.match(line):
            categories.add_path(unescape(match[1]).split("/"), pages=1, title=title)
    if bad > _BAD * lines:
        raise InputError(
            f"{path.name}: {bad:,} lines are not in the encoding {encoding}. Say which it is: --encoding latin-1"
        )
    return [f"{path.name}: {bad:,} lines are not in the encoding {encoding} and were left out."] if bad else []
