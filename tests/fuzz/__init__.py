"""Fuzzing: valid files with something wrong in them, for each parser. Run by test_fuzz.py and by `make fuzz`."""
