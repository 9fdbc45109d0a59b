"""What tests of the laboratory share with those of the product on real kernel objects."""

from tests.e2e.conftest import ours, pytest_runtest_setup, started

__all__ = ["ours", "pytest_runtest_setup", "started"]
