"""Writes the copy, folder by folder, and reads it again: a copy with an identity of the original is removed."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from whyperf.foreign import MAX_LARGE_DOCUMENT_BYTES, parse_json, read_bytes
from whyperf.record.durable import folder_mode, identity_of, remove_made, write_file
from whyperf.record.errors import RecordError, WrongFolderError, as_record_error, refuse_exchangeable
from whyperf.record.experiment import PROBE_COST, PROFILES, Experiment
from whyperf.record.export.documents import anonymous, anonymous_plan, anonymous_profile, learn, vocabulary
from whyperf.record.export.pseudonyms import Pseudonyms
from whyperf.record.export.tables import copy_table
from whyperf.record.manifest import Damaged
from whyperf.record.pack import MANIFESTS, SIZES, packs
from whyperf.record.seal import NAME as SEAL

#: The parts that the copy does not have, by what they are, where the original has them.
_LEFT_OUT = {
    "set-aside": "trials that were measured again",
    "explain.json": "the explanation",
    "report.html": "the report",
    "verifies.json": "which verdict it verifies",
    "why.json": "what the experiments showed",
    SEAL: "the seal",
}


class Exported(NamedTuple):
    """The outcome of an export."""

    folder: Path
    #: Number of identities of each kind that have a pseudonym.
    replaced: dict[str, int]
    #: Parts of the original that the copy lacks, in words.
    left_out: list[str]


def export_anonymized(experiment: Experiment, target: Path) -> Exported:
    """Writes a copy of the result into the new folder `target`, with pseudonyms and without facts that identify.

    Raises:
        WrongFolderError: the target is there, or another user could exchange it.
        RecordError: a file cannot be read or written, or an identity would remain; nothing is
            left of the copy then.
    """
    if target.exists() or target.is_symlink():
        raise WrongFolderError(f"{target} is there already; give another folder with --out")
    damaged = experiment.trials().damaged
    if damaged:
        first: Damaged = damaged[0]
        raise RecordError(
            f"trial {first.trial} is damaged ({first.reason}), so its content cannot be checked; "
            f"move {experiment.folder / 'trials' / first.trial} out of the result"
        )
    refuse_exchangeable(target)
    with as_record_error("create", target):
        target.mkdir(0o700, parents=True)
        identity = identity_of(target)
    try:
        # Again: its parents were made meanwhile, perhaps by somebody else.
        refuse_exchangeable(target)
        names = _write(experiment, target)
        _refuse_leak(target, names)
    except BaseException:
        with suppress(OSError):
            remove_made(target, identity)
        raise
    present = [text for name, text in _LEFT_OUT.items() if (experiment.folder / name).exists()]
    present += ["what the watch was asked for"] if experiment.plan.watched is not None else []
    present += ["pages of the segment flow"] if any(experiment.folder.glob("flow-*")) else []
    return Exported(target, names.counts, present)


def _write(experiment: Experiment, target: Path) -> Pseudonyms:
    source = experiment.folder
    documents = dict(_documents(experiment))
    manifests = {name: manifest.model_dump(mode="json") for name, manifest in experiment.trials().manifests.items()}
    names = Pseudonyms(vocabulary(experiment.plan, {"documents": documents, "manifests": list(manifests.values())[:1]}))
    learn(experiment.plan, experiment.profile_text, documents, names)
    plan = anonymous_plan(experiment.plan, names).named(target.name)
    profile = anonymous_profile(experiment.profile_text, experiment.plan, names)
    with as_record_error("write to", target):
        for name, document in documents.items():
            path = target / name
            path.parent.mkdir(folder_mode(target), exist_ok=True)
            write_file(path, _json(anonymous(document, names)), in_result=True)
        (target / "trials").mkdir(folder_mode(target))
        kept = next((name for name in PROFILES if (source / name).exists()), PROFILES[0])
        write_file(target / kept, profile.encode(), in_result=True)
        for folder in sorted((source / "trials").iterdir()):
            if folder.name in manifests:
                _write_trial(folder, target / "trials" / folder.name, manifests[folder.name], names)
        for pack in packs(source / "trials"):
            _write_pack(pack, target / "trials" / pack.name, names)
        # The plan makes it a result, so it comes last.
        write_file(target / "plan.json", plan.to_json().encode(), in_result=True)
    return names


def _documents(experiment: Experiment) -> Iterator[tuple[str, Any]]:
    """The documents about hosts, by their paths in the result: those that a run writes, and no other files."""
    source = experiment.folder
    of_hosts = sorted([*experiment.host_documents(), source / "hosts" / PROBE_COST])
    for path in [*of_hosts, source / "testbed.json"]:
        if path.exists():
            try:
                yield str(path.relative_to(source)), parse_json(read_bytes(path))
            except ValueError:
                raise RecordError(f"{path} is damaged; move it out of the result") from None


def _write_trial(source: Path, target: Path, manifest: Mapping[str, Any], names: Pseudonyms) -> None:
    target.mkdir(folder_mode(target.parent))
    for table in manifest["tables"]:
        copy_table(table, source, target, names)
    sizes = {table: (target / table).stat().st_size for table in manifest["tables"]}
    write_file(target / "manifest.json", _json({**anonymous(manifest, names), "tables": sizes}), in_result=True)


def _write_pack(source: Path, target: Path, names: Pseudonyms) -> None:
    target.mkdir(folder_mode(target.parent))
    sizes = parse_json(read_bytes(source / SIZES))
    lines = read_bytes(source / MANIFESTS, MAX_LARGE_DOCUMENT_BYTES).splitlines()
    manifests = [json.dumps(anonymous(parse_json(line), names), ensure_ascii=False) for line in lines]
    write_file(target / MANIFESTS, ("\n".join(manifests) + "\n").encode(), in_result=True)
    for table in sizes["tables"]:
        copy_table(table, source, target, names)
    tables = {name: (target / name).stat().st_size for name in sizes["tables"]}
    write_file(target / SIZES, _json({**sizes, "tables": tables}), in_result=True)


def _json(document: object) -> bytes:
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def _refuse_leak(target: Path, names: Pseudonyms) -> None:
    """Reads the whole copy, and refuses it where it has an identity that is not a word of the result."""
    for path in sorted(target.rglob("*")):
        for text in _texts(path) if path.is_file() else ():
            if (left := names.left_in(text)) is not None:
                raise RecordError(
                    f'"{left}" would remain in {path.relative_to(target)} of the copy, so none was written; '
                    "please report this"
                )


def _texts(path: Path) -> Iterator[str]:
    if path.suffix != ".parquet":
        yield path.read_text(encoding="utf-8")
        return
    scan = pl.scan_parquet(path)
    for column, kind in scan.collect_schema().items():
        if isinstance(kind, pl.String | pl.Categorical):
            yield "\n".join(scan.select(pl.col(column).cast(pl.String).unique()).collect()[column].drop_nulls())
