"""Certificates without an end, and TLS that nothing older gets into."""

import ssl
from datetime import UTC, datetime

import pytest
from cryptography import x509

from coterie.apps.peer.identity import (
    certificate_of,
    client_side,
    fingerprint,
    is_certificate,
    new_identity,
    server_side,
    stranger_side,
)
from coterie.errors import InputError
from tests.helpers.peers import a_home


def test_it_is_valid_whatever_the_clock_says():
    _, pem = new_identity()
    found = x509.load_pem_x509_certificate(pem)
    assert found.not_valid_before_utc == datetime(2000, 1, 1, tzinfo=UTC)
    assert found.not_valid_after_utc == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert found.subject.rfc4514_string() == "CN=coterie peer", "says nothing about who it is"
    assert not found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_no_two_are_the_same():
    der = [ssl.PEM_cert_to_DER_cert(new_identity()[1].decode()) for _ in range(2)]
    assert fingerprint(der[0]) != fingerprint(der[1])
    assert all(is_certificate(each) for each in der)
    assert not any(is_certificate(each) for each in (b"", b"x", der[0][:-9], der[0] + b"0" * 2000))


def test_only_the_newest_tls(tmp_path):
    home = a_home(tmp_path / "a")
    both = server_side(home.certificate, home.key), client_side(home.certificate, home.key, home.certificate_der)
    for context in (*both, stranger_side(), stranger_side(home.certificate_der)):
        assert context.minimum_version == context.maximum_version == ssl.TLSVersion.TLSv1_3
    assert all(context.verify_mode == ssl.CERT_REQUIRED for context in both)
    assert stranger_side(home.certificate_der).verify_mode == ssl.CERT_REQUIRED


def test_damaged_keys(tmp_path):
    home, other = a_home(tmp_path / "a"), a_home(tmp_path / "b")
    with pytest.raises(InputError, match="do not fit together"):
        server_side(home.certificate, other.key)
    home.key.write_text("nothing")
    with pytest.raises(InputError, match="damaged"):
        server_side(home.certificate, home.key)


def test_without_a_link_there_is_no_certificate():
    assert certificate_of(None) is None


def _handshake(server, client):
    """Both ends after a handshake in memory; raises what either says."""
    a, b, c, d = (ssl.MemoryBIO() for _ in range(4))
    ends = server.wrap_bio(a, b, server_side=True), client.wrap_bio(c, d)
    done = set()
    for _ in range(20):
        for number, (end, out, into) in enumerate(((ends[1], d, a), (ends[0], b, c))):
            if number not in done:
                try:
                    end.do_handshake()
                    done.add(number)
                except ssl.SSLWantReadError:
                    pass
            into.write(out.read())
        if len(done) == 2:
            return ends
    raise AssertionError("no end")


def test_who_gets_in(tmp_path):
    homes = {name: a_home(tmp_path / name) for name in ("me", "friend", "stranger")}
    me, friend, stranger = homes.values()
    server = server_side(me.certificate, me.key)
    server.load_verify_locations(cadata=friend.certificate_der)
    good = client_side(friend.certificate, friend.key, me.certificate_der)
    assert _handshake(server, good)[0].getpeercert(True) == friend.certificate_der
    with pytest.raises(ssl.SSLError):  # somebody else
        _handshake(server, client_side(stranger.certificate, stranger.key, me.certificate_der))
    with pytest.raises(ssl.SSLError):  # without a certificate
        _handshake(server, stranger_side(me.certificate_der))
    with pytest.raises(ssl.SSLError):  # whom I take for somebody else
        _handshake(server, client_side(friend.certificate, friend.key, stranger.certificate_der))
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.maximum_version, old.check_hostname, old.verify_mode = ssl.TLSVersion.TLSv1_2, False, ssl.CERT_NONE
    with pytest.raises(ssl.SSLError):
        _handshake(server, old)
    server.verify_mode = ssl.CERT_OPTIONAL  # while somebody is expected
    assert _handshake(server, stranger_side(me.certificate_der))[0].getpeercert(True) is None
    with pytest.raises(ssl.SSLError):
        _handshake(server, client_side(stranger.certificate, stranger.key, me.certificate_der))
