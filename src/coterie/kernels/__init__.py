"""Kernels: numba functions of arrays; no tables, files, strings or randomness."""
