"""Web addresses on loopback, with a certificate of our own: read, never written, never without https."""

import datetime
import functools
import http.server
import ipaddress
import ssl
import threading

import pytest

import coterie
from coterie.errors import CoterieError, InputError, MissingError
from coterie.methods.suppress_rare import SuppressRare
from coterie.testing import queries_log
from tests.helpers.servers import NOBODY

ROWS = "user\tquery\n" + "".join(f"{n}\ttea\n" for n in range(3))


def _certificate(folder):
    """A key and a certificate for 127.0.0.1 that is its own authority."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "both.pem").write_bytes(private + made.public_bytes(pem))
    (folder / "known.pem").write_bytes(made.public_bytes(pem))


class _Site(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Nothing."""

    def do_GET(self):
        answers = {"/denied": 403, "/broken": 500}
        path = self.path.partition("?")[0]
        if path in answers:
            self.send_error(answers[path])
        elif path in ("/away", "/on"):
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1/log.tsv" if path == "/away" else "/log.tsv")
            self.end_headers()
        elif path in ("/round", "/file"):
            self.send_response(302)
            self.send_header("Location", "/round" if path == "/round" else "file:///etc/hosts")
            self.end_headers()
        elif path in ("/odd", "/twice"):
            self.send_response(200)
            self.send_header("Content-Length", "abc" if path == "/odd" else "5, 5")
            self.end_headers()
            self.wfile.write(ROWS.encode())
            self.close_connection = True
        elif path == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"user\tquery\n")
        else:
            super().do_GET()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of a website, and its address."""
    folder = tmp_path_factory.mktemp("site")
    keys = tmp_path_factory.mktemp("keys")
    _certificate(keys)
    (folder / "log.tsv").write_text(ROWS)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(keys / "both.pem")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Site, directory=str(folder)))
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    running = threading.Thread(target=server.serve_forever)
    running.start()
    yield folder, f"https://127.0.0.1:{server.server_address[1]}", keys / "known.pem"
    server.shutdown()
    server.server_close()
    running.join()


@pytest.fixture
def address(site, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(site[2]))
    return site[1]


def test_a_log(address, site):
    log = coterie.read(f"{address}/log.tsv?token=qztokenq")
    assert log.to_polars().height == 3
    assert log.file_digests == coterie.read(site[0] / "log.tsv").file_digests
    assert coterie.read(f"{address}/on").to_polars().height == 3


@pytest.mark.parametrize("parts", [None, 2])
def test_a_release(address, site, parts):
    release = coterie.anonymize(queries_log(), SuppressRare(k=3), seed=1)
    name = f"safe{parts}.csv"
    coterie.write(release, site[0] / name, parts=parts)
    assert coterie.verify(f"{address}/{name}", queries_log()).exit_code == 0
    assert coterie.load_release(f"{address}/{name}").rows == release.rows


def test_rows_that_coterie_did_not_make(address):
    verdict = coterie.verify(f"{address}/log.tsv", coterie.log(_three()), promise="query_k_anonymity", k=3)
    assert verdict.exit_code == 0


def _three():
    import polars as pl

    return pl.DataFrame({"user": ["0", "1", "2"], "query": ["tea"] * 3})


@pytest.mark.parametrize(
    ("path", "kind", "message"),
    [
        ("/no.tsv", MissingError, "there is nothing at this address (404)"),
        ("/denied", InputError, "access is denied (403)"),
        ("/broken", InputError, "answered with an error (500)"),
        ("/away", InputError, "cannot be reached"),
        ("/cut", InputError, "cut off"),
        ("/round", InputError, "leads on in circles"),
        ("/file", InputError, "no https:// address (302)"),
    ],
)
def test_bad_answers(address, path, kind, message):
    with pytest.raises(kind) as refused:
        coterie.read(f"{address}{path}?token=qztokenq")
    assert message in str(refused.value)
    assert "qztokenq" not in str(refused.value)


@pytest.mark.parametrize("path", ["/odd", "/twice"])
def test_a_length_that_is_no_number_says_nothing(address, path):
    assert coterie.read(f"{address}{path}").to_polars().height == 3


def test_who_is_not_known(site):
    """Without SSL_CERT_FILE, nobody vouches for the server."""
    with pytest.raises(CoterieError, match="whether its certificate is known"):
        coterie.read(f"{site[1]}/log.tsv")


def test_nobody_is_there():
    with pytest.raises(InputError, match="cannot be reached"):
        coterie.read(f"https://127.0.0.1:{NOBODY}/log.tsv")
