"""What a table declares decides whether it is read."""

import json
import os
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.record.record_samples import PROFILE_TEXT, record, sample_plan
from tests.whole.records.golden import unpack
from whyperf.record import Experiment, RecordError, is_table, parquet, read_table, wrong_in_table
from whyperf.record.kinds import COLUMNS, code_words
from whyperf.record.parquet import (
    FREE_BYTES,
    MAX_FOOTER_BYTES,
    MAX_RATIO,
    MAX_TEXT_BYTES,
    allowed_bytes,
    bytes_in_memory,
)
from whyperf.record.thrift import MAX_CONTAINERS, read_struct

ROWS = 1000

# Thrift's compact protocol, written after its specification for these tests.


def varint(value: int) -> bytes:
    found = b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])


def zigzag(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def encoded(value: Any) -> tuple[int, bytes]:
    """Kind and bytes of a value; a list has one kind of values."""
    match value:
        case int():
            return 6, zigzag(value)
        case bytes():
            return 8, varint(len(value)) + value
        case dict():
            return 12, struct(value)
    kind = encoded(value[0])[0] if value else 6
    head = bytes([len(value) << 4 | kind]) if len(value) < 15 else bytes([0xF0 | kind]) + varint(len(value))
    return 9, head + b"".join(encoded(part)[1] for part in value)


def struct(fields: Mapping[int, Any]) -> bytes:
    found, before = b"", 0
    for field, value in sorted(fields.items()):
        kind, content = encoded(value)
        step = field - before
        found += (bytes([step << 4 | kind]) if step < 16 else bytes([kind]) + zigzag(field)) + content
        before = field
    return found + b"\0"


LEAVES = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-130, 130), st.binary(max_size=200))
FIELDS = st.one_of(st.integers(1, 40), st.integers(1, 2**15 - 1))
STRUCTS = st.dictionaries(FIELDS, st.one_of(LEAVES, st.lists(st.integers(-9, 2**40), max_size=20)), max_size=4)


@given(st.dictionaries(FIELDS, st.one_of(LEAVES, STRUCTS, st.lists(STRUCTS, max_size=3))), st.binary(max_size=3))
def test_a_struct_is_read_as_it_was_written(fields: dict[int, Any], before: bytes) -> None:
    data = before + struct(fields)
    assert read_struct(data + b"rest", len(before)) == (fields, len(data))


@pytest.mark.parametrize(
    ("data", "found"),
    [
        # The first half of a byte is the step to the field, the second its kind: 1 and 2 yes and no, 3 a byte,
        # 7 a double, 9 and 10 a list and a set with the count and the kind, 4 to 6 numbers in zigzag.
        ([0x11, 0x12, 0], {1: True, 2: False}),
        ([0x13, 7, 0], {1: 7}),
        ([0x17, *range(8), 0x13, 9, 0], {1: None, 2: 9}),
        ([0x19, 0x31, 1, 2, 3, 0], {1: [1, 2, 3]}),
        ([0x1A, 0x25, 2, 4, 0], {1: [1, 2]}),
        ([0x14, 0x80, 1, 0x25, 0x7F, 0], {1: 64, 3: -64}),
        # A step of 0 says that the field follows.
        ([0x06, 0x20, 1, 0], {16: -1}),
        ([0x18, 3, *b"abc", 0], {1: b"abc"}),
    ],
)
def test_structs_by_hand(data: list[int], found: dict[int, Any]) -> None:
    assert read_struct(bytes(data), 0) == (found, len(data))


@pytest.mark.parametrize("data", [b"", b"\x16", b"\x15\x80", b"\x19\x21", b"\x17\x00", b"\x18\x05abc\0"])
def test_a_struct_that_is_cut_is_refused(data: bytes) -> None:
    with pytest.raises(IndexError):
        read_struct(data, 0)


def test_kinds_and_numbers_that_parquet_does_not_have_are_refused() -> None:
    with pytest.raises(ValueError, match="of kind 11"):
        read_struct(b"\x1b\0\0", 0)
    assert read_struct(b"\x16" + b"\x80" * 9 + b"\x00\0", 0)[0] == {1: 0}
    with pytest.raises(ValueError, match="too long"):
        read_struct(b"\x16" + b"\x80" * 10 + b"\x00\0", 0)


