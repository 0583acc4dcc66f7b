"""One studio for all tests of its pages: they add to it, and none takes away what others need."""

import pytest

from coterie import synth
from tests.helpers.studios import studio


@pytest.fixture(scope="package")
def browser():
    with studio() as browser:
        yield browser


@pytest.fixture(scope="package")
def log_file(tmp_path_factory):
    """A synthetic log of 60 people, in the layout of AOL's."""
    path = tmp_path_factory.mktemp("studio-log") / "log.tsv"
    synth.write(path, 60, 7)
    return path


@pytest.fixture(scope="package")
def opened(browser, log_file):
    """The number of that log in the studio."""
    return browser.open(log_file)
