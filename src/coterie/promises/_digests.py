"""What a promise may say publicly about a list or a taxonomy: the name of one that has a name, or a digest."""

from __future__ import annotations

import re
from typing import Any

from coterie.core.params import Choice

_DIGEST = "sha256:[0-9a-f]{64}"


class NameOrDigest(Choice):
    """One of a few names, or the digest of something that has no name."""

    def accepts(self, value: Any, kind: type) -> bool:
        """Whether `value` is one of the names or a digest."""
        return super().accepts(value, kind) or (isinstance(value, str) and bool(re.fullmatch(_DIGEST, value)))

    def describe(self, kind: type) -> str:
        """The allowed values in words."""
        return f"{super().describe(kind)} or a digest (sha256:...)"
