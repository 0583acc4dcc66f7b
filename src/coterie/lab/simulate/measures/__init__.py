"""One measure of a simulation per file, with `measure(case)`, which yields scores, and `figures`, the keys that count.

A measure that has no meaning for a protocol raises NotApplicableError and says why.
"""
