"""Network addresses: the kind of one and its bits."""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address, IPv6Address

IPV4, IPV6 = 32, 128
"""Bits of an address."""


def bits_of(address: str) -> tuple[int, int] | None:
    """The number of bits of an address, and the bits as a number; None for what is a name, or anything else.

    Of several addresses, as proxies list them, the first is that of the client.
    """
    text = first_address(address)
    try:
        return (IPV6, int(IPv6Address(text))) if ":" in text else (IPV4, int(IPv4Address(text)))
    except AddressValueError:
        return None


def first_address(address: str) -> str:
    """The first address of a list, in lower case."""
    return address.partition(",")[0].strip().lower()
