"""Starting and ending."""

import socket

import pytest

from coterie.apps.peer.home import Friend, Home
from coterie.apps.peer.service import Options, run
from coterie.errors import InputError, MissingError, ParameterError
from tests.helpers.peers import a_home, get, with_peer
from tests.helpers.ports import held_ports


def _run(home, **options):
    return with_peer(home, Options(**options), lambda address: address)


def test_it_says_that_it_runs_while_it_runs(tmp_path):
    home = a_home(tmp_path / "peer")

    def work(address):
        assert f":{home.running().port}/" in address
        with socket.socket() as other:  # nobody else in the network is answered
            other.settimeout(5)
            assert other.connect_ex(("127.0.0.1", home.running().port)) == 0
        return get(address, "").status

    assert with_peer(home, Options(port=0), work) == 200
    assert home.running() is None


@pytest.mark.parametrize("which", ["near", "far"])
def test_a_port_in_use(tmp_path, which):
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        home = a_home(tmp_path / "peer", port=port if which == "far" else None)
        with pytest.raises(InputError, match=f"Port {port} is in use"):
            _run(home, port=port if which == "near" else 0)
    assert home.running() is None


def test_where_nobody_can_listen(tmp_path):
    home = a_home(tmp_path / "peer", port=held_ports(1)[0], listen="192.0.2.1:9")
    with pytest.raises(InputError, match=r"not possible to listen at 192\.0\.2\.1"):
        _run(home, port=0)


def test_alone_nobody_listens_for_friends(tmp_path):
    (port,) = held_ports(1)
    home = a_home(tmp_path / "peer", port=port)

    def work(_):
        with socket.socket() as link:
            return link.connect_ex(("127.0.0.1", port))

    assert with_peer(home, Options(port=0, alone=True), work) != 0
    assert with_peer(home, Options(port=0), work) == 0


def test_what_does_not_go_together(tmp_path):
    home = a_home(tmp_path / "peer", "https://search.example/?q=%s", port=held_ports(1)[0], redirect=True)
    with pytest.raises(ParameterError, match="--alone"):
        _run(home, port=0)
    assert _run(home, port=0, alone=True)


def test_a_damaged_folder_does_not_start(tmp_path):
    with pytest.raises(MissingError, match="There is no peer"):
        run(Home(tmp_path / "no"), Options(), print)
    home = a_home(tmp_path / "peer", port=held_ports(1)[0])
    home.key.write_text("nothing")
    with pytest.raises(InputError, match="damaged"):
        _run(home, port=0)
    home = a_home(tmp_path / "other", port=held_ports(1)[0])
    home.add(Friend(name="a", certificate="AAAA", address="127.0.0.1:1"))
    with pytest.raises(InputError, match="certificate of a friend is damaged"):
        _run(home, port=0)
    home.path.chmod(0o755)
    with pytest.raises(InputError, match="Others may read"):
        run(home, Options(), print)
