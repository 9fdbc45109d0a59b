"""Agents to talk to."""

from collections.abc import Callable, Iterator

import pytest

from tests.protocol.pipe_talk import Talk


@pytest.fixture
def talk() -> Iterator[Callable[..., Talk]]:
    """Starts agents that are ended with the test, and that must never have panicked."""
    talks: list[Talk] = []

    def start(*arguments: str) -> Talk:
        talks.append(Talk(*arguments))
        return talks[-1]

    yield start
    for opened in talks:
        if opened.process.poll() is None:
            opened.process.kill()
        said = opened.process.stderr.read() if opened.process.stderr and not opened.process.stderr.closed else b""
        opened.kill()
        assert b"panicked" not in said, said.decode(errors="replace")
