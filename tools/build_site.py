"""Build the documentation site: `python tools/build_site.py FOLDER`. Whatever is wrong with a link ends it.

The site is `docs/` and the pages at the root of the repository, with the navigation of `zensical.toml`. It is built
in a temporary folder, so that nothing is left over from an earlier build, and nothing half-built replaces a site.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
ROOT_PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages that code hosts look for at the root, and their names on the site."""
_LINK = re.compile(r"(?P<bang>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)#\s]*)(?P<anchor>#[^)\s]*)?\)")


def build(into: Path) -> None:
    """Build the site as `into`, which is replaced."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder)
        stage(source)
        # mkdocstrings reads docstrings from here, whatever is installed.
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(source / "zensical.toml")],
            cwd=source,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode != 0:
            raise SystemExit(done.stdout + "The site was not built.")
        if wrong := faults(source / "site"):
            raise SystemExit("\n".join([*wrong, "The site was not built."]))
        shutil.rmtree(into, ignore_errors=True)
        shutil.copytree(source / "site", into)


def faults(site: Path) -> list[str]:
    """What a reader without a network would miss: things loaded from elsewhere, and files that are not there."""
    wrong = []
    for page in sorted(site.rglob("*.html")):
        found = _Addresses()
        found.feed(page.read_text(encoding="utf-8"))
        here = page.relative_to(site).as_posix()
        for tag, address in found.addresses:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if tag != "a" and parts.scheme != "data":
                    wrong.append(f"{here} loads {address}")
            elif parts.path and page.name != "404.html" and not (page.parent / unquote(parts.path)).exists():
                wrong.append(f"{here} points at {parts.path}, which is not there")
    for style in sorted(site.rglob("*.css")):
        if re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8")):
            wrong.append(f"{style.relative_to(site).as_posix()} loads something from elsewhere")
    return wrong


class _Addresses(HTMLParser):
    """What a page points at: (tag, address)."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [(tag, value) for name, value in attrs if name in ("src", "href") and value]


def stage(source: Path) -> None:
    """All that the site is made of, in one folder, with links as they are there."""
    shutil.copy(ROOT / "zensical.toml", source)
    shutil.copytree(ROOT / "docs", source / "docs")
    for page, name in ROOT_PAGES.items():
        text = (ROOT / page).read_text(encoding="utf-8")
        (source / "docs" / name).write_text(_LINK.sub(_from_root, text), encoding="utf-8")
    for page in (source / "docs").rglob("*.md"):
        up = "../" * (len(page.relative_to(source / "docs").parts) - 1)
        text = page.read_text(encoding="utf-8")
        page.write_text(_LINK.sub(lambda found, up=up: _within(found, up), text), encoding="utf-8")


def _from_root(found: re.Match[str]) -> str:
    """A link of a page at the root, as it is in `docs`; files that are not on the site are named only."""
    target, anchor = found["target"], found["anchor"] or ""
    if "://" in target or not target:
        return found[0]
    if target.startswith("docs/"):
        return f"{found['bang']}[{found['text']}]({_of_folder(target.removeprefix('docs/'))}{anchor})"
    if target in ROOT_PAGES:
        return f"[{found['text']}]({ROOT_PAGES[target]}{anchor})"
    return found["text"]


def _within(found: re.Match[str], up: str) -> str:
    """A link of a page of `docs` to one at the root, as it is on the site."""
    name = found["target"].rpartition("/")[2]
    if found["target"] == f"{up}../{name}":
        return (
            f"[{found['text']}]({up}{ROOT_PAGES[name]}{found['anchor'] or ''})" if name in ROOT_PAGES else found["text"]
        )
    return found[0]


def _of_folder(target: str) -> str:
    """Code hosts show a folder by its README."""
    return f"{target.rstrip('/')}/README.md" if (ROOT / "docs" / target).is_dir() else target


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    build(folder)
    print(f"Open {folder}/index.html")
