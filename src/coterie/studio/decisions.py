"""Decide: one folder with the release, its sidecar, the report to sign, and what repeats it every night.

The release is made anew from the log by the job that the command line calls, and checked before it is written; the
report attacks what was written. The private run record says who became whom: it stays in the studio, and goes with it,
unless its owner asks for it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie import jobs
from coterie.core.scratch import Scratch
from coterie.errors import InputError, MissingError
from coterie.measuring import report_files
from coterie.reports.about import read_about
from coterie.steps import parse_steps
from coterie.studio import commands
from coterie.studio.fields import method_of
from coterie.studio.plain import Offer, Source, Written

if TYPE_CHECKING:
    from coterie.studio.tasks import Bench

RELEASE, REPORT, PAPER, ABOUT, SETTINGS, COMMANDS, RECORD = (
    "release", "report.html", "report.pdf", "about.toml", "settings.toml", "commands.txt", "private-record"
)  # fmt: skip


def decide(
    bench: Bench,
    tell: Callable[..., None],
    source: Source,
    offer: Offer,
    typed: Mapping[str, str],
    folder: str,
    kind: str,
    about: Mapping[str, Any],
    keep_record: bool,
) -> Written:
    """Write everything that a decision needs into a new folder."""
    method = method_of(offer.name, typed)
    place = _new_folder(folder)
    out = place / f"{RELEASE}.{kind}"
    record = place / RECORD if keep_record else bench.folder / "decided" / f"{abs(hash(str(place)))}.record"
    record.parent.mkdir(mode=0o700, exist_ok=True)
    notes: list[str] = []
    made_up = source.paths[0].startswith("synth:")

    def progress(step: str, share: float | None = None) -> None:
        order = ("read", "learn", "plan", "release", "verify", "write", "report")
        at = order.index(step) if step in order else 0
        tell(_SAID.get(step, step), 0.5 if step == "report" else 0.5 * (at + (share or 0)) / (len(order) - 1))

    place.mkdir(exist_ok=True)
    done = jobs.anonymize_files(
        source.paths,
        [method],
        [jobs.Target(path=str(out), record=record)],
        reading=source.reading,
        steps=parse_steps(source.prepare),
        history=None if source.kept and not made_up else "none",
        progress=progress,
        note=notes.append,
    )[0]
    notes += done.warnings
    progress("report")
    (place / ABOUT).write_text(_about(about), encoding="utf-8")
    broken = report_files(
        [str(out)],
        source.paths,
        place / REPORT,
        records=[record],
        reading=source.reading,
        about=read_about(place / ABOUT),
        note=notes.append,
    )
    if broken:
        raise InputError("The log changed while the release was made from it. Decide again.")
    tell("Printing the report", 0.95)
    pdf = printed(place / REPORT, place / PAPER)
    (place / SETTINGS).write_text(commands.settings(source, offer, typed), encoding="utf-8")
    (place / COMMANDS).write_text(_commands(source, offer, out.name, keep_record), encoding="utf-8")
    files = [
        (out.name, "the release, which may leave the house"),
        (f"{out.name}.json", "its sidecar: the promise, the checks and the digest; give it along"),
        (REPORT, "the page to read and sign"),
        *([(PAPER, "the same on paper")] if pdf else []),
        (ABOUT, "what you wrote: purpose, recipient, reason"),
        (SETTINGS, "the settings, for a nightly job"),
        (COMMANDS, "the same from the command line"),
        *([(RECORD, "who became whom: it undoes the release, so keep it to yourself")] if keep_record else []),
    ]
    return Written(
        folder=str(place), files=tuple(files), sentence=done.sentence, sha256=_digest(out), notes=tuple(notes),
        report=str(place / REPORT), pdf=pdf,
    )  # fmt: skip


_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--no-pdf-header-footer",
)  # fmt: skip
_PATIENCE = 120  # seconds
_SAID = {
    "read": "Reading the log",
    "learn": "Learning what does not depend on k",
    "plan": "Deciding",
    "release": "Applying the decision",
    "verify": "Checking the promise with other code",
    "write": "Writing the release",
    "report": "Attacking what was written, and writing the report",
}


def _new_folder(text: str) -> Path:
    """A folder that is not there yet, or is empty."""
    place = Path(text.strip()).expanduser().absolute()
    if not text.strip():
        raise InputError("Say where to write: the name of a new folder.")
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise InputError(f"{place} is there already. Choose another folder.")
    if not place.parent.is_dir():
        raise MissingError(f"The folder {place.parent} does not exist. Make it first.")
    return place


def _about(about: Mapping[str, Any]) -> str:
    """What people wrote, for `coterie report --about`; thresholds are a table of their own, and come last."""
    said = {name: text for name, text in about.items() if text and name != "thresholds"}
    limits = about.get("thresholds")
    return commands.toml(said) + (f"\n[thresholds]\n{commands.toml(limits)}" if limits else "")


def printed(page: Path, to: Path) -> bool:
    """A page as PDF, where there is a Chromium; whether there is one now."""
    chromium = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if chromium is None:
        return False
    profile, alone = Scratch(), [] if os.getuid() else ["--no-sandbox"]  # which cannot be for root
    part = profile.path / to.name
    command = [chromium, *_FLAGS, *alone, f"--user-data-dir={profile.path}", f"--print-to-pdf={part}", page.as_uri()]
    with suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False)  # noqa: S603 (found, not typed)
    if not part.is_file() or not part.read_bytes().startswith(b"%PDF"):
        return False
    shutil.copyfile(part, to)
    return True


def _digest(path: Path) -> str:
    from coterie.writing.files import sha256

    return sha256(path)


def _commands(source: Source, offer: Offer, out: str, keep_record: bool) -> str:
    names = shlex.join(source.names)
    record = RECORD if keep_record else ""
    nightly = f"coterie anonymize {offer.name} {names} -o NIGHT.{out.partition('.')[2]} --config {SETTINGS} --quiet"
    lines = [
        "# The same release, checked before it is written:",
        f"coterie anonymize {offer.name} {names} -o {out} --config {SETTINGS}",
        "",
        "# Check it again, as anybody can who has the log:",
        commands.verify(out, source),
        "",
        "# The page to sign:",
        commands.report(source, [out], REPORT, [record] if record else [], ABOUT),
        "",
        "# Every night at two, in a crontab. It ends with 0 if written, 1 if the promise would be broken, else 2:",
        f"0 2 * * *  cd FOLDER && {nightly}",
        "",
        "# Two releases of one log can be laid side by side. For a log that grows, use: coterie append",
    ]
    return "\n".join(lines) + "\n"
