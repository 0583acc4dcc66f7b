"""Friends, strangers and liars, over real sockets in one process."""

import asyncio
import base64
import contextlib
import gzip
import json
import ssl
import time
from dataclasses import replace

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from msgspec.structs import replace as replaced

from coterie.apps.peer import invitations, links
from coterie.apps.peer.circle import Circle, Limits
from coterie.apps.peer.identity import client_side, server_side, stranger_side
from coterie.apps.peer.invitations import invite, read_code, spell_code
from coterie.apps.peer.memory import Counts
from coterie.apps.peer.service import Options, running
from coterie.errors import InputError, MissingError, ParameterError
from tests.helpers.peers import Engine, a_home, as_friend, befriend, get, search, status, token_in
from tests.helpers.ports import held_ports

FAST = Limits(back_off=0.01, longest=0.01)


@pytest.fixture
def engine():
    with Engine() as engine:
        yield engine


@pytest.fixture
def homes(tmp_path, engine):
    names = ("me", "anna", "stranger")
    return {
        name: a_home(tmp_path / name, engine.url(name), port)
        for name, port in zip(names, held_ports(len(names)), strict=True)
    }


def _with(homes, names, work, limits=FAST):
    """What the coroutine `work(addresses)` gives while peers run."""

    async def run():
        async with contextlib.AsyncExitStack() as stack:
            options = Options(port=0, limits=limits)
            found = {name: await stack.enter_async_context(running(homes[name], options)) for name in names}
            return await asyncio.wait_for(work(found), 60)

    return asyncio.run(run())


async def _post(home, path, body, context, headers=None):
    """Status and answer of what a peer is told; None where it broke off."""
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.post(
                f"https://{home.settings().address}/{path}", data=body, ssl=context, headers=headers
            ) as response,
        ):
            return response.status, await response.json()
    except (aiohttp.ClientError, OSError):
        return None


def _as(home, to):
    return client_side(home.certificate, home.key, to.certificate_der)


def _query(text):
    return json.dumps({"query": text}).encode()


# --- invitations ---------------------------------------------------------------------------------


def test_two_become_friends_and_submit_for_each_other(homes, engine):
    async def work(addresses):
        code = invite(homes["me"], "anna", 1)
        await _accepted(homes["anna"], code)
        for number in range(30):
            page = await asyncio.to_thread(search, addresses["anna"], f"tea {number}")
            assert page.status == 200
        for number in range(30):
            assert (await asyncio.to_thread(search, addresses["me"], f"cup {number}")).status == 200
        return await asyncio.to_thread(status, addresses["me"])

    told = _with(homes, ("me", "anna"), work)
    assert [friend.name for friend in homes["me"].friends()] == ["anna"]
    assert [friend.name for friend in homes["anna"].friends()] == ["friend"]
    assert {who for who, query in engine.log if query.startswith("cup")} == {"me", "anna"}
    (friend,) = told["friends"]
    assert (friend["submitted_for_me"] > 0, friend["submitted_for_them"] > 0) == (True, True)


async def _accepted(home, code, name="friend"):
    """Accept as soon as the peer has noticed that somebody is expected."""
    for _ in range(200):
        try:
            return await links.accept(home, read_code(spell_code(code)), name)
        except MissingError:
            await asyncio.sleep(0.02)
    raise AssertionError("nobody is let in")


def test_a_code_works_once_also_for_two_at_the_same_time(homes):
    async def work(_):
        code = invite(homes["me"], "anna", 1)
        await _accepted(homes["anna"], invite(homes["me"], "first", 1))  # the door is open from now on
        both = await asyncio.gather(
            *(links.accept(homes["stranger"], code, "x") for _ in range(6)), return_exceptions=True
        )
        return [each for each in both if each is None], [each for each in both if each is not None]

    good, bad = _with(homes, ("me",), work)
    assert len(good) == 1
    assert all("used already" in str(error) for error in bad)
    assert [friend.name for friend in homes["me"].friends()] == ["anna", "first"]


