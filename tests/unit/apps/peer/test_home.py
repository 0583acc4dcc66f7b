"""The private folder: modes, damage, friends."""

import os

import pytest

from coterie.apps.peer.home import Friend, Home, checked_name, host_and_port, make_home, new_settings
from coterie.errors import InputError, MissingError, ParameterError
from tests.helpers.peers import a_home, as_friend


@pytest.fixture
def home(tmp_path):
    return a_home(tmp_path / "peer", port=4)


def test_only_the_owner_may_read_it(home):
    home.write_running(1)
    assert home.path.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in home.path.iterdir()} == {0o600}
    (home.path / ".DS_Store").touch(mode=0o644)  # no file of ours
    home.check()


@pytest.mark.parametrize("name", ["", "key.pem", "certificate.pem", "peer.json"])
@pytest.mark.parametrize("mode", [0o040, 0o004, 0o020])
def test_an_open_one_is_refused(home, name, mode):
    path = home.path / name
    path.chmod(path.stat().st_mode | mode)
    with pytest.raises(InputError, match=r"Others may read or change .*chmod [67]00"):
        home.check()


def test_links_are_refused(home, tmp_path):
    home.key.rename(tmp_path / "elsewhere")
    home.key.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a link"):
        home.check()


@pytest.mark.skipif(os.getuid() != 0, reason="only the superuser gives files away")
def test_files_of_others_are_refused(home):
    os.chown(home.key, 12345, -1)
    with pytest.raises(InputError, match="belongs to somebody else"):
        home.check()


def test_what_is_missing(home, tmp_path):
    with pytest.raises(MissingError, match="There is no peer in"):
        Home(tmp_path / "nowhere").check()
    with pytest.raises(MissingError, match="There is no peer in"):
        Home(tmp_path / "nowhere").settings()
    home.key.unlink()
    with pytest.raises(InputError, match=r"key\.pem is missing"):
        home.check()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"format": 99}', '{"secret": 3}', "\x00\xff", '{"format": 1, "more": 1}']
)
def test_damaged_settings(home, text):
    (home.path / "peer.json").write_text(text)
    with pytest.raises(InputError, match=r"peer\.json"):
        home.settings()


@pytest.mark.parametrize(
    ("key", "value"), [("secret", "short"), ("secret", "a/../../../../../../b"), ("choice_key", "zz")]
)
def test_unusable_secrets(home, key, value):
    text = (home.path / "peer.json").read_text()
    (home.path / "peer.json").write_text(text.replace(getattr(home.settings(), key), value))
    with pytest.raises(InputError, match="no usable secret or key") as error:
        home.settings()
    assert value not in str(error.value)


def test_damaged_friends_and_certificate(home):
    home.write_friends((Friend(name="a", certificate="ä", address="b:1"),))
    with pytest.raises(InputError, match=r"friends\.json has a certificate that is damaged"):
        home.friends()
    home.certificate.write_text("nothing")
    with pytest.raises(InputError, match="is no certificate"):
        _ = home.certificate_der


def test_a_key_is_never_replaced(home):
    (home.path / "peer.json").unlink()
    key = home.key.read_bytes()
    with pytest.raises(InputError, match="has a key but no"):
        make_home(home.path, new_settings("http://127.0.0.1:9"))
    assert home.key.read_bytes() == key


def test_friends_come_and_go(home, tmp_path):
    others = [a_home(tmp_path / name, port=5) for name in "ab"]
    before = home.changed()
    assert home.add(as_friend(others[0], "anna"))
    assert home.changed() != before
    assert not home.add(as_friend(others[0], "again")), "one certificate is one friend"
    assert home.add(as_friend(others[1], "anna"))
    assert [friend.name for friend in home.friends()] == ["anna", "anna-2"]
    home.remove("anna")
    assert [friend.der for friend in home.friends()] == [others[1].certificate_der]
    with pytest.raises(ParameterError, match="no friend of that name"):
        home.remove("anna")


def test_running(home):
    assert home.running() is None
    home.write_running(77)
    assert (home.running().port, home.running().process) == (77, os.getpid())
    home.forget_running()
    home.forget_running()
    assert home.running() is None


def test_a_failed_write_leaves_the_former_file(home, monkeypatch):
    before = (home.path / "peer.json").read_bytes()
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        home.write_settings(new_settings("http://127.0.0.1:9"))
    assert (home.path / "peer.json").read_bytes() == before
    assert not [path for path in home.path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(("text", "parts"), [
    ("192.168.1.20:8643", ("192.168.1.20", 8643)),
    ("peer.example:1", ("peer.example", 1)),
    ("[fd00::2]:8643", ("fd00::2", 8643)),
])  # fmt: skip
def test_addresses(text, parts):
    assert host_and_port(text) == parts


@pytest.mark.parametrize("text", [
    "", "host", "host:", ":1", "host:0", "host:65536", "ho st:1", "a/b:1", "a@b:1", "fd00::2:1", "host:1\r\nX: y",
    "host:١", "x" * 300 + ":1", "host:1/path",
])  # fmt: skip
def test_what_is_no_address(text):
    with pytest.raises(ParameterError, match="HOST:PORT"):
        host_and_port(text)


def test_names():
    assert checked_name("anna.b") == "anna.b"
    for name in ("", "a b", "x" * 41, "<b>", "a\n"):
        with pytest.raises(ParameterError, match="A name has"):
            checked_name(name)


def test_no_secret_is_in_a_traceback():
    settings = new_settings("http://127.0.0.1:8888")
    assert settings.secret not in repr(settings)
    assert settings.choice_key not in repr(settings)
