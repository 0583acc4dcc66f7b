"""Servers on loopback that tests start and stop: PostgreSQL, moto in place of S3, azurite in place of Azure."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers.ports import held_ports

USER, PASSWORD = "tester", "qzpasswordq"
NOBODY = 1
"""A port where nobody listens."""
PATIENCE = 120  # seconds that a server may take to start on a busy machine
_AZURITE = Path(__file__).parents[2] / ".azurite/node_modules/.bin"  # where `make azurite` puts it
_MOTO = (
    "import sys; from moto.server import ThreadedMotoServer as S; s = S('127.0.0.1', 0, False); s.start(); "
    "print(s.get_host_and_port()[1], flush=True); sys.stdin.read()"
)


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.poll() is None:
        with socket.socket() as knock:
            if knock.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail("a server did not start")


def _is_ready(said: Path, server: subprocess.Popen[bytes]) -> bool:
    """Whether the server says so itself; False where it has ended."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.poll() is None:
        if said.exists() and "ready" in said.read_text():
            return True
        time.sleep(0.05)
    return False


def _stop(server: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> None:
    server.send_signal(number)
    try:
        server.wait(30)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _postgresql() -> Path:
    """The folder of its programs; Debian keeps them out of the way."""
    folders = [*sorted(Path("/usr/lib/postgresql").glob("*/bin")), *map(Path, os.get_exec_path())]
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    pytest.skip("PostgreSQL is not installed here (Debian: postgresql)")


@contextmanager
def postgresql() -> Iterator[str]:
    """The address of a server of its own with a password; root runs it as the user postgres, as it demands."""
    programs = _postgresql()
    other: dict[str, object] = {}
    if os.getuid() == 0:
        import pwd

        try:
            owner = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("there is no user postgres, and root may not run PostgreSQL")
        other = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    folder = Path(tempfile.mkdtemp(prefix="coterie-postgresql-", dir="/tmp"))
    try:
        (folder / "password").write_text(PASSWORD)
        if other:
            for path in (folder, folder / "password"):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        data, env = folder / "data", {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        made = subprocess.run(
            [programs / "initdb", "-D", data, "-U", USER, "-A", "scram-sha-256", "--pwfile", folder / "password",
             "-E", "UTF8", "--no-sync"],
            capture_output=True, env=env, cwd="/", **other,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr.decode()[-500:]
        (port,) = held_ports(1)
        settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off", "port": port}
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, *(f"--{name}={value}" for name, value in settings.items())],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env, cwd="/", **other,
        )  # fmt: skip
        try:
            assert _is_ready(data / "postmaster.pid", server), "PostgreSQL did not start"
            yield f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{port}/postgres"
        finally:
            _stop(server, signal.SIGINT)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def s3() -> Iterator[dict[str, str]]:
    """The environment by which clients find a store of S3's kind, which moto plays, with a bucket `logs`."""
    server = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _MOTO],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert server.stdout is not None
    try:
        port = int(server.stdout.readline() or b"0")
        assert port, "moto did not start"
        put = f"PUT /logs HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        with socket.create_connection(("127.0.0.1", port), 30) as wire:
            wire.sendall(put.encode())
            assert b" 200 " in wire.recv(200)
        yield {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "qzkeyq",
            "AWS_SECRET_ACCESS_KEY": PASSWORD,
            "AWS_REGION": "us-east-1",
        }
    finally:
        _stop(server)
        server.stdout.close()
        if server.stdin is not None:
            server.stdin.close()


@contextmanager
def azure() -> Iterator[dict[str, str]]:
    """The same for Azure, which azurite plays where it is installed."""
    program = shutil.which("azurite-blob", path=f"{_AZURITE}{os.pathsep}{os.environ.get('PATH', '')}")
    if program is None:
        pytest.skip("azurite is not installed here (make azurite, which needs npm)")
    folder, (port,) = Path(tempfile.mkdtemp(prefix="coterie-azurite-")), held_ports(1)
    server = subprocess.Popen(
        [program, "--blobPort", str(port), "--location", folder, "--silent", "--skipApiVersionCheck"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder,
    )  # fmt: skip
    try:
        _wait_for(port, server)
        yield {"AZURE_STORAGE_USE_EMULATOR": "true", "AZURITE_BLOB_STORAGE_URL": f"http://127.0.0.1:{port}"}
    finally:
        _stop(server)
        shutil.rmtree(folder, ignore_errors=True)
