"""`Target`: where one release goes and how it is written, and what is refused before any work is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from coterie import regimes
from coterie.core.digests import MOST_PARTS, sidecar_path
from coterie.core.files import COMPRESSIONS, Place, place_of
from coterie.core.log import Release
from coterie.core.promise import NOTHING
from coterie.core.shapes import QUERIES, Shape
from coterie.errors import ParameterError
from coterie.writing.record import is_of_record, record_files
from coterie.writing.targets import is_same_file, lies_in, refuse_folder, refuse_output, refuse_record

STDOUT = "-"
KINDS = ("tsv", "csv", "parquet", "jsonl", "ubi")
_SAME = {"ndjson": "jsonl"}
_FOR_SPREADSHEETS = ("tsv", "csv")
_OR_STDOUT = "Choose another name, or write to standard output with -o - --to KIND (in Python: path '-' and a kind)."


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where one release goes."""

    path: str
    """A file, a folder of parts or a place, or `-` for standard output."""
    kind: str | None = None
    """What to write, where the name does not say it."""
    sidecar: str | None = None
    record: Path | None = None
    force: bool = False
    """Whether files may be replaced."""
    csv_safe: bool = False
    """Whether an apostrophe stands before text that a spreadsheet would take for a formula."""
    parts: int | None = None
    """Of how many files it is a folder; None for one file."""
    promise: str | None = None
    """What the caller says that is promised: "none", for a method that promises nothing, and for no other."""
    regime: str = ""
    """The regime that the method was made after; its sidecar names it, and which settings are others."""
    inner: ClassVar = ("path", "regime")
    """Fields that are no options of `coterie.write`."""

    @classmethod
    def of(cls, path: str | Path, options: Mapping[str, Any]) -> Target:
        """A target from what `coterie.write` is given."""
        if unknown := [name for name in options if name not in cls.__dataclass_fields__ or name in cls.inner]:
            raise TypeError(f"write() got an unexpected keyword argument {unknown[0]!r}")
        given = {name: value for name, value in options.items() if value is not None}
        paths = {name: kind(given[name]) for name, kind in (("sidecar", str), ("record", Path)) if name in given}
        return cls(**{"path": str(path), **given, **paths})

    @property
    def place(self) -> Place | None:
        """The object store or the database that it is in; None for files and standard output."""
        return place_of(self.path)

    @property
    def is_stdout(self) -> bool:
        """Whether rows go to standard output."""
        return self.path == STDOUT

    @property
    def file(self) -> Path:
        """The file, or the folder of parts."""
        return Path(self.path)

    @property
    def file_kind(self) -> tuple[str, str | None]:
        """Kind and compression."""
        return kind_of(self.path, self.kind)

    @property
    def side(self) -> Path | None:
        """Where the sidecar goes; None where nobody asked for that of rows on standard output."""
        if self.sidecar is not None:
            return Path(self.sidecar)
        return None if self.is_stdout else sidecar_path(self.file)

    @property
    def label(self) -> str:
        """What people may read: a place without who logs in there."""
        return self.path if self.place is None else self.place.label

    @property
    def files(self) -> list[Path]:
        """The files of this machine that it will be, as far as their names are known."""
        elsewhere = self.is_stdout or self.place is not None
        rows = [] if elsewhere else [self.file, sidecar_path(self.file)]
        side = [] if self.sidecar is None else [Path(self.sidecar)]
        inside = [] if self.record is None else [self.record / name for name in record_files(self.record)]
        return [*rows, *side, *inside]

    def for_each(self, ks: Sequence[int | None]) -> list[Target]:
        """One target for each k: `{k}` in the names stands for it."""
        if len(set(ks)) < len(ks):
            raise ParameterError("--k names a number twice.")
        patterns = {
            "-o": (self.path, "out.{k}.tsv"),
            "--sidecar": (self.sidecar, "side.{k}.json"),
            "--record": (self.record, "record.{k}"),
        }
        for option, (pattern, example) in patterns.items():
            if len(ks) > 1 and pattern is not None and "{k}" not in str(pattern):
                raise ParameterError(f"Several k need a pattern for {option}, for example {option} {example}")

        def filled(pattern: str | Path, k: int | None) -> str:
            return str(pattern) if k is None else str(pattern).replace("{k}", str(k))

        return [
            replace(
                self,
                path=filled(self.path, k),
                sidecar=None if self.sidecar is None else filled(self.sidecar, k),
                record=None if self.record is None else Path(filled(self.record, k)),
            )
            for k in ks
        ]

    def refuse(self, inputs: Sequence[Path]) -> None:
        """Refuse before the work what would be refused after it."""
        if self.parts is not None:
            refuse_number_of_parts(self.parts)
        if self.place is None:
            self._refuse_files(inputs)
            return
        from coterie.writing.files import refuse_place

        refuse_place(self, self.place)

    def _refuse_files(self, inputs: Sequence[Path]) -> None:
        if self.parts is not None:
            self._refuse_parts()
        if self.is_stdout and self.kind is None:
            raise ParameterError("Say what to write to standard output: --to tsv, csv, parquet, jsonl or ubi.")
        if not self.is_stdout and not refuse_folder(self.file, self.force, inputs):
            refuse_output(self.file, self.force, inputs, _OR_STDOUT)
        self.refuse_spreadsheets()
        if self.side is not None:
            refuse_output(self.side, self.force, inputs)
        outputs = [path for path in (None if self.is_stdout else self.file, self.side) if path is not None]
        inside = [path for path in (self.side, self.record) if path is not None and lies_in(path, self.file)]
        if inside and not self.is_stdout:
            raise ParameterError(f"{inside[0]} lies in the release itself. Choose a place outside of {self.path}.")
        if self.record is not None:
            refuse_record(self.record, record_files(self.record), self.force, inputs)
            for path in outputs:
                if is_of_record(path, self.record):
                    raise ParameterError(
                        f"{path} would be written twice: the record may have a file of that name. Choose another."
                    )
            outputs += [self.record / name for name in record_files(self.record)]
        for place, path in enumerate(outputs):
            if any(is_same_file(path, other) for other in outputs[:place]):
                raise ParameterError(f"{path} would be written twice. Choose another name for one of the two files.")

    def _refuse_parts(self) -> None:
        """Refuse what does not go together with a folder of parts."""
        if self.is_stdout:
            raise ParameterError("--parts writes a folder of files, and standard output is none. Give a name with -o.")
        if self.sidecar is not None:
            says = "The sidecar of parts lies beside their folder, because it names them: leave out --sidecar."
            raise ParameterError(says)

    def refuse_spreadsheets(self) -> None:
        """Refuse `csv_safe` for files that spreadsheets do not open."""
        if self.file_kind[0] not in _FOR_SPREADSHEETS and self.csv_safe:
            raise ParameterError(
                "--csv-safe is for csv and tsv, which spreadsheets open. Leave it out, or write one of them."
            )

    def refuse_shape(self, shape: Shape) -> None:
        """Refuse a kind of file that cannot hold such rows; a table of a database holds any."""
        if self.place is None or not self.place.is_database:
            refuse_kind(self.file_kind[0], shape)

    def named(self, release: Release, note: Callable[[str], None]) -> Release:
        """A release that names the regime whose settings it has; `note` hears which of them are others."""
        if not self.regime:
            return release
        regime = regimes.load(self.regime)
        details = release.log.shape.further
        changed = regime.changed(release.params, release.log.steps, details)
        ours = {**regime.settings, "prepare": ",".join(regime.prepare), "details": "none"}
        theirs = {**release.params, "prepare": ",".join(release.log.steps), "details": ",".join(details)}
        others = ", ".join(f"{name} = {theirs[name]} in place of {ours[name]}" for name in changed)
        note(f"Regime {self.regime}: {regime.title}" + (f"; changed: {others}." if others else "."))
        return replace(release, regime=self.regime, changed=changed)


