"""What all tests have in common."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is, and nothing about the code.
settings.register_profile("whyperf", deadline=None)
settings.load_profile("whyperf")


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps what whyperf keeps for its user, such as the key of seals, out of this user's files."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
