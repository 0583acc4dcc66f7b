"""Pages whose commands are run: what stands below a command is what it printed.

The blocks of a page are worked through in order, in one empty folder.

- A block of `console` has commands after `$ `, run by bash; what they print is put below them. A command ends with
  `# exit code 1` where it is to fail. `coterie` is the one of this environment.
- A block of `python` is a program of its own. What it prints is put into the block of `text` below, if there is one.
- A block after `<!-- file: NAME -->` is written to that file.

All other blocks are left as they are.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

_BLOCK = re.compile(
    r"(?P<file><!-- file: (?P<name>\S+) -->\n)?```(?P<language>\w+)\n(?P<body>.*?)```\n"
    r"(?P<printed>\n```text\n.*?```\n)?",
    re.S,
)
_FAILS = re.compile(r"#\s*exit code (\d+)$")
_WIDTH = 118


class WrongCommandError(Exception):
    """A command of a page did not end as the page says."""


def executed(text: str) -> str:
    """The page with what its commands print."""
    with tempfile.TemporaryDirectory() as folder:
        return _BLOCK.sub(lambda found: _block(found, Path(folder)), text)


def _block(found: re.Match[str], folder: Path) -> str:
    whole, printed = found[0], found["printed"] or ""
    if found["name"]:
        (folder / found["name"]).write_text(found["body"], encoding="utf-8")
        return whole
    if found["language"] == "console":
        commands = re.findall(r"^\$ (.*(?:\\\n.*)*)", found["body"], re.M)
        told = "\n".join(_console(command, folder) for command in commands)
        return f"```console\n{told.rstrip()}\n```\n{printed}"
    if found["language"] == "python":
        told = _run([sys.executable, "-c", found["body"]], folder, found["body"], 0)
        return whole.removesuffix(printed) + (f"\n```text\n{told}\n```\n" if printed else "")
    return whole


def _console(command: str, folder: Path) -> str:
    fails = _FAILS.search(command)
    told = _run(["bash", "-c", _shell(command)], folder, command, int(fails[1]) if fails else 0)
    return f"$ {command}\n{told}\n" if told else f"$ {command}"


def _shell(command: str) -> str:
    """A program for bash in which `coterie` is ours, wherever it is installed."""
    return f'coterie() {{ {shlex.quote(sys.executable)} -m coterie "$@"; }}\nset -o pipefail\n{command}'


def _run(command: list[str], folder: Path, shown: str, code: int) -> str:
    """What a command prints, on either stream, in lines of a page."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "COTERIE_CACHE": str(folder / ".cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != code:
        raise WrongCommandError(f"{shown}\nended with {done.returncode}, not {code}:\n{done.stdout}")
    told = [line for line in done.stdout.rstrip().splitlines() if not line.startswith("Compiling")]  # once only
    return "\n".join(textwrap.fill(line, _WIDTH, subsequent_indent="  ").rstrip() for line in told)
