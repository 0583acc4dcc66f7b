"""Words, hosts and hashes of text."""
