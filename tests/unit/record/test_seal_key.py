"""The key of the seals: whole or not there, and for its owner alone."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from whyperf.record import seal


@pytest.fixture(autouse=True)
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "whyperf" / "key"


@contextmanager
def full_disk() -> Iterator[None]:
    """No file takes a byte (setrlimit(2); Python ignores SIGXFSZ)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_no_key_and_no_seal(key: Path, tmp_path: Path) -> None:
    with full_disk():
        seal.write_seal(tmp_path, "plan")
        assert seal.signature("document") is None
    assert list(key.parent.iterdir()) == []
    assert not (tmp_path / seal.NAME).exists()
    seal.write_seal(tmp_path, "plan")
    assert seal.is_made_here(tmp_path, "plan")
    assert len(key.read_bytes()) == seal.KEY_BYTES
    assert key.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"short", b"x" * (seal.KEY_BYTES + 1)])
def test_a_key_of_another_length_seals_nothing(key: Path, tmp_path: Path, content: bytes) -> None:
    """What an empty key sealed, anybody could have sealed."""
    key.parent.mkdir(parents=True)
    key.write_bytes(content)
    forged = seal._seal(content, ("plan",))
    (tmp_path / seal.NAME).write_text(forged)
    assert not seal.is_made_here(tmp_path, "plan")
    assert seal.signature("plan") not in {None, forged}
    assert len(key.read_bytes()) == seal.KEY_BYTES
    assert [path.name for path in key.parent.iterdir()] == ["key"]


def test_a_key_that_is_there_stays(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may make one at the same time: the first counts for both."""
    first = b"k" * seal.KEY_BYTES
    link = os.link

    def late(source: Path, target: Path) -> None:
        target.write_bytes(first)
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    assert seal.signature("plan") == seal._seal(first, ("plan",), b"kept")
    assert key.read_bytes() == first


def test_a_seal_is_no_signature_of_a_document(tmp_path: Path) -> None:
    seal.write_seal(tmp_path, "fingerprint", "document")
    sealed = (tmp_path / seal.NAME).read_text().strip()
    assert sealed != seal.signature("fingerprint", "document")
    (tmp_path / seal.NAME).write_text(str(seal.signature("plan", "profile")))
    assert not seal.is_made_here(tmp_path, "plan", "profile")
