"""Packs: many simulated trials in one folder, `trials/pack-<number>`.

A measured trial has a folder of its own, written before the next begins, because it can never be had again. A
simulated one can, from its line in the plan and its seed, and takes milliseconds: a folder of its own, its files and
their way to the disk would take longer than the trial. A pack has `manifests.jsonl`, a line a trial, and each table
once an end, with the trial's name in a column of its own. It is written under another name and renamed like a trial.
"""

import io
import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from whyperf.foreign import MAX_LARGE_DOCUMENT_BYTES, parse_json, plain_files, quoted, read_bytes, refuse_link
from whyperf.record.durable import file_mode, folder_mode, remove, sync
from whyperf.record.errors import as_record_error, failure
from whyperf.record.manifest import TABLE_OF_END, TRIAL_NAME, Damaged, Manifest, read_manifest, wrong_in

PACK_NAME = re.compile(r"pack-\d{5,}")
MANIFESTS = "manifests.jsonl"
SIZES = "pack.json"


class PackWriter:
    """Collects a pack in a hidden folder; `commit` renames it.

    As a context manager it removes what was not committed.
    """

    def __init__(self, partial: Path, final: Path) -> None:
        """Starts an empty one; tables are written into `folder` by whoever has them."""
        self.folder = partial
        self._final = final
        with as_record_error("create", partial):
            remove(partial)
            partial.mkdir(folder_mode(partial.parent))

    def commit(self, manifests: Iterable[Mapping[str, object]]) -> None:
        """Writes the manifests and moves the pack into place.

        Raises:
            RecordError: the disk refuses; the pack is gone then.
        """
        lines = [json.dumps(manifest, ensure_ascii=False) for manifest in manifests]
        try:
            tables = {path.name: path.stat().st_size for path in sorted(self.folder.iterdir())}
            (self.folder / MANIFESTS).write_text("\n".join(lines) + "\n", encoding="utf-8")
            (self.folder / SIZES).write_text(
                json.dumps({"trials": len(lines), "tables": tables}) + "\n", encoding="utf-8"
            )
            for path in self.folder.iterdir():
                # The agent wrote the tables.
                path.chmod(path.stat().st_mode & file_mode(self.folder))
                sync(path)
            sync(self.folder)
            self.folder.rename(self._final)
            sync(self._final.parent)
        except OSError as error:
            raise failure("write", self._final, error) from error

    def __enter__(self) -> "PackWriter":
        """The writer itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Removes the partial folder unless it was moved into place."""
        shutil.rmtree(self.folder, ignore_errors=True)


def packs(trials: Path) -> list[Path]:
    """The packs among an experiment's trials, in order."""
    with as_record_error("read", trials):
        return sorted(path for path in trials.iterdir() if PACK_NAME.fullmatch(path.name))


def next_pack(trials: Path) -> str:
    """The name of the pack that comes next."""
    numbers = [int(path.name.removeprefix("pack-")) for path in packs(trials)]
    return f"pack-{max(numbers, default=0) + 1:05d}"


def read_pack(folder: Path) -> Iterator[Manifest | Damaged]:
    """The manifests of a pack; one that is not whole is reported once."""
    try:
        refuse_link(folder)
        sizes = parse_json(read_bytes(folder / SIZES))
        manifests = read_bytes(folder / MANIFESTS, MAX_LARGE_DOCUMENT_BYTES)
        there = plain_files(folder)
        wrong = [
            quoted(name)
            for name, size in sizes["tables"].items()
            if not TABLE_OF_END.fullmatch(name) or there.get(name) != size
        ]
        if wrong or sizes["trials"] != manifests.count(b"\n"):
            yield Damaged(folder.name, f"{wrong[0] if wrong else MANIFESTS} is not whole")
            return
        # One line after the other: a list of short ones would take 20 times as much memory.
        for line in io.BytesIO(manifests):
            manifest = read_manifest(line)
            if not TRIAL_NAME.fullmatch(manifest.trial):
                raise ValueError(f"it has a manifest of {quoted(manifest.trial)}, which is no name of a trial")
            yield manifest
    except OSError as error:
        yield Damaged(folder.name, f"its {Path(str(error.filename)).name} cannot be read: {error.strerror}")
    except ValidationError as error:
        yield Damaged(folder.name, wrong_in(error))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        yield Damaged(folder.name, f"it cannot be read: {str(error).partition(chr(10))[0]}")


def manifest_in_packs(trials: Path, name: str) -> Manifest | None:
    """The manifest of one trial, where a pack has it."""
    for folder in packs(trials):
        for found in read_pack(folder):
            if isinstance(found, Manifest) and found.trial == name:
                return found
    return None
