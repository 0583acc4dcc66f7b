"""Measures of privacy."""
