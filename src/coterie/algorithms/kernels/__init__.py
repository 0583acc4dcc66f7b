"""Numba: arrays in, arrays out; no tables, files, strings or randomness.

To import one of these modules is to load numba, so methods and measures import them where they use them.
"""