def test_wrong_and_expired_codes(homes, monkeypatch):
    async def work(_):
        code = invite(homes["me"], "anna", 1)
        keep = invite(homes["me"], "other", 100)
        await _until_open(homes["me"])
        with pytest.raises(InputError, match="used already, or its time is over"):
            await links.accept(homes["anna"], replace(code, secret=b"0123456789"), "x")
        with pytest.raises(InputError, match="Somebody else answers at the address"):
            await links.accept(homes["anna"], replace(code, fingerprint=bytes(16)), "x")
        with pytest.raises(ParameterError, match="your own invitation"):
            await links.accept(homes["me"], code, "x")
        later = time.time() + 7200
        monkeypatch.setattr(invitations.time, "time", lambda: later)
        with pytest.raises(InputError, match="its time is over"):
            await links.accept(homes["anna"], code, "x")
        return keep

    _with(homes, ("me",), work)
    assert homes["me"].friends() == homes["anna"].friends() == ()


async def _until_open(home):
    for _ in range(300):
        if await _post(home, "accept", b"{}", stranger_side(home.certificate_der)) is not None:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("nobody is let in")


def test_nobody_is_there(homes, tmp_path):
    code = invite(homes["me"], "anna", 1)
    with pytest.raises(MissingError, match="Nobody answers at"):
        asyncio.run(links.accept(homes["anna"], code, "x"))
    with pytest.raises(ParameterError, match="--address"):
        asyncio.run(links.accept(a_home(tmp_path / "alone"), code, "x"))


def test_what_can_be_said_with_an_invitation(homes):
    """No friend can be moved elsewhere, nobody can be their own friend, and garbage uses no invitation up."""
    befriend(homes, [("me", "anna")])
    before = homes["me"].friends()

    def body(code, certificate, address="127.0.0.1:1", **more):
        encoded = base64.b64encode(certificate).decode()
        return json.dumps({"secret": base64.b64encode(code.secret).decode(), "certificate": encoded, "address": address,
                           **more}).encode()  # fmt: skip

    async def work(_):
        me, code = homes["me"], invite(homes["me"], "evil", 1)
        stranger = stranger_side(me.certificate_der)
        await _until_open(me)
        for bad in (b"", b"[]", b"{", b"x" * 20_000, body(code, b"nothing"), body(code, me.certificate_der),
                    body(code, homes["stranger"].certificate_der, "nowhere"),
                    body(code, homes["stranger"].certificate_der, secret="x"),
                    body(code, homes["stranger"].certificate_der, secret=3)):  # fmt: skip
            answer = await _post(me, "accept", bad, stranger)
            assert answer is None or answer[0] in (400, 413), answer
        assert (await _post(me, "query", _query("tea"), stranger)) == (403, {"refused": "no friend"})
        assert await _post(me, "accept", body(code, homes["anna"].certificate_der), stranger) == (200, {})
        assert me.friends() == before, "the friend stays where they were"
        answer = await _post(me, "accept", body(code, homes["stranger"].certificate_der), stranger)
        assert answer in (None, (403, {"refused": "no friend"}))

    _with(homes, ("me",), work)
    assert homes["me"].friends() == before


# --- what goes to friends ------------------------------------------------------------------------


def test_personal_data_is_handed_to_nobody(homes, engine):
    """Not even to be refused."""
    befriend(homes, [("me", "anna")])

    def sent_anyway(address, number):
        token = token_in(search(address, f"anna{number}@example.org"))
        return get(address, "send", "POST", f"token={token}&do=send").status

    async def work(addresses):
        for number in range(12):
            assert await asyncio.to_thread(sent_anyway, addresses["me"], number) == 200
        return await asyncio.to_thread(status, addresses["anna"])

    told = _with(homes, ("me", "anna"), work)
    assert told["numbers"]["refused_to_friends"] == 0
    assert {who for who, _ in engine.log} == {"me"}
    assert len(engine.log) == 12


def test_ask_from_your_own(homes, engine):
    befriend(homes, [("me", "anna")])

    async def work(addresses):
        for number in range(12):
            page = await asyncio.to_thread(get, addresses["me"], f"search?q=tea+{number}&ask=myself")
            assert "Your own address asked." in page.text

    _with(homes, ("me", "anna"), work)
    assert {who for who, _ in engine.log} == {"me"}


