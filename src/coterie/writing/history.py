"""History: the private list of a log's releases, kept beside the log. Two releases of one log can be compared.

The file has one line for each release that was written: of which log, by its name and its digest, how it was made, and
what was written. It holds no value of the log. Rows that were released before are no second release.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from coterie.core.declared import Declared, DeclaredFile, Scalar, as_declared, format_of, json_bytes, json_object
from coterie.core.groups import GROUPS_DIGEST, GROUPS_OF
from coterie.core.log import Release
from coterie.errors import InputError, InternalError, MissingError, ParameterError
from coterie.formats._source import HISTORY_ENDING
from coterie.writing.targets import is_same_file, put_in_place, refuse_existing, temporary

FORMAT = 1
NONE = "none"
_WHICH_LOG = "If this is the same log, packed or named otherwise, say so: --log-name NAME."
_ELSEWHERE = "Give another file with --history FILE, or say --history none."
COST = "Whoever has both can lay them side by side, and k then holds for neither. Publish one of them only."
COST_OF_PROFILES = (
    "For 1,000 real users of AOL's log, released by microaggregate and by interest_microaggregate (k = 5), and an "
    "attacker who knew five queries of a person, 94% of the queries that both profiles had in common were that "
    "person's own, and in 97% of cases the two groups had nobody else in common."
)
GROUPS_AGAIN = (
    "For profiles there is a way that adds hardly anything: a release on the same groups of users, or on unions of "
    "them for a larger k, with --groups-of DIR, the run record of the earlier release."
)
SAME_GROUPS = "users are in the same groups as before"
UNIONS = "the groups of one are unions of those of the other"
_CONCEPTS = 10**9  # stand for more than any number of users have in common
NOTHING_MORE = (
    "Whoever has all of them learns hardly anything that the one with the smallest groups does not tell alone."
)
FINER = (
    "But it publishes what fewer users have in common than before, so it tells more about the same people. Publish one "
    "of them only."
)


class Released(Declared, frozen=True, kw_only=True):
    """One release of a log."""

    log: str
    """The name that its owner gave the log."""
    input_digest: str
    method: str
    parameters: dict[str, Scalar | tuple[Scalar, ...]]
    prepare: tuple[str, ...]
    headline: str
    released_sha256: str
    rows: tuple[int, ...]
    """Fingerprint of the released rows: the same rows in another kind of file are no second release."""
    groups: str = ""
    """Digest of who is in which group, where users are in groups."""
    groups_of: tuple[str, ...] = ()
    """Digests of the earlier groups that these are unions of, the nearest first."""
    date: str

    @property
    def unions_of(self) -> set[str]:
        """The groups that its groups are unions of, themselves among them; none where it has no groups."""
        return {self.groups, *self.groups_of} - {""}

    @property
    def behind_each_text(self) -> int:
        """How many users must have what is published: one where queries are, more where phrases or concepts are."""
        publish = self.parameters.get("publish")
        if publish is None or self.parameters.get("synthetic") == "label":
            return _CONCEPTS
        numbers = [self.parameters.get(name) for name in ("phrase_users", "k")]
        return next((n for n in numbers if isinstance(n, int)), 1) if publish == "phrases" else 1


class HistoryFile(Declared, frozen=True, kw_only=True):
    """What the file holds."""

    format: int
    releases: tuple[Released, ...]


@dataclass(frozen=True, kw_only=True)
class History:
    """The file that lists the releases of a log, and the log's name in it."""

    path: Path
    log_name: str

    @classmethod
    def of(cls, files: Sequence[Path], given: str | None, log_name: str | None) -> History | None:
        """The history of a log that is read from files, `given` or beside the first one; None where none is wanted.

        Refused where the file could not be written later, or is no history.
        """
        if given == NONE:
            return None
        if given is None and not (files and files[0].is_file()):
            raise ParameterError(
                "This log is not a file, so there is no place beside it for the list of its releases. Say where it is: "
                "--history FILE, and which log this is: --log-name NAME; or --history none."
            )
        path = files[0].with_name(files[0].name + HISTORY_ENDING) if given is None else Path(given)
        if log_name is None and not (files and files[0].is_file()):
            raise ParameterError(
                "This log is not a file, so its name has to be given: --log-name NAME says which log of the history it "
                "is. Or say --history none."
            )
        history = cls(path=path, log_name=log_name or files[0].name)
        history.refuse(files)
        return history

    def refuse(self, taken: Sequence[Path]) -> None:
        """Refuse before any work a file that could not be written after it, or that is taken for something else."""
        if any(is_same_file(self.path, each) for each in taken):
            raise ParameterError(f"{self.path} cannot hold the history: it is an input or another output. {_ELSEWHERE}")
        refuse_existing(self.path, True, _ELSEWHERE)
        folder = self.path.parent
        if not folder.is_dir():
            raise MissingError(f"The folder {folder} does not exist. Make it first. {_ELSEWHERE}")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise InputError(
                f"The list of this log's releases goes to {self.path.name}, and nothing can be written to {folder}. "
                f"{_ELSEWHERE}"
            )
        self.read()

    def read(self) -> tuple[Released, ...]:
        """All releases in the file; none where there is no file yet."""
        file = DeclaredFile(name=str(self.path), verdict="is not a history of Coterie", end=_ELSEWHERE)
        try:
            data = json_object(self.path.read_bytes(), file)
        except FileNotFoundError:
            return ()
        except OSError:
            raise file.error("it cannot be read") from None
        format_of(data, FORMAT, file)
        return as_declared(data, HistoryFile, file).releases

    def warning(self, release: Release, digest: str) -> str:
        """What another release of this log costs; empty for the first, and for rows that were released before.

        A log is known by its name or by its bytes. The same log packed otherwise has other bytes, so where the list
        holds other logs alone, it is asked whether this is one of them.
        """
        listed = self.read()
        same_log = [each for each in listed if each.log == self.log_name or each.input_digest == digest]
        if not same_log:
            names = ", ".join(sorted({each.log for each in listed}))
            return f"{self.path.name} lists releases of {names}. {_WHICH_LOG}" if listed else ""
        if any(each.rows == release.verified for each in same_log):
            return ""
        last, number = same_log[-1], len({each.rows for each in same_log})
        times = "once" if number == 1 else f"{number} times"
        before = (
            f"This log was released {times} before, last on {last.date[:10]} by {last.method} ({last.headline}), as "
            f"{self.path.name} lists"
        )
        together = [self._entry(release, digest), *same_log]
        common = set.intersection(*(each.unions_of for each in together))
        if common & {each.groups for each in together}:  # all are unions of the groups of one of them
            same = together[0].groups in {each.groups for each in same_log}
            finer = together[0].behind_each_text < max(each.behind_each_text for each in same_log)
            return f"{before}, and {SAME_GROUPS if same else UNIONS}. {FINER if finer else NOTHING_MORE}"
        profiles = any(promise.about == "subjects" for promise in release.promises)
        again = together[0].groups and any(each.groups for each in same_log)
        parts = (COST, COST_OF_PROFILES if profiles else "", GROUPS_AGAIN if again else "")
        return f"{before}. {' '.join(filter(None, parts))}"

    def add(self, release: Release, digest: str, released_sha256: str) -> None:
        """List a release that was written. The file is complete, or as it was before."""
        entry = self._entry(release, digest, released_sha256)
        releases = self.read()
        if any((each.log, each.rows) == (entry.log, entry.rows) for each in releases):
            return
        with temporary(self.path.parent, self.path.name) as part:
            part.touch(mode=0o600)
            part.chmod(0o600)  # whatever the umask
            part.write_bytes(json_bytes(HistoryFile(format=FORMAT, releases=(*releases, entry))))
            put_in_place(part, self.path, force=True)

    def _entry(self, release: Release, digest: str, released_sha256: str = "") -> Released:
        if release.record is None:
            raise InternalError("A release that is written has a record.")
        return Released(
            log=self.log_name,
            input_digest=digest,
            method=release.method,
            parameters=dict(release.record.run["parameters"]),
            prepare=release.log.steps,
            headline=release.headline,
            released_sha256=released_sha256,
            rows=release.verified,
            groups=release.record.run[GROUPS_DIGEST],
            groups_of=tuple(release.record.run[GROUPS_OF]),
            date=datetime.now(UTC).isoformat(timespec="seconds"),
        )
