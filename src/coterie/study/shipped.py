"""Studies that come with Coterie: found by name, and the one that a new study begins with.

They stand in `studies/` of a clone, and in the folder `studies` of an installed package.
"""

from __future__ import annotations

from pathlib import Path

import coterie
from coterie.errors import MissingError, did_you_mean
from coterie.writing.targets import placed

FIRST = "quick"
_PACKAGE = Path(coterie.__file__).parent


def shipped() -> dict[str, Path]:
    """The studies that come along, by name."""
    places = (_PACKAGE / "studies", _PACKAGE.parents[1] / "studies")
    folder = next((place for place in places if (place / f"{FIRST}.toml").is_file()), None)
    return {} if folder is None else {path.stem: path for path in sorted(folder.glob("*.toml"))}


def located(file: Path) -> tuple[Path, Path | None]:
    """The study that somebody asked for: a file or, where there is none, one that comes along; and where results go.

    Results of one that comes along go to the folder where the caller is, because a package is no place to write to.
    """
    if file.exists() or file.suffix == ".toml" or len(file.parts) > 1:
        return file, None
    known = shipped()
    if file.name not in known:
        hint = did_you_mean(file.name, list(known))
        raise MissingError(
            f"{file}: no such study file, and no study that comes along.{hint} Those: {', '.join(known)}."
        )
    return known[file.name], Path(f"{file.name}.results")


def write_first(to: Path, force: bool = False) -> None:
    """A study to begin with, to be changed: two methods, three k, a picture and a report, in less than a minute."""
    text = shipped()[FIRST].read_text(encoding="utf-8")
    lines = [line.replace("coterie study quick", f"coterie study {to.name}") if line.startswith("#   ") else line
             for line in text.splitlines(keepends=True)]  # fmt: skip
    with placed(to, force) as part:
        part.write_text("".join(lines), encoding="utf-8")