# --- who gets in ---------------------------------------------------------------------------------


def _signed_by(home, folder):
    """A certificate that a friend made for somebody else: files of it and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    friend = serialization.load_pem_private_key(home.key.read_bytes(), None)
    issuer = x509.load_pem_x509_certificate(home.certificate.read_bytes())
    made = (
        x509.CertificateBuilder().subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "other")]))
        .issuer_name(issuer.subject).public_key(key.public_key()).serial_number(7)
        .not_valid_before(issuer.not_valid_before_utc).not_valid_after(issuer.not_valid_after_utc)
        .sign(friend, hashes.SHA256())
    )  # fmt: skip
    (folder / "c.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "k.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "c.pem", folder / "k.pem"


def test_strangers_are_cut_off(homes, engine, tmp_path):
    befriend(homes, [("me", "anna")])

    async def work(addresses):
        me = homes["me"]
        assert await _until_friend(homes, "anna") == 200
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode, old.maximum_version = False, ssl.CERT_NONE, ssl.TLSVersion.TLSv1_2
        for context in (_as(homes["stranger"], me), stranger_side(me.certificate_der), old):
            assert await _post(me, "query", _query("qzqueryq"), context) is None
        signed = client_side(*_signed_by(homes["anna"], tmp_path), me.certificate_der)
        assert await _post(me, "query", _query("qzqueryq"), signed) in (None, (403, {"refused": "no friend"}))
        assert await _plain(me, b"GET / HTTP/1.1\r\n\r\n") == b""
        return await asyncio.to_thread(status, addresses["me"])

    told = _with(homes, ("me",), work)
    assert told["numbers"]["strangers_cut_off"] >= 4
    assert not [query for _, query in engine.log if "qzqueryq" in query]


async def _until_friend(homes, name):
    """The status that a friend gets, once the peer knows them."""
    for _ in range(300):
        answer = await _post(homes["me"], "query", _query("hello"), _as(homes[name], homes["me"]))
        if answer is not None:
            return answer[0]
        await asyncio.sleep(0.02)
    raise AssertionError("not let in")


async def _plain(home, data):
    host, port = home.settings().address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(data)
    try:
        return await reader.read(100)
    except OSError:
        return b""
    finally:
        writer.close()


def test_a_friend_who_was_removed_is_refused(homes):
    befriend(homes, [("me", "anna")])

    async def work(_):
        assert await _until_friend(homes, "anna") == 200
        homes["me"].remove("anna")
        for _ in range(300):
            answer = await _post(homes["me"], "query", _query("hello"), _as(homes["anna"], homes["me"]))
            if answer == (403, {"refused": "no friend"}):
                return True
            await asyncio.sleep(0.02)
        return False

    assert _with(homes, ("me",), work)


# --- what a friend may ask -----------------------------------------------------------------------


def test_refusals(homes, engine):
    befriend(homes, [("me", "anna")])

    async def work(_):
        assert await _until_friend(homes, "anna") == 200
        me, anna = homes["me"], _as(homes["anna"], homes["me"])
        engine.status = 500
        assert await _post(me, "query", _query("tea"), anna) == (503, {"refused": "back end"})
        engine.status = 200
        assert await _post(me, "query", _query("anna@example.org"), anna) == (403, {"refused": "personal"})
        for bad in (b"", b"{}", b"3", b'{"query": 3}', b'{"query": ""}', _query("x" * 501), b"\xff"):
            assert await _post(me, "query", bad, anna) == (400, {"refused": "unreadable"})
        assert (await _post(me, "query", b"x" * 20_000, anna))[0] == 413
        packed = gzip.compress(_query("packed tea"))
        assert await _post(me, "query", packed, anna, {"Content-Encoding": "gzip"}) == (400, {"refused": "unreadable"})
        assert (await _post(me, "nothing", b"", anna)) == (404, {"refused": "unreadable"})

    _with(homes, ("me",), work)
    assert "anna@example.org" not in {query for _, query in engine.log}


@pytest.mark.parametrize(("limits", "why"), [(Limits(rate=5), "rate"), (Limits(credit=5), "credit")])
def test_a_flood_is_bounded(homes, engine, limits, why):
    befriend(homes, [("me", "anna")])

    async def work(addresses):
        me, anna = homes["me"], _as(homes["anna"], homes["me"])
        await _until_friend(homes, "anna")
        found = [await _post(me, "query", _query(f"tea {number}"), anna) for number in range(20)]
        assert sum(answer[0] == 200 for answer in found) == 4  # and the one of _until_friend
        assert {answer[1].get("refused") for answer in found if answer[0] != 200} == {why}
        assert (await asyncio.to_thread(search, addresses["me"], "red cup")).status == 200

    _with(homes, ("me",), work, limits)
    assert len(engine.log) <= 6


def test_no_friend_takes_all_of_the_time(homes, engine):
    befriend(homes, [("me", "anna")])

    async def work(_):
        me, anna = homes["me"], _as(homes["anna"], homes["me"])
        await _until_friend(homes, "anna")
        engine.free.clear()
        asked = [asyncio.create_task(_post(me, "query", _query(f"tea {number}"), anna)) for number in range(7)]
        done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        assert done.pop().result() == (429, {"refused": "busy"})
        while sum(task.done() for task in asked) < 3:
            await asyncio.sleep(0.01)
        engine.free.set()
        return sorted(status for status, _ in await asyncio.gather(*asked))

    assert _with(homes, ("me",), work) == [200] * 4 + [429] * 3


def test_a_flood_of_connections(homes, engine):
    befriend(homes, [("me", "anna")])

    async def work(addresses):
        host, port = homes["me"].settings().address.split(":")
        await _until_friend(homes, "anna")
        held = [await asyncio.open_connection(host, int(port)) for _ in range(150)]
        page = await asyncio.to_thread(search, addresses["me"], "red cup")
        told = await asyncio.to_thread(status, addresses["me"])  # while they are held
        for _, writer in held:
            writer.close()
        assert page.status == 200
        return told

    told = _with(homes, ("me",), work)
    assert told["numbers"]["strangers_cut_off"] >= 150 - 32 - 1


def test_one_machine_cannot_take_all_places(homes):
    """On one's own machine anybody could do worse."""

    async def run():
        door = links.Door(homes["me"], Circle(homes["me"], Limits()), None, Counts())
        await door._runner.setup()
        door._shaking_from.update({"192.0.2.1": 8, "192.0.2.2": 7, "127.0.0.1": 20})
        found = [door._is_crowded(host) for host in ("192.0.2.1", "192.0.2.2", "127.0.0.1", "192.0.2.3")]
        door._shaken("192.0.2.1", None)
        found.append(door._is_crowded("192.0.2.1"))
        await door.close()
        return found

    assert asyncio.run(run()) == [True, False, False, False, False]


