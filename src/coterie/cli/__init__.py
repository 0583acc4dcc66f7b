"""The command line: one file per command. Parse, call one function of the library, print."""
