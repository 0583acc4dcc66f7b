"""What all tests share: where the real logs are, and quiet, repeatable property tests."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.helpers.examples import USUAL, examples

pytest_plugins = ["tests.costs"]
os.environ["COTERIE_CACHE"] = "off"  # no test finds what another one measured, nor touches what people keep
settings.register_profile(
    "coterie",
    max_examples=examples(USUAL),  # most run a whole method; more where a test says so
    deadline=None,  # time says nothing on shared machines
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("coterie")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real logs; tests that need it skip where there is none."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("COTERIE_DATA") or beside)
    if not folder.is_dir():
        pytest.skip("no real logs here (set COTERIE_DATA)")
    return folder