def test_strangers_are_few_also_while_somebody_is_expected(homes):
    async def work(_):
        invite(homes["me"], "anna", 1)
        await _until_open(homes["me"])
        host, port = homes["me"].settings().address.split(":")
        context = stranger_side(homes["me"].certificate_der)
        held = [await asyncio.open_connection(host, int(port), ssl=context) for _ in range(12)]
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*(reader.read() for reader, _ in held), return_exceptions=True), 0.5)
        ended = sum(reader.at_eof() or reader.exception() is not None for reader, _ in held)
        for _, writer in held:
            writer.transport.abort()
        return ended

    assert _with(homes, ("me",), work) >= 3


def test_connections_of_one_friend_are_limited(homes):
    befriend(homes, [("me", "anna")])

    async def work(_):
        await _until_friend(homes, "anna")
        host, port = homes["me"].settings().address.split(":")
        context = _as(homes["anna"], homes["me"])
        held = [await asyncio.open_connection(host, int(port), ssl=context) for _ in range(12)]
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*(reader.read() for reader, _ in held), return_exceptions=True), 0.5)
        ended = sum(reader.at_eof() or reader.exception() is not None for reader, _ in held)
        for _, writer in held:
            writer.transport.abort()
        return ended

    assert _with(homes, ("me",), work) >= 4