@pytest.mark.parametrize("inner", [b"\0", b"\x09"], ids=["structs", "lists"])
def test_a_footer_has_no_more_structs_and_lists_than_tables_need(inner: bytes) -> None:
    """A byte of zeros would take 88 bytes of memory: field 1 is a list of so many empty structs or lists."""
    kind = 12 if inner == b"\0" else 9
    count = MAX_CONTAINERS + 1
    varint = bytes([count & 127 | 128, count >> 7 & 127 | 128, count >> 14])
    with pytest.raises(ValueError, match="more than 500,000 structs and lists"):
        read_struct(bytes([0x19, 0xF0 | kind]) + varint + inner * count + b"\0", 0)


@pytest.mark.parametrize("kind", range(16))
def test_a_list_has_no_more_values_than_bytes(kind: int) -> None:
    """A count of 2^49 is ten bytes, and takes no time."""
    many = b"\xff" * 6 + b"\x7f"
    for start in (b"\x19", b"\x1a"):
        with pytest.raises((IndexError, ValueError)):
            read_struct(start + bytes([0xF0 | kind]) + many + b"\x01" * 40, 0)


# Files as their footers say: numbers of parquet.thrift. A column has 100 values, in a page of 700 bytes unfolded.


def page(unfolded: int = 700, held: int = 60, encoding: int = 0, kind: int = 5, values: int = 100) -> bytes:
    """A page's header, and as many zeros as it holds. Kind 8 is the second version, 7 a dictionary."""
    inner: dict[int, Any] = {1: values, 2: encoding}
    if kind == 8:
        inner = {1: values, 2: 0, 3: values, 4: encoding, 5: 0, 6: 0}
    return struct({1: {5: 0, 7: 2, 8: 3}[kind], 2: unfolded, 3: held, kind: inner}) + b"\0" * held


def typed(kind: int) -> bytes:
    """A page of the first version, whose header has the parts of other types, too."""
    parts = {5: {1: 100, 2: 0}, 7: {1: 0, 2: 0}, 8: {1: 1 << 30, 2: 0, 3: 1 << 30, 4: 0, 5: 0, 6: 0}}
    return struct({1: kind, 2: 700, 3: 60} | parts) + b"\0" * 60


def column(kind: int = 2, body: bytes = page(), **changed: Any) -> dict[int, Any]:
    """A column whose pages are where the file begins, unless it is said otherwise."""
    fields = {1: kind, 2: [0, 3], 3: [b"c"], 4: 6, 5: 100, 6: len(body), 7: len(body), 9: 4}
    return {2: 0, 3: fields | {int(key[1:]): value for key, value in changed.items()}}


def footer(*columns: dict[int, Any], rows: int = 100, **changed: Any) -> dict[int, Any]:
    schema: list[dict[int, Any]] = [{4: b"root", 5: len(columns)}]
    schema += [{1: chunk[3][1], 3: 0, 4: b"c"} for chunk in columns]
    meta: dict[int, Any] = {1: 2, 2: schema, 3: rows, 4: [{1: [*columns], 2: 0, 3: rows}]}
    return meta | {int(key[1:]): value for key, value in changed.items()}


def file(path: Path, meta: Mapping[int, Any], body: bytes = page()) -> Path:
    text = struct(meta)
    path.write_bytes(b"PAR1" + body + text + len(text).to_bytes(4, "little") + b"PAR1")
    return path


def texts(*pages: bytes, **changed: Any) -> tuple[dict[int, Any], bytes]:
    """A file with a column of texts in these pages."""
    return footer(column(6, b"".join(pages), **changed)), b"".join(pages)


def leaf(**changed: Any) -> list[dict[int, Any]]:
    """A schema of one column."""
    return [{4: b"r", 5: 1}, {1: 2, 3: 0, 4: b"c"} | {int(key[1:]): value for key, value in changed.items()}]


def case(value: object) -> str:
    """What a case is called by, of its values."""
    return str(value) if isinstance(value, int | str) else ""


