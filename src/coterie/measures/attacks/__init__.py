"""Attacks on a release, as measures."""