# --- friends who lie -----------------------------------------------------------------------------

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
LIES = {
    "garbage": _HEAD + b"Content-Length: 3\r\n\r\nxyz",
    "no results": _HEAD + b"Content-Length: 2\r\n\r\n{}",
    "a list": _HEAD + b"Content-Length: 2\r\n\r\n[]",
    "not http": b"\x00\x01\x02\r\n\r\n",
    "nothing": b"",
    "giant": _HEAD + b"Content-Length: 999999999\r\n\r\n",
    "endless": _HEAD + b"\r\n" + b"[" * 400_000,
    "endless header": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 400_000,
    "headers without an end": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000,
    "elsewhere": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    "packed": _HEAD + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
    "unknown refusal": b"HTTP/1.1 429 No\r\nContent-Length: 24\r\n\r\n" + b'{"refused": "<b>never"} ',
}


def _lied_to(homes, answer, hold=False):
    """What asking a friend gives who answers with these bytes."""
    befriend(homes, [("me", "anna")])
    host, port = homes["anna"].settings().address.split(":")

    async def serve(reader, writer):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"}")
            writer.write(answer)
            await writer.drain()
            if hold:
                await reader.read()
        writer.close()

    async def run():
        context = server_side(homes["anna"].certificate, homes["anna"].key)
        context.load_verify_locations(cadata=homes["me"].certificate_der)
        server = await asyncio.start_server(serve, host, int(port), ssl=context)
        circle = Circle(homes["me"], Limits())
        circle.update(homes["me"].friends())
        (tie,) = circle.ties
        async with server, aiohttp.ClientSession(auto_decompress=False) as session:
            try:
                return await links.ask(session, tie, "qzqueryq"), tie
            except links.AnswerError as error:
                return error, tie

    return asyncio.run(run())


@pytest.mark.parametrize("lie", LIES)
def test_friends_who_lie(homes, lie):
    error, tie = _lied_to(homes, LIES[lie])
    assert type(error) is links.AnswerError
    assert "qzqueryq" not in str(error)
    assert not tie.waiting.over(), "left alone for a while"
    assert tie.failed == 1


@pytest.mark.parametrize("answer", [b"", _HEAD + b"\r\n[", b"HTTP/1.1 200 OK\r\n"])
def test_friends_who_never_end(homes, monkeypatch, answer):
    monkeypatch.setattr(links, "SECONDS", 0.3)
    error, tie = _lied_to(homes, answer, hold=True)
    assert str(error) == "The friend did not answer."
    assert not tie.waiting.over()


def test_results_of_a_friend_are_cleaned(homes):
    body = json.dumps(
        {"results": [{"url": "javascript:alert(1)"}, {"url": "https://a.example/", "title": "A"}]}
    ).encode()
    found, tie = _lied_to(homes, _HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert [result.url for result in found] == ["https://a.example/"]
    assert (tie.submitted, tie.failed, tie.waiting.over()) == (1, 0, True)


@pytest.mark.parametrize(("why", "waits"), [("rate", True), ("credit", True), ("personal", False), ("no friend", True)])
def test_refusals_are_understood(homes, why, waits):
    body = json.dumps({"refused": why}).encode()
    error, tie = _lied_to(homes, b"HTTP/1.1 429 No\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    assert (type(error), str(error)) == (links.RefusedError, why)
    assert tie.waiting.over() is not waits


def test_somebody_else_at_the_address_of_a_friend(homes):
    """The query is not sent to whoever cannot show the friend's certificate."""
    homes["me"].add(replaced(as_friend(homes["anna"], "anna"), address=homes["stranger"].settings().address))
    host, port = homes["stranger"].settings().address.split(":")
    heard = []

    async def serve(reader, writer):
        heard.append(await reader.read(1000))
        writer.close()

    async def run():
        context = server_side(homes["stranger"].certificate, homes["stranger"].key)
        context.verify_mode = ssl.CERT_NONE
        server = await asyncio.start_server(serve, host, int(port), ssl=context)
        circle = Circle(homes["me"], Limits())
        circle.update(homes["me"].friends())
        async with server, aiohttp.ClientSession() as session:
            with pytest.raises(links.AnswerError):
                await links.ask(session, circle.ties[0], "qzqueryq")

    asyncio.run(run())
    assert not any(b"qzqueryq" in data for data in heard)
