"""Apply a plan to all rows of a log: the part of a release that methods share.

A promise about single queries is kept in three steps: keep or replace the planned ones, then what accompanies them
(`details`), then who asked (`names`). `profiles` is for promises about whole users.
"""
