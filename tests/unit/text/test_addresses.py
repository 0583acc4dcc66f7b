"""Bits of network addresses."""

import pytest

from coterie.text.hosts import bits_of, first_address


@pytest.mark.parametrize(("address", "expected"), [
    ("0.0.0.1", (32, 1)), ("255.255.255.255", (32, 2**32 - 1)), ("10.0.0.1, 192.0.2.1", (32, (10 << 24) + 1)),
    (" 0.0.0.1 ", (32, 1)), ("::1", (128, 1)), ("2001:DB8::", (128, 0x20010DB8 << 96)),
    ("::ffff:0.0.0.1", (128, (0xFFFF << 32) + 1)), ("host.example", None), ("10.0.0", None), ("1.2.3.x", None),
    ("", None), ("[::1]", None), ("1:2", None),
])  # fmt: skip
def test_bits(address, expected):
    assert bits_of(address) == expected


def test_the_first_of_a_list_is_the_client():
    assert first_address("Client.example, proxy.example") == "client.example"