BEHIND = 4 + len(page())
GROUP, SECOND = {1: [column()], 3: 100}, {1: [column(f9=BEHIND)], 3: 100}
FEW = FREE_BYTES // 8
DICTIONARY = page(5, 5, kind=7, values=5)


@pytest.mark.parametrize(
    ("needed", "meta", "body"),
    [
        # 8 bytes a number, 1 a yes or no, 16 a text or an entry of their dictionary, and what their pages unfold to.
        (100 * 8, footer(column()), page()),
        # Pages of a few numbers that unfold to more take what they say.
        (700, footer(column(0)), page()),
        (2 * 100 * 8, footer(column(1), column(2, f9=BEHIND)), 2 * page()),
        (100 * 16 + 700, *texts(page())),
        (100 * 16 + 2 * 700, *texts(page(values=60), page(held=20, values=40))),
        (100 * 16 + 700, *texts(page(kind=8))),
        (100 * 8, footer(column(body=typed(0))), typed(0)),
        (100 * 16 + 0, *texts(page(0, 0))),
        (100 * 16 + 5 + 5 * 16 + 700, *texts(DICTIONARY, page(), f9=60, f11=4)),
        (100 * 8, footer(column(f4=0)), page()),
        (100 * 8, footer(column(f2=[0, 2, 3, 4, 5, 6, 8, 9])), page()),
        (700, footer(column(body=page(values=0), f5=0), rows=0), page(values=0)),
        (2 * 100 * 8, footer(f2=leaf(), f3=200, f4=[GROUP, SECOND]), 2 * page()),
        # A column may be optional.
        (100 * 8, footer(column(), f2=leaf(_3=1)), page()),
        (100 * 8, footer(column(f9=5)), b"\0" + page()),
        (FREE_BYTES, footer(column(body=page(values=FEW), f5=FEW), rows=FEW), page(values=FEW)),
    ],
    ids=case,
)
def test_a_table_takes_what_it_declares(needed: int, meta: dict[int, Any], body: bytes, tmp_path: Path) -> None:
    assert bytes_in_memory(file(tmp_path / "t.parquet", meta, body)) == needed


NOT_OURS, ENCODED = "columns that no agent writes", "encoded as no agent does"
ROWS_DIFFER, VALUES_DIFFER = "numbers of rows differ", "numbers of values differ"
ELSEWHERE, DAMAGED = "not where its footer says", "its footer is damaged"
ONE_MORE = FREE_BYTES // 8 + 1