def kind_of(path: str | Path, kind: str | None = None) -> tuple[str, str | None]:
    """File kind and compression from a name, or from `kind` such as `tsv.gz`."""
    text = kind or Path(path).name
    suffixes = text.split(".") if kind else text.split(".")[1:]
    *_, stem, suffix = "", "", *suffixes
    compression = None
    if suffix in COMPRESSIONS:
        compression, suffix = suffix, stem
    suffix = _SAME.get(suffix, suffix)
    if suffix not in KINDS or (compression and suffix == "parquet"):
        raise ParameterError(
            f"{text!r} does not say what to write. Use one of {', '.join(KINDS)}, the text kinds also with "
            f".gz or .zst" + ("." if kind else ", as the end of the name or with --to.")
        )
    if kind and _says_another_kind(path, (suffix, compression)):
        raise ParameterError(f"{Path(path).name} is not the name of a file of kind {kind}. Change one of the two.")
    return suffix, compression


def _says_another_kind(path: str | Path, kind: tuple[str, str | None]) -> bool:
    """Whether the name of a file would mislead those who read it."""
    is_json = "jsonl" if kind[0] == "ubi" else kind[0]  # which says nothing about the fields
    try:
        return kind_of(path) not in (kind, (is_json, kind[1]))
    except ParameterError:  # a name that says nothing, or standard output
        return False


def refuse_promise(method: str, nothing: bool, promise: str | None) -> None:
    """ParameterError where a release that promises nothing is not asked for as such, or another one is."""
    if nothing and promise != NOTHING:
        raise ParameterError(
            f"{method} promises nothing about the people in a log. Its release is written only if you say so: "
            f"--promise {NOTHING} (in Python: promise={NOTHING!r})."
        )
    if not nothing and promise is not None:
        raise ParameterError(f"{method} says itself what it promises: leave out --promise.")


def refuse_kind(kind: str, shape: Shape) -> None:
    """Refuse a kind of file that cannot hold rows of a shape."""
    if kind == "ubi" and shape.of_log is not QUERIES:
        also = f" with {', '.join(shape.further)}" if shape.further else ""
        raise ParameterError(
            f"UBI holds queries and clicks, and this release is {shape.name}{also}. Write another kind."
        )


def refuse_number_of_parts(parts: int) -> None:
    """Raise ParameterError where a release cannot have so many parts."""
    if isinstance(parts, bool) or not isinstance(parts, int) or not 1 <= parts <= MOST_PARTS:
        raise ParameterError(f"--parts must be a whole number from 1 to {MOST_PARTS:,}.")
