"""Measures by the engines of clusters; `make test-fleet` runs these tests, `make test` does not."""

import os

import pytest

from tests.e2e.conftest import WHY_NOT_PRIVILEGED
from tests.e2e.far_host import SSHD
from tests.sites import containers, slurm_cluster

#: Whether the programs of clusters were installed; the Makefile says.
FLEET = "WHYPERF_FLEET"

if FLEET not in os.environ:
    collect_ignore_glob = ["test_*.py"]


def pytest_runtest_setup() -> None:
    """Fails where something is missing: whoever asks for these tests wants to know that they were made."""
    why_no_ssh = None if SSHD.exists() else "needs sshd"
    for reason in (WHY_NOT_PRIVILEGED, why_no_ssh, slurm_cluster.missing(), containers.missing()):
        if reason is not None:
            pytest.fail(f"{reason}; `make test-fleet` as root installs what these tests need", pytrace=False)
