import pytest

from coterie.text.hosts import host_labels, host_of


@pytest.mark.parametrize(("url", "host"), [
    ("http://www.example.org/a/b?c#d", "www.example.org"),
    ("HTTPS://WWW.Example.ORG", "www.example.org"),
    ("//example.org/x", "example.org"),
    ("example.org", "example.org"),
    ("example.org:8080/x", "example.org"),
    ("http://example.org:", "example.org"),
    ("http://ann:secret@example.org/", "example.org"),
    ("http://ann@mail@example.org/", "example.org"),
    ("http://example.org?q=a/b", "example.org"),
    ("http://example.org#a", "example.org"),
    ("http://example.org./", "example.org"),
    ("ftp+x.y-z://example.org", "example.org"),
    ("http://10.0.0.1:80/", "10.0.0.1"),
    ("http://bücher.example/", "bücher.example"),
    ("", ""),
    ("http://", ""),
    ("/only/a/path", ""),
    ("http://[::1]/", ""),
    ("mailto:ann@example.org", "example.org"),
    ("javascript:alert(1)", ""),
    ("http://two words/", ""),
    ("http://a,b/", ""),
])  # fmt: skip
def test_the_host_of_a_url(url, host):
    assert host_of(url) == host


@pytest.mark.parametrize(("host", "labels"), [
    ("www.example.org", ["org", "example", "www"]),
    ("localhost", ["localhost"]),
    ("10.0.0.1", ["10.0.0.1"]),
    ("", [""]),
    ("1.example", ["example", "1"]),
])  # fmt: skip
def test_labels_from_the_right(host, labels):
    assert host_labels(host) == labels


def test_a_host_of_very_many_labels_keeps_the_left_ones_together():
    labels = host_labels(".".join(map(str, range(39))) + ".org")
    assert len(labels) == 32
    assert labels[:2] == ["org", "38"]
    assert labels[-1] == ".".join(map(str, range(9)))
