"""Measures of privacy by attack: an adversary tries, and the successes are counted. Here is what attacks share."""

from __future__ import annotations

import math

from coterie.core.log import Release

Z = 1.959964  # 95 % of a normal distribution lie within


def interval(share: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval for the mean of n outcomes in 0..1; wider than need be where outcomes are parts of one."""
    centre = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z * math.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def bound(release: Release) -> float | None:
    """The success in percent that a release promises nobody exceeds on average; None where it promises none."""
    bounds = [promise.linkage_bound for promise in release.promises if promise.linkage_bound is not None]
    return min(bounds) if bounds else None
