"""Measures of privacy by attack: an adversary tries, and the successes are counted. Here is what attacks share."""

from __future__ import annotations

from coterie.core.log import Release


def bound(release: Release) -> float | None:
    """The success in percent that a release promises nobody exceeds on average; None where it promises none."""
    bounds = [promise.linkage_bound for promise in release.promises if promise.linkage_bound is not None]
    return min(bounds) if bounds else None
