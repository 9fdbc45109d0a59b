"""Measures by the engines of clusters; `make test-fleet` runs these tests, `make test` does not."""

import os

import pytest

from tests.e2e.conftest import WHY_NOT_PRIVILEGED

#: Whether the programs of clusters were installed; the Makefile says.
FLEET = "WHYPERF_FLEET"

if FLEET not in os.environ:
    collect_ignore_glob = ["test_*.py"]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips what needs privilege where there is none."""
    if item.get_closest_marker("root") and WHY_NOT_PRIVILEGED is not None:
        pytest.skip(WHY_NOT_PRIVILEGED)
