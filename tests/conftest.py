"""What all tests have in common: their tier by their folder, and a second run for those that measure."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

# Tables of tests are small: with several threads in each worker, Polars takes 20 % more CPU time to wait for them.
# It reads this when it is imported; the programs that tests start inherit it.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import pytest
from hypothesis import settings

from tests.reruns import Reruns

# How long an example takes says how busy the machine is, and nothing about the code.
settings.register_profile("whyperf", deadline=None)
settings.load_profile("whyperf")

TESTS = Path(__file__).parent
#: Folders of the quick tier: no root, no network, no agent that runs. All other folders need the kernel.
QUICK = ("fuzz", "lab/unit", "simulation", "style", "unit")
#: Marks of what a quick test never needs.
NEEDS = ("root", "paced", "alone", "slow")


def pytest_configure(config: pytest.Config) -> None:
    """Counts reruns where the results come together; workers of xdist only run tests."""
    config.pluginmanager.register(Reruns(is_worker=hasattr(config, "workerinput")), "reruns")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of the quick tier."""
    for item in items:
        folders = {str(folder) for folder in item.path.relative_to(TESTS).parents}
        if folders & set(QUICK) and not any(item.get_closest_marker(mark) for mark in NEEDS):
            item.add_marker(pytest.mark.quick)


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps what whyperf keeps for its user, such as the key of seals, out of this user's files."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


class Network:
    """Refuses addresses other than those of this host while `is_refused`."""

    is_refused = False

    @classmethod
    def audit(cls, event: str, arguments: tuple[object, ...]) -> None:
        """See `sys.addaudithook`; the address of these events is the second argument."""
        if not cls.is_refused or event not in ("socket.connect", "socket.sendto"):
            return
        address = arguments[1]
        host = str(address[0]) if isinstance(address, tuple) else ""
        assert host.startswith("127.") or host in ("", "::1", "localhost"), f"a quick test contacts {host}"


sys.addaudithook(Network.audit)


@pytest.fixture(autouse=True)
def _without_network(request: pytest.FixtureRequest) -> Iterator[None]:
    """Holds the tests of the quick tier to what it says."""
    Network.is_refused = request.node.get_closest_marker("quick") is not None
    yield
    Network.is_refused = False
