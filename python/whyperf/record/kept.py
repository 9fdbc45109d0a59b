"""Documents of a result that were computed from its record, kept so that they need not be computed again.

A kept document counts only while what it was computed from is there as it was, and only if this user's whyperf on this
host wrote it: its first field is a signature over the fingerprint of the record, whoever computes, and the document.
Anything else, a damaged document too, counts as none.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from whyperf import __version__
from whyperf.foreign import MAX_LARGE_DOCUMENT_BYTES, parse_json, read_bytes
from whyperf.record.durable import write_file
from whyperf.record.seal import signature

_HEAD = re.compile(rb'\{\n "made_of": "(?P<signature>[0-9a-f]{64}|)",\n')
#: The contents of an experiment's folder that results are computed from; its other files can be made again.
_DOCUMENTS = ("plan.json", "profile.toml", "profile.xml", "testbed.json", "seal")
_FOLDERS = ("hosts", "trials")
_LEVELS = 2
"""Levels of files below these: a trial has a folder. The folder of somebody else may be nested to any depth."""
#: Packages whose code and tables decide what a result says, and what a report draws of it.
_COMPUTING = ("analyze", "compare", "explain", "overhead", "plan", "profile", "record", "report")


def write_kept(path: Path, fingerprint: str, document: Mapping[str, object]) -> None:
    """Writes a document computed from a record that had this `fingerprint` before; whole or not at all.

    Raises:
        OSError: the disk refuses.
    """
    body = json.dumps(document, indent=1, ensure_ascii=False).removeprefix("{\n").encode() + b"\n"
    signed = signature(fingerprint, body.decode()) or ""
    write_file(path, b'{\n "made_of": "%s",\n' % signed.encode() + body, in_result=True)


def read_kept(path: Path, fingerprint: str, limit: int = MAX_LARGE_DOCUMENT_BYTES) -> dict[str, Any] | None:
    """The document that was computed from a record of this `fingerprint`; None where there is none, or of another, or
    it has more than `limit` bytes.
    """
    try:
        content = read_bytes(path, limit)
        head = _HEAD.match(content)
        if head is None:
            return None
        signed = signature(fingerprint, content[head.end() :].decode())
        if signed is None or signed != head["signature"].decode():
            return None
        document = parse_json(content)
    except (OSError, ValueError):
        return None
    if not isinstance(document, dict):
        return None
    del document["made_of"]
    return document


def fingerprint_of(folder: Path) -> str:
    """A fingerprint of all that a result follows from: the record's files, its name, and the code that computes.

    Of documents the content counts, of tables the size and the time of the last change: a copy that keeps the times,
    as `cp -a`, is the same record.
    """
    digest = hashlib.sha256(_code().encode())
    digest.update(f"\n{folder.absolute().name}".encode())
    for name, entry in _files(folder):
        found = entry.stat(follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode):
            continue
        digest.update(f"\n{name} {found.st_size} {found.st_mtime_ns} ".encode(errors="surrogateescape"))
        if name.endswith((".json", ".jsonl", ".toml", ".xml")):
            # What cannot be read is damaged, and judged as that.
            with suppress(OSError):
                digest.update(read_bytes(Path(entry.path), MAX_LARGE_DOCUMENT_BYTES))
    return digest.hexdigest()


def _files(folder: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """The files that count, in the order of their paths."""
    with suppress(OSError), os.scandir(folder) as entries:
        top = sorted(entries, key=lambda entry: entry.name)
        for entry in top:
            if entry.name in _DOCUMENTS:
                yield entry.name, entry
            elif entry.name in _FOLDERS:
                yield from _below(entry, entry.name)


def _below(entry: os.DirEntry[str], name: str, levels: int = _LEVELS) -> Iterator[tuple[str, os.DirEntry[str]]]:
    if levels == 0 or not entry.is_dir(follow_symlinks=False):
        yield name, entry
        return
    with suppress(OSError), os.scandir(entry.path) as entries:
        for child in sorted(entries, key=lambda child: child.name):
            yield from _below(child, f"{name}/{child.name}", levels - 1)


@cache
def _code() -> str:
    """The version, and the files of what computes: one version may have several sets of rules while it is made."""
    digest = hashlib.sha256(__version__.encode())
    here = Path(__file__).parents[1]
    for package in _COMPUTING:
        for folder, folders, names in os.walk(here / package):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            for name in sorted(names):
                digest.update(name.encode())
                digest.update(Path(folder, name).read_bytes())
    return digest.hexdigest()