@pytest.mark.parametrize(
    ("says", "meta", "body"),
    [
        (NOT_OURS, footer(column(3)), page()),
        (NOT_OURS, footer(column(7)), page()),
        # Fractions become the same number where a column has whole ones.
        (NOT_OURS, footer(column(4)), page()),
        (NOT_OURS, footer(column(5)), page()),
        (NOT_OURS, footer(column(), f2=leaf(_3=2)), page()),
        (NOT_OURS, footer(column(), f2=leaf(_5=1)), page()),
        (DAMAGED, footer(column(), f2=[{4: b"r", 5: 1}, {3: 1, 4: b"c"}]), page()),
        (DAMAGED, {1: 2, 3: 100}, page()),
        (ENCODED, footer(column(f4=1)), page()),
        (ENCODED, footer(column(f2=[1])), page()),
        # Texts that begin alike: a few bytes make any length of them.
        (ENCODED, footer(column(f2=[7])), page()),
        (ENCODED, *texts(page(encoding=7))),
        (ENCODED, *texts(page(kind=8, encoding=7))),
        (ENCODED, *texts(page(unfolded=-1))),
        (ENCODED, footer(column(6)), struct({1: 0, 2: 5, 3: -1, 5: {1: 100, 2: 0}}).ljust(90, b"\0")),
        ("a group of rows lacks columns", footer(column(), column(), f4=[GROUP]), page()),
        (ROWS_DIFFER, footer(column(), f3=101), page()),
        (ROWS_DIFFER, footer(column(), f3=300, f4=[GROUP, SECOND]), 2 * page()),
        (VALUES_DIFFER, footer(column(f5=-1), rows=-1), page()),
        (VALUES_DIFFER, footer(column(f5=99)), page()),
        (VALUES_DIFFER, footer(column(f7=-1)), page()),
        # polars makes room for what a page says, and ends the process where there is none.
        (VALUES_DIFFER, footer(column()), page(values=99)),
        (VALUES_DIFFER, footer(column()), page(values=101)),
        (VALUES_DIFFER, *texts(page(values=101), page(values=-1))),
        (VALUES_DIFFER, *texts(page(5, 5, kind=7, values=6), page(), f9=60, f11=4)),
        (VALUES_DIFFER, footer(column(f7=len(page()) - 1)), page()),
        (VALUES_DIFFER, *texts(page(), f7=0)),
        # polars reads the part of the page's type.
        (VALUES_DIFFER, footer(column(body=typed(2))), typed(2)),
        (VALUES_DIFFER, footer(column(body=typed(3))), typed(3)),
        (DAMAGED, footer(column(body=typed(1))), typed(1)),
        # The same pages would be looked at for each column and group that names them.
        (ELSEWHERE, footer(column(1), column(2)), page()),
        (ELSEWHERE, footer(f2=leaf(), f3=200, f4=[GROUP] * 2), page()),
        ("pages without values", footer(column(body=3 * page(values=0), f5=0), rows=0), 3 * page(values=0)),
        # polars panics where pages lie outside the file.
        (ELSEWHERE, footer(column(f9=3)), page()),
        (ELSEWHERE, footer(column(f9=5)), page()),
        (ELSEWHERE, footer(column(f9=1 << 62)), page()),
        # polars begins at the dictionary that the footer names, wherever that is.
        (ELSEWHERE, *texts(page(), f11=0)),
        (ELSEWHERE, *texts(page(), f11=-4)),
        (ELSEWHERE, *texts(page(), f11=4)),
        (ELSEWHERE, *texts(page(), page(), f7=len(page()), f11=4 + len(page()))),
        ("would take 268,435,464 bytes", footer(column(body=page(values=ONE_MORE), f5=ONE_MORE), rows=ONE_MORE),
         page(values=ONE_MORE)),
        ("would take 285,214,972 bytes", *texts(page(1 << 24, 5, kind=7, values=1 << 24), page(), f9=60, f11=4)),
    ],
    ids=case,
)  # fmt: skip
def test_a_table_that_no_agent_writes_is_refused(says: str, meta: dict[int, Any], body: bytes, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=says):
        bytes_in_memory(file(tmp_path / "t.parquet", meta, body))


def test_a_footer_is_whole_and_of_bounded_length(tmp_path: Path) -> None:
    path = file(tmp_path / "t.parquet", footer(column()))
    content = path.read_bytes()
    for kept in (content[:7], content[:-1], content[:-1] + b"E", b"PAR1"):
        path.write_bytes(kept)
        with pytest.raises(ValueError, match="not a Parquet file, or not whole"):
            bytes_in_memory(path)
    for length, says in ((MAX_FOOTER_BYTES, DAMAGED), (MAX_FOOTER_BYTES + 1, "larger than 16 MiB")):
        path.write_bytes(b"\0" * length + length.to_bytes(4, "little") + b"PAR1")
        with pytest.raises(ValueError, match=says):
            bytes_in_memory(path)


def test_a_large_table_may_take_a_multiple_of_its_size() -> None:
    assert allowed_bytes(0) == FREE_BYTES
    assert allowed_bytes(FREE_BYTES) == MAX_RATIO * FREE_BYTES


# Files of polars.


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "flows.near.parquet"
    numbers = pl.DataFrame({"count": range(ROWS)}, schema={"count": pl.UInt64})
    names = [f"{number:04}" for number in range(ROWS)]
    numbers.with_columns(pl.Series("role", names), is_final=pl.lit(value=True)).write_parquet(path)
    return path


def test_a_table_of_polars_takes_what_its_rows_and_texts_do(table: Path) -> None:
    needed = bytes_in_memory(table)
    assert ROWS * (8 + 16 + 4) < needed < 2 * ROWS * (8 + 16 + 4)


