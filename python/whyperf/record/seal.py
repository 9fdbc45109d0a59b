"""Proof that a result was made here: by this user's whyperf, on this host.

What a result says of its host, anybody can write into it. So each new one is sealed with a key that never leaves the
user's own files: over the plan, the profile and the name of this host. A result without a right seal was made
elsewhere, or changed since, or is from before there were seals.
"""

import errno
import hashlib
import hmac
import os
import platform
import secrets
from contextlib import suppress
from pathlib import Path

from whyperf.foreign import read_bytes, read_text
from whyperf.record.costs import state_folder
from whyperf.record.durable import partial_name, write_file

NAME = "seal"
KEY_BYTES = 32
_OF_DOCUMENTS = b"kept"
"""The beginning of a signature, and of no seal: with the same key, the one never counts as the other."""


def write_seal(folder: Path, *sealed: str) -> None:
    """Seals the texts into a result. Where the user's key cannot be kept, the result is as one made elsewhere."""
    with suppress(OSError):
        write_file(folder / NAME, _seal(_key(), sealed).encode() + b"\n", in_result=True)


def is_made_here(folder: Path, *sealed: str) -> bool:
    """True where the texts are what a result here was sealed with."""
    try:
        kept, key = read_text(folder / NAME, 1 << 10).strip(), read_bytes(_key_file(), 1 << 10)
    except (OSError, UnicodeDecodeError):
        return False
    return len(key) == KEY_BYTES and kept.isascii() and hmac.compare_digest(kept, _seal(key, sealed))


def signature(*texts: str) -> str | None:
    """Signs these texts as only this user's whyperf on this host can; None where the key cannot be kept."""
    with suppress(OSError):
        return _seal(_key(), texts, _OF_DOCUMENTS)
    return None


def _seal(key: bytes, sealed: tuple[str, ...], purpose: bytes = b"") -> str:
    digest = hmac.new(key, purpose, hashlib.sha256)
    for text in (platform.node(), *sealed):
        digest.update(hashlib.sha256(text.encode()).digest())
    return digest.hexdigest()


def _key() -> bytes:
    """The user's key, made when it is needed first.

    Raises:
        OSError: it cannot be kept.
    """
    path = _key_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        if len(key := read_bytes(path, 1 << 10)) == KEY_BYTES:
            return key
        # Everybody knows an empty key, which a full disk has left: what it seals, anybody could seal.
        path.unlink(missing_ok=True)
    made = partial_name(path)
    write_file(made, secrets.token_bytes(KEY_BYTES), is_secret=True)
    try:
        # Unlike a rename, a link never takes the place of a key that another process made at the same time.
        with suppress(FileExistsError):
            os.link(made, path)
    finally:
        made.unlink(missing_ok=True)
    if len(key := read_bytes(path, 1 << 10)) != KEY_BYTES:
        raise OSError(errno.EINVAL, "it is no key", str(path))
    return key


def _key_file() -> Path:
    return state_folder() / "key"
