"""Who a peer is: a certificate it signed itself, and TLS between peers who know each other's certificates.

Nobody vouches for a certificate: friends have handed it to each other, and know it by its fingerprint. It is valid for
ever, because clocks of friends may be wrong, and because an invitation can be withdrawn and a friend removed. Only TLS
1.3 is spoken. A certificate that a friend would sign for somebody else is no friend's: who asks is told by the
fingerprint of the certificate itself, see `certificate_of`.
"""

from __future__ import annotations

import hashlib
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from coterie.errors import InputError

LONGEST_CERTIFICATE = 2_000
"""Bytes of a certificate that somebody hands over; ours has about 350."""
_FOREVER = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)  # RFC 5280: has no end
_ALWAYS = datetime(2000, 1, 1, tzinfo=UTC)


def new_identity() -> tuple[bytes, bytes]:
    """A new private key and its certificate, both as PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    nobody = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "coterie peer")])  # the same for all
    certificate = (
        x509.CertificateBuilder()
        .subject_name(nobody)
        .issuer_name(nobody)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_ALWAYS)
        .not_valid_after(_FOREVER)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private, certificate.public_bytes(serialization.Encoding.PEM)


def fingerprint(der: bytes) -> bytes:
    """What a certificate is known by."""
    return hashlib.sha256(der).digest()


def is_certificate(der: bytes) -> bool:
    """Whether somebody handed over a certificate that TLS can use."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

    if len(der) > LONGEST_CERTIFICATE:
        return False
    try:
        key = x509.load_der_x509_certificate(der).public_key()
    except Exception:  # whatever a parser of foreign bytes raises
        return False
    return isinstance(key, ec.EllipticCurvePublicKey)


def server_side(certificate: Path, key: Path) -> ssl.SSLContext:
    """TLS for those who ask: only certificates that `trust` was told pass."""
    context = _context(ssl.PROTOCOL_TLS_SERVER, certificate, key)
    context.verify_mode = ssl.CERT_REQUIRED
    context.num_tickets = 0  # no sessions are taken up again: what is known of a friend is looked at each time
    return context


def client_side(certificate: Path, key: Path, friend: bytes) -> ssl.SSLContext:
    """TLS to one friend, who must have that certificate."""
    context = _context(ssl.PROTOCOL_TLS_CLIENT, certificate, key)
    trust(context, friend)
    return context


def stranger_side(known: bytes | None = None) -> ssl.SSLContext:
    """TLS to somebody who does not know us: one with a known certificate, or one to look at the certificate of."""
    context = _context(ssl.PROTOCOL_TLS_CLIENT)
    if known is None:
        context.verify_mode = ssl.CERT_NONE  # nothing is sent before the fingerprint was compared
    else:
        trust(context, known)
    return context


def trust(context: ssl.SSLContext, der: bytes) -> None:
    """Let a certificate pass; from now on, also where the context is in use."""
    try:
        context.load_verify_locations(cadata=der)
    except ssl.SSLError:
        raise InputError(
            "The certificate of a friend is damaged. Restore friends.json from a copy, or remove the friend and invite "
            "them again."
        ) from None


def certificate_of(transport: Any) -> bytes | None:
    """The certificate of who is at the other end, or None."""
    link = transport.get_extra_info("ssl_object") if transport is not None else None
    return link.getpeercert(binary_form=True) if link is not None else None


def _context(side: int, certificate: Path | None = None, key: Path | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(side)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # a certificate says who it is, not where
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # a known certificate needs nobody above it
    if certificate is not None:
        try:
            context.load_cert_chain(certificate, key)
        except (ssl.SSLError, ValueError):
            raise InputError(
                f"Key and certificate in {certificate.parent} are damaged or do not fit together. Restore the folder "
                f"from a copy, or make a new one with 'coterie peer init --home' and invite friends again."
            ) from None
    return context