@pytest.mark.parametrize("kind", ["requests", "verified"])
def test_stored_tables_take_no_more_than_they_declare(kind: str, tmp_path: Path) -> None:
    unpack(kind, tmp_path)
    files = sorted(tmp_path.glob("results/*/trials/*/*.parquet"))
    assert files
    for path in files:
        assert pl.read_parquet(path).estimated_size() <= max(2 * bytes_in_memory(path), 1 << 12), path


def names(path: Path, *texts: str, times: int = 1, kind: "pl.DataType | type[pl.DataType]" = pl.Categorical) -> Path:
    """A table of these texts, each in many rows, and once in the file where they are categories."""
    column = pl.Series("name", texts).cast(kind)
    pl.concat([column.new_from_index(place, times) for place in range(len(texts))]).to_frame().write_parquet(path)
    return path


def test_pages_of_texts_count_as_they_unfold(tmp_path: Path) -> None:
    path = names(tmp_path / "t.parquet", *(f"{place:04}".ljust(1 << 12) for place in range(300)), kind=pl.String)
    assert path.stat().st_size < 30_000
    assert bytes_in_memory(path) > 300 << 12


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical])
def test_a_text_has_a_bound(kind: type[pl.DataType], tmp_path: Path) -> None:
    """A name of 30 MB takes 2 KB in the file, and 30 MB in each line that is printed of it."""
    path = names(tmp_path / "t.parquet", "a" * MAX_TEXT_BYTES, "b", times=9, kind=kind)
    assert bytes_in_memory(path) > MAX_TEXT_BYTES
    names(path, "a" * (MAX_TEXT_BYTES + 1), "b", times=9, kind=kind)
    with pytest.raises(ValueError, match="has a text of 65,537 bytes, and a text may have 65,536"):
        bytes_in_memory(path)
    names(path, "\u00e9" * (MAX_TEXT_BYTES // 2 + 1), kind=kind)
    with pytest.raises(ValueError, match="a text of 65,538 bytes"):
        bytes_in_memory(path)


def test_the_texts_of_all_rows_have_a_bound_together(tmp_path: Path) -> None:
    """The file has the text once, and whatever is made of the rows has it in each."""
    times = FREE_BYTES // MAX_TEXT_BYTES
    path = names(tmp_path / "t.parquet", "a" * MAX_TEXT_BYTES, times=times)
    assert bytes_in_memory(path) < 2 * MAX_TEXT_BYTES + 16 * times
    names(path, "a" * MAX_TEXT_BYTES, times=times + 1)
    with pytest.raises(ValueError, match="would take 268,500,992 bytes of memory"):
        bytes_in_memory(path)


def test_short_texts_next_to_a_long_one_are_measured(tmp_path: Path) -> None:
    """The headers alone would allow that each row has the longest."""
    long = pl.Series("name", ["a" * MAX_TEXT_BYTES, "b"])
    path = tmp_path / "t.parquet"
    long.gather([0] + [1] * (1 << 17)).cast(pl.Categorical).to_frame().write_parquet(path)
    assert bytes_in_memory(path) < FREE_BYTES


@pytest.mark.parametrize("compression", ["snappy", "gzip", "brotli", "lz4"])
def test_only_the_compression_of_agents_is_read(table: Path, compression: str) -> None:
    pl.read_parquet(table).write_parquet(table, compression=compression)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=ENCODED):
        bytes_in_memory(table)


def test_whatever_is_changed_it_is_read_or_refused(table: Path) -> None:
    whole = table.read_bytes()
    rng = random.Random(14)
    refused = 0
    for _ in range(500):
        changed = bytearray(whole)
        for _ in range(rng.randint(1, 8)):
            # The footer is the last of it.
            changed[-rng.randint(1, 700)] = rng.randrange(256)
        table.write_bytes(changed[: rng.choice([len(changed)] * 9 + [rng.randrange(len(changed))])])
        try:
            bytes_in_memory(table)
        except (ValueError, OSError):
            refused += 1
    assert 0 < refused < 500


def test_many_small_tables_have_a_bound_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = sample_plan()
    with Experiment.create(tmp_path / "sample", plan, PROFILE_TEXT) as experiment:
        for trial in plan.trials():
            record(experiment, trial.id)
        size = bytes_in_memory(next(experiment.folder.glob("trials/*/intervals.near.parquet")))
        monkeypatch.setattr(parquet, "MAX_RATIO", 0)
        monkeypatch.setattr(parquet, "FREE_BYTES", 3 * size)
        with pytest.raises(RecordError, match=r"the tables intervals in .* would take over"):
            read_table(experiment, "intervals")


def test_a_table_has_the_columns_of_its_name(tmp_path: Path) -> None:
    kinds = {"u32": pl.UInt32(), "u64": pl.UInt64(), "bool": pl.Boolean(), "text": pl.String()}
    columns = json.loads(COLUMNS.read_text())["intervals"]
    schema = {name: kinds[kind if isinstance(kind, str) else "text"] for name, kind in columns.items()}
    row = pl.DataFrame({name: [None] for name in schema}, schema=schema)
    number = pl.col("payload_bytes")
    path = tmp_path / "x.parquet"
    for frame, wrong in (
        (row.clear(), None),
        (pl.concat([row] * 3000).with_columns(pl.int_range(3000, dtype=pl.UInt32()).alias("interval")), None),
        (pl.concat([row] * 3), "has 3 rows of the same host, connection, role, interval"),
        (row.drop("payload_bytes"), "has no column payload_bytes"),
        (row.with_columns(pl.lit(1).alias("x" * 50)), f"has the column '{'x' * 40}' of another table"),
        (row.with_columns(number.cast(pl.Int64)), "has the column payload_bytes in another type"),
        (row.with_columns(pl.lit(2**62 - 1, pl.UInt64()).alias("payload_bytes")), None),
        (row.with_columns(pl.lit(2**62, pl.UInt64()).alias("payload_bytes")), "has a payload_bytes of over 2^62"),
    ):
        frame.write_parquet(path)
        assert wrong_in_table(path, "intervals") == wrong
    path.write_bytes(b"PAR1")
    assert wrong_in_table(path, "intervals") == "cannot be read: it is not a Parquet file, or not whole"
    assert (is_table("intervals"), is_table("interval")) == (True, False)
    assert set(code_words("segments", "direction")) == {"in", "out"}
    assert code_words("intervals", "payload_bytes") == ()


def test_a_table_that_takes_too_much_memory_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column of one number for all rows takes some bytes of a file, and 8 bytes a row in memory."""
    kinds = {"u32": pl.UInt32(), "u64": pl.UInt64(), "bool": pl.Boolean(), "text": pl.String()}
    columns = json.loads(COLUMNS.read_text())["intervals"]
    schema = {name: kinds[kind if isinstance(kind, str) else "text"] for name, kind in columns.items()}
    path = tmp_path / "intervals.near.parquet"
    rows = pl.DataFrame({name: [None] for name in schema}, schema=schema)
    pl.concat([rows] * 50_000).with_columns(pl.lit(7, pl.UInt64()).alias("payload_bytes")).write_parquet(path)
    monkeypatch.setattr(parquet, "FREE_BYTES", 1 << 20)
    wrong = wrong_in_table(path, "intervals")
    assert wrong is not None
    assert re.fullmatch(r"cannot be read: it would take [\d,]+ bytes of memory for [\d,]+ in the file; .*", wrong)


def test_a_table_that_was_changed_in_place_is_checked_again(tmp_path: Path) -> None:
    path = tmp_path / "calls.near.parquet"
    pl.DataFrame({"a": range(ROWS)}).write_parquet(path)
    assert bytes_in_memory(path)
    found = path.stat()
    # Two changes may come in one tick of the kernel's clock.
    while path.stat().st_ctime_ns == found.st_ctime_ns:
        path.write_bytes(bytes(found.st_size))
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (found.st_ino, found.st_mtime_ns)
    with pytest.raises(ValueError, match="not a Parquet file"):
        bytes_in_memory(path)
