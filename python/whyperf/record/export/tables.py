"""Tables with pseudonyms: a table is written again only where a text in it changes."""

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import polars as pl

from whyperf.record.durable import restrict
from whyperf.record.errors import RecordError
from whyperf.record.export.pseudonyms import Pseudonyms
from whyperf.record.kinds import code_words, is_table
from whyperf.record.manifest import TABLE_OF_END
from whyperf.record.parquet import open_table

#: Columns of names that the record itself gives.
_OWN = frozenset({"host", "trial"})
#: Columns that name programs of the host, by table: the column, in which rows, and what a pseudonym begins with.
_OF_PROGRAMS = {
    "stacks": ("program", pl.col("group") == "other", "program"),
    "functions": ("name", pl.col("kind").is_in(["program", "bpf"]) & (pl.col("name") != "[unknown]"), "function"),
}
#: Columns of numbers that a host gives, and what a pseudonym is called.
_NUMBERS = {"process": "process number", "user": "user number"}


def copy_table(name: str, source_folder: Path, target_folder: Path, names: Pseudonyms) -> None:
    """Copies a table from folder to folder, with pseudonyms in place of identities.

    Raises:
        OSError: it cannot be read or written.
        RecordError: it is no table of the record.
    """
    source, target = source_folder / name, target_folder / name
    table = name.partition(".")[0]
    with ExitStack() as closing:
        try:
            if not (TABLE_OF_END.fullmatch(name) and is_table(table)):
                raise ValueError("the record has no such table")
            opened = open_table(source)
            read = closing.enter_context(opened.file)
            changed = _changed(pl.scan_parquet(read), table, names)
        except (ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = str(error).partition("\n")[0]
            raise RecordError(f"cannot export {source}: {reason}; move this trial out of the result") from None
        written = closing.enter_context(target.open("xb"))
        restrict(target)
        if changed is None:
            read.seek(0)
            shutil.copyfileobj(read, written)
        else:
            # Units, meanings and sources of the columns stand in the Arrow schema.
            changed.write_parquet(written, metadata=dict(pl.read_parquet_metadata(opened.path)))


def _changed(scan: pl.LazyFrame, table: str, names: Pseudonyms) -> pl.DataFrame | None:
    """The table with pseudonyms; None where it has nothing to replace."""
    texts = [name for name, kind in scan.collect_schema().items() if isinstance(kind, pl.String | pl.Categorical)]
    replaced: dict[str, dict[str, str]] = {}
    for column in texts:
        if column in _OWN or code_words(table, column):
            continue
        values = scan.select(pl.col(column).cast(pl.String).unique()).collect()[column].drop_nulls().to_list()
        rule = _rule(table, column, names)
        changes = {value: given for value in sorted(values) if (given := rule(value)) != value}
        if changes:
            replaced[column] = changes
    numbers = [column for column in _NUMBERS if column in scan.collect_schema()]
    if not replaced and table not in _OF_PROGRAMS and not numbers:
        return None
    frame = scan.collect()
    columns = {
        column: pl.col(column).cast(pl.String).replace(changes).cast(frame.schema[column])
        for column, changes in replaced.items()
    }
    for column in numbers:
        values = frame[column].unique().sort().drop_nulls().to_list()
        pseudonyms = {value: names.number(_NUMBERS[column], value) for value in values}
        columns[column] = pl.col(column).replace(pseudonyms)
    if table in _OF_PROGRAMS:
        column, where, kind = _OF_PROGRAMS[table]
        programs = frame.filter(where)[column].unique().sort().to_list()
        changes = {name: names.unregistered(kind, name) for name in programs}
        others = columns.get(column, pl.col(column))
        columns[column] = pl.when(where).then(pl.col(column).replace(changes)).otherwise(others)
    return frame.with_columns(**columns)


def _rule(table: str, column: str, names: Pseudonyms) -> Callable[[str], str]:
    rules = {
        "local_address": names.endpoint,
        "remote_address": names.endpoint,
        "device": names.device,
        "subject": lambda subject: names.group(subject) if subject.startswith("/") else _of_host(subject, names),
        # Stacks of watched programs stand with the load's own.
        "program": names.process if table == "watched" else names.known_process,
        "executable": names.file,
        "control_group": names.group,
    }
    return rules.get(column, names.text)


def _of_host(subject: str, names: Pseudonyms) -> str:
    """A subject that is no control group: a device, or empty where it is the host."""
    return names.device(subject) if subject else subject
