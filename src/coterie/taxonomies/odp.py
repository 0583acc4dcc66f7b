"""Categories from a dump of the Open Directory (DMOZ, Curlie): `structure.rdf.u8` and `content.rdf.u8`.

Read line by line and tag by tag, because the dumps are gigabytes in size and not always well-formed XML. The structure
names the categories and describes them; the content lists pages, whose titles and number tell what a category is about.
Either file alone will do.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from coterie.core.files import byte_lines, head
from coterie.errors import InputError
from coterie.taxonomies.build import Categories
from coterie.taxonomies.table import check

_TAG = re.compile(
    rb'<(Topic) r:id="([^"]*)"|<(/Topic)()|<(ExternalPage)()|<(d:Title)>([^<]*)|<(d:Description)>([^<]*)|'
    rb"<(topic)>([^<]*)</topic>"
)
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
        found = [next(pair for pair in zip(tag[::2], tag[1::2], strict=True) if pair[0]) for tag in _TAG.findall(raw)]
        if not found:
            continue
        lines += 1
        try:
            tags = [(name, unescape(text.decode(encoding))) for name, text in found]
        except UnicodeError:
            bad += 1
            continue
        for name, text in tags:
            if name == b"Topic":
                category, title = text, ""
                categories.add_path(category.split("/"))
            elif name == b"/Topic":
                category = ""
            elif name == b"ExternalPage":
                category = title = ""
            elif name == b"d:Title":
                title = text
            elif name == b"d:Description" and category:
                categories.add_path(category.split("/"), title=text)
            elif name == b"topic":
                categories.add_path(text.split("/"), pages=1, title=title)
    if bad > _BAD * lines:
        raise InputError(
            f"{path.name}: {bad:,} lines are not in the encoding {encoding}. Say which it is: --encoding latin-1"
        )
    return [f"{path.name}: {bad:,} lines are not in the encoding {encoding} and were left out."] if bad else []
