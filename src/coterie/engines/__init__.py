"""Engines: where blocks of rows run. An engine runs a function over blocks of rows that share a key."""
