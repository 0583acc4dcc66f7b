"""How large each room of the package is beside its ceiling in tests/budgets.toml: code lines and files.

    .venv/bin/python tools/budgets.py            # the table; exits 1 where a ceiling is passed
    .venv/bin/python tools/budgets.py --lower    # writes today's figures where they are below the ceilings

A room is a folder of `src/coterie`; the modules beside the folders are one room together. A code line is neither blank
nor comment nor docstring (a text that explains an attribute is a docstring). `--lower` never raises a ceiling: a new
room takes its figures from what the total leaves, and a room that shall grow gets its ceiling by hand, with the reason
in the commit.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "coterie"
BUDGETS = ROOT / "tests" / "budgets.toml"
TOP = "top_level"
HEADER = """\
# Ceilings of each room of src/coterie: code lines (neither blank nor comment nor docstring) and files.
# `top_level` are the modules beside the folders. tests/test_architecture.py fails above a ceiling;
# `tools/budgets.py --lower` writes lower ones. They only fall; who raises one by hand says why.
"""
_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip


class Size(NamedTuple):
    """Code lines and files: what there is, or what is allowed."""

    code: int
    files: int

    def beyond(self, ceiling: Size) -> bool:
        return self.code > ceiling.code or self.files > ceiling.files

    def lower(self, other: Size) -> Size:
        return Size(min(self.code, other.code), min(self.files, other.files))


def code_lines(source: str) -> int:
    """How many lines of a module are neither blank nor comment nor docstring."""
    used: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            used |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                used -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = source.splitlines()
    return sum(bool(lines[number - 1].strip()) for number in used)


def sizes(src: Path = SRC) -> dict[str, Size]:
    """Room -> its size today."""
    found: dict[str, Size] = {}
    for path in sorted(src.rglob("*.py")):
        inside = path.relative_to(src).parts
        room = inside[0] if len(inside) > 1 else TOP
        code, files = found.get(room, (0, 0))
        found[room] = Size(code + code_lines(path.read_text(encoding="utf-8")), files + 1)
    return found


def total(rooms: dict[str, Size]) -> Size:
    return Size(sum(room.code for room in rooms.values()), sum(room.files for room in rooms.values()))


def ceilings(path: Path = BUDGETS) -> tuple[dict[str, Size], Size]:
    """Room -> its ceiling, and the ceiling of all together."""
    said = tomllib.loads(path.read_text(encoding="utf-8"))
    return {room: Size(**size) for room, size in said["rooms"].items()}, Size(**said["total"])


def passed(today: dict[str, Size], rooms: dict[str, Size], of_all: Size) -> list[str]:
    """A sentence for each room that is larger than its ceiling, and for the total."""
    said = []
    for room, size in sorted(today.items()):
        if room not in rooms:
            said.append(f"{room}: {_words(size)}, and no ceiling; tools/budgets.py --lower gives it one")
        elif size.beyond(rooms[room]):
            said.append(f"{room}: {_words(size)}; at most {_words(rooms[room])}")
    said += [f"{room}: has a ceiling and no files" for room in sorted(set(rooms) - set(today))]
    if total(today).beyond(of_all):
        said.append(f"all rooms: {_words(total(today))}; at most {_words(of_all)}")
    return said


def lowered(today: dict[str, Size], rooms: dict[str, Size], of_all: Size) -> tuple[dict[str, Size], Size]:
    """The ceilings that today's figures allow: none is above what it was, and a new room counts in the total."""
    known = {room: size for room, size in today.items() if room in rooms}
    if any(size.beyond(rooms[room]) for room, size in known.items()) or total(today).beyond(of_all):
        raise SystemExit("\n".join(["Ceilings only fall.", *passed(today, rooms, of_all)]))
    return {room: size.lower(rooms.get(room, size)) for room, size in sorted(today.items())}, total(today).lower(of_all)


def text_of(rooms: dict[str, Size], of_all: Size) -> str:
    lines = [f"{room} = {{ code = {size.code}, files = {size.files} }}" for room, size in sorted(rooms.items())]
    return f"{HEADER}\n[total]\ncode = {of_all.code}\nfiles = {of_all.files}\n\n[rooms]\n" + "\n".join(lines) + "\n"


def _words(size: Size) -> str:
    return f"{size.code:,} code lines in {size.files} files"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lower", action="store_true", help="write lower ceilings")
    lower = parser.parse_args().lower
    today = sizes()
    rooms, of_all = ceilings()
    if lower:
        rooms, of_all = lowered(today, rooms, of_all)
        BUDGETS.write_text(text_of(rooms, of_all), encoding="utf-8")
    print(f"{'room':12}{'code':>8}{'ceiling':>9}{'files':>7}{'ceiling':>9}")
    for room, size, ceiling in [
        *((room, size, rooms.get(room, Size(0, 0))) for room, size in sorted(today.items())),
        ("all", total(today), of_all),
    ]:
        print(f"{room:12}{size.code:8,}{ceiling.code:9,}{size.files:7}{ceiling.files:9}")
    if wrong := passed(today, rooms, of_all):
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
