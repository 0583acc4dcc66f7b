"""The smallest hash of the words of a text, in plain Python: FNV-1a of a word's bytes, finished as in splitmix64."""

_ALL = 2**64 - 1


def smallest_hash(text: str) -> int:
    """The smallest hash of the words, the largest number where there is no word."""
    return min((_hash(word.encode()) for word in text.split(" ") if word), default=_ALL)


def _hash(word: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in word:
        value = (value ^ byte) * 0x100000001B3 & _ALL
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _ALL
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _ALL
    return value ^ (value >> 31)
