"""Methods: one anonymizer per file, named after it. `_template.py` shows how to write one."""
