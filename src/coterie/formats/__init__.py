"""What helps packages of others to write a format; `coterie/reading/formats` says what a format is."""

from coterie.reading.reading import Reading
from coterie.reading.sniff import sureness
from coterie.reading.source import Loaded, Source, blank_to_null, fields, reason, split_tabs

__all__ = ["Loaded", "Reading", "Source", "blank_to_null", "fields", "reason", "split_tabs", "sureness"]
