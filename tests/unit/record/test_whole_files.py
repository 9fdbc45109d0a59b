"""What is made of files whole, damaged and hostile: tables' declarations, manifests, packs, seals, kept documents."""

import errno
import json
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.record.record_samples import PROFILE_TEXT, manifest, record, sample_plan, table
from tests.unit.records.golden import KINDS, unpack
from tests.unit.snapshots import Snapshots, outcome
from whyperf.record import Experiment, RecordError, read_table
from whyperf.record import costs as probe_costs
from whyperf.record.durable import file_mode, folder_mode, partial_name, remove, remove_partial, write_file
from whyperf.record.errors import failure
from whyperf.record.export.pseudonyms import Pseudonyms
from whyperf.record.kept import fingerprint_of, read_kept, write_kept
from whyperf.record.kinds import code_words, is_table, wrong_in_table
from whyperf.record.lock import Lock
from whyperf.record.manifest import Damaged, Manifest, busiest_process
from whyperf.record.naming import planned_folder, quick_folder
from whyperf.record.pack import next_pack, packs, read_pack
from whyperf.record.parquet import FREE_BYTES, MAX_FOOTER_BYTES, MAX_RATIO, allowed_bytes, bytes_in_memory
from whyperf.record.seal import is_made_here, signature, write_seal
from whyperf.record.thrift import read_struct

SNAPSHOTS = Snapshots(Path(__file__).with_suffix(".json"))


# Thrift's compact protocol, written after its specification for these tests.


def varint(value: int) -> bytes:
    found = bytearray()
    while value >= 128:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def zigzag(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def encoded(value: Any) -> tuple[int, bytes]:
    """Kind and bytes of a value; of a list in one list of structs, texts or numbers."""
    match value:
        case bool():
            return (1 if value else 2), b""
        case int():
            return 6, zigzag(value)
        case bytes():
            return 8, varint(len(value)) + value
        case dict():
            return 12, struct(value)
        case list():
            kinds = {encoded(part)[0] for part in value} or {6}
            # A yes or no takes a byte in a list.
            parts = [(b"\x01" if part else b"\x02") if isinstance(part, bool) else encoded(part)[1] for part in value]
            count = len(value)
            head = bytes([count << 4 | min(kinds)]) if count < 15 else bytes([0xF0 | min(kinds)]) + varint(count)
            return 9, head + b"".join(parts)
    raise TypeError(type(value))


def struct(fields: Mapping[int, Any]) -> bytes:
    found, before = b"", 0
    for field, value in sorted(fields.items()):
        kind, content = encoded(value)
        step = field - before
        found += (bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + zigzag(field)) + content
        before = field
    return found + b"\0"


NUMBERS = st.integers(-(2**63), 2**63 - 1)
LEAVES = st.one_of(NUMBERS, st.integers(-130, 130), st.binary(max_size=200))
FIELDS = st.one_of(st.integers(1, 40), st.integers(1, 2**15 - 1))
VALUES = st.recursive(
    st.one_of(LEAVES, st.lists(NUMBERS, max_size=20), st.lists(st.binary(max_size=5), max_size=17)),
    lambda inner: st.one_of(
        st.dictionaries(FIELDS, inner, max_size=4), st.lists(st.dictionaries(FIELDS, inner, max_size=3), max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(FIELDS, st.one_of(VALUES, st.booleans()), max_size=6), st.binary(max_size=3))
def test_a_struct_is_read_as_it_was_written(fields: dict[int, Any], before: bytes) -> None:
    data = before + struct(fields)
    assert read_struct(data + b"rest", len(before)) == (fields, len(data))


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (bytes([0x13, 7, 0]), {1: 7}),
        (bytes([0x17, *range(8), 0x13, 9, 0]), {1: None, 2: 9}),
        (bytes([0x19, 0x31, 1, 2, 3, 0]), {1: [1, 2, 3]}),
        (bytes([0x1A, 0x25, 2, 4, 0]), {1: [1, 2]}),
        (bytes([0x14, 0x80, 1, 0x25, 0x7F, 0]), {1: 64, 3: -64}),
        (bytes([0x06, 0x20, 1, 0]), {16: -1}),
    ],
)
def test_structs_by_hand(data: bytes, found: dict[int, Any]) -> None:
    assert read_struct(data, 0) == (found, len(data))


@pytest.mark.parametrize("data", [b"", b"\x16", b"\x15\x80", b"\x19\x21", b"\x17\x00"])
def test_a_struct_that_is_cut_is_refused(data: bytes) -> None:
    with pytest.raises(IndexError):
        read_struct(data, 0)


def test_kinds_and_numbers_that_parquet_does_not_have_are_refused() -> None:
    with pytest.raises(ValueError, match="of kind 11"):
        read_struct(b"\x1b\0\0", 0)
    assert read_struct(b"\x16" + b"\x80" * 9 + b"\x00\0", 0)[0] == {1: 0}
    with pytest.raises(ValueError, match="too long"):
        read_struct(b"\x16" + b"\x80" * 10 + b"\x00\0", 0)


# Files of Parquet, as their footers say.


def column(kind: int = 2, values: int = 100, compressed: int | None = None, **changed: Any) -> dict[int, Any]:
    """A column of one page, which is where the file begins, unless it is said otherwise."""
    compressed = len(page(values=values)) if compressed is None else compressed
    fields = {1: kind, 2: [0, 3], 3: [b"c"], 4: 6, 5: values, 6: compressed, 7: compressed, 9: 4}
    return {2: 0, 3: fields | {int(key[1:]): value for key, value in changed.items()}}


def page(unfolded: int = 700, held: int = 60, encoding: int = 0, kind: int = 5, values: int = 100) -> bytes:
    """A page's header, and as many zeros as it holds. Kind 8 is the second version, 7 a dictionary."""
    inner: dict[int, Any] = {1: values, 2: encoding}
    if kind == 8:
        inner = {1: values, 2: 0, 3: values, 4: encoding, 5: 0, 6: 0}
    return struct({1: 0, 2: unfolded, 3: held, kind: inner}) + b"\0" * held


def page_of(length: int) -> bytes:
    """A page that takes so many bytes in all."""
    return next(made for held in range(length) if len(made := page(held=held)) == length)


def footer(columns: list[dict[int, Any]], rows: int = 100, **changed: Any) -> dict[int, Any]:
    schema: list[dict[int, Any]] = [{4: b"root", 5: len(columns)}]
    schema += [{1: chunk[3][1], 3: 0, 4: b"c"} for chunk in columns]
    meta: dict[int, Any] = {1: 2, 2: schema, 3: rows, 4: [{1: columns, 2: 0, 3: rows}]}
    return meta | {int(key[1:]): value for key, value in changed.items()}


def written(path: Path, meta: Mapping[int, Any], body: bytes | None = None, end: bytes = b"PAR1") -> Path:
    """A file of `meta`, with the page that its first column declares unless `body` says otherwise."""
    text = struct(meta)
    groups = meta.get(4) or [{1: [column()]}]
    path.write_bytes(
        b"PAR1"
        + (page(values=groups[0][1][0][3][5]) if body is None else body)
        + text
        + len(text).to_bytes(4, "little")
        + end
    )
    return path


PAGES = page(values=60) + page(held=20, values=40)
WITH_DICTIONARY = page(kind=7, values=10) + page()
LONG = (FREE_BYTES >> 15) + 1
FILES: Mapping[str, tuple[Any, ...]] = {
    "numbers": (footer([column()]),),
    "yes and no": (footer([column(0)]),),
    "small numbers": (footer([column(1), column(4), column(5)]),),
    "96 bits": (footer([column(3)]),),
    "fixed bytes": (footer([column(7)]),),
    "texts": (footer([column(6, compressed=len(PAGES))]), PAGES),
    "texts of one page": (footer([column(6)]), page()),
    "texts of no page": (footer([column(6, compressed=0)]), PAGES),
    "texts with a dictionary": (
        footer([column(6, compressed=len(WITH_DICTIONARY), f9=4 + len(page(kind=7, values=10)), f11=4)]),
        WITH_DICTIONARY,
    ),
    "texts with a later dictionary": (footer([column(6, f11=4 + len(page()))]), page()),
    "texts that begin alike": (footer([column(6)]), page(encoding=7)),
    "texts of the second version": (footer([column(6, compressed=len(page(kind=8)))]), page(kind=8)),
    "texts of the second version that begin alike": (
        footer([column(6, compressed=len(page(kind=8)))]),
        page(kind=8, encoding=7),
    ),
    "pages below 0": (footer([column(6, compressed=len(page(unfolded=-1)))]), page(unfolded=-1)),
    "pages that go back": (footer([column(6, compressed=60)]), struct({1: 0, 2: 5, 3: -1, 5: {2: 0}}).ljust(90, b"\0")),
    "empty pages": (footer([column(6, compressed=len(page(0, 0)))]), page(0, 0)),
    "not compressed": (footer([column(f4=0)]),),
    "snappy": (footer([column(f4=1)]),),
    "encodings": (footer([column(f2=[0, 2, 3, 4, 5, 6, 8, 9])]),),
    **{f"encoding {number}": (footer([column(f2=[number])]),) for number in (1, 7, 10)},
    "values of another number": (footer([column(values=99)]),),
    "compressed below 0": (footer([column(compressed=-1)]),),
    "no rows": (footer([column(values=0)], rows=0),),
    "rows below 0": (footer([column(values=-1)], rows=-1),),
    "more rows than groups have": (footer([column()], f3=101),),
    "fewer rows than groups have": (footer([column()], f3=99),),
    "two groups": (footer([column()], f3=200, f4=[{1: [column()], 3: 100}] * 2),),
    "two groups of other numbers": (footer([column()], f3=300, f4=[{1: [column()], 3: 100}] * 2),),
    "a group that lacks a column": (footer([column(), column()], f4=[{1: [column()], 3: 100}]),),
    "a group with another column": (footer([column()], f4=[{1: [column(), column()], 3: 100}]),),
    "a column of columns": (footer([column()], f2=[{4: b"r", 5: 1}, {1: 2, 3: 0, 4: b"c", 5: 1}]),),
    "a column of lists": (footer([column()], f2=[{4: b"r", 5: 1}, {1: 2, 3: 2, 4: b"c"}]),),
    "an optional column": (footer([column()], f2=[{4: b"r", 5: 1}, {1: 2, 3: 1, 4: b"c"}]),),
    "a column without kind": (footer([column()], f2=[{4: b"r", 5: 1}, {3: 1, 4: b"c"}]),),
    "no schema": ({1: 2, 3: 100},),
    "as many as fit": (footer([column(values=FREE_BYTES // 8)], rows=FREE_BYTES // 8),),
    "one more than fits": (footer([column(values=FREE_BYTES // 8 + 1)], rows=FREE_BYTES // 8 + 1),),
    "pages before the file's": (footer([column(f9=3)]), page()),
    "pages that end with the file's": (footer([column(f9=5)]), b"\0" + page()),
    "pages that end later": (footer([column(f9=5)]), page()),
    "pages that are longer than their column": (footer([column(compressed=len(page()) - 1)]), page()),
    "pages that are shorter than their column": (footer([column(compressed=len(page()) + 1)]), page() + b"\0"),
    "pages of fewer values": (footer([column()]), page(values=99)),
    "pages of more values": (footer([column()]), page(values=101)),
    "pages of values below 0": (
        footer([column(compressed=len(page(values=101) + page(values=-1)))]),
        page(values=101) + page(values=-1),
    ),
    "a dictionary as long as its page": (
        footer([column(6, compressed=len(page(5, 5, kind=7, values=5) + page()), f9=60, f11=4)]),
        page(5, 5, kind=7, values=5) + page(),
    ),
    "a dictionary longer than its page": (
        footer([column(6, compressed=len(page(5, 5, kind=7, values=6) + page()), f9=60, f11=4)]),
        page(5, 5, kind=7, values=6) + page(),
    ),
    "long pages of numbers": (footer([column(compressed=LONG - 1)]), page_of(LONG - 1)),
    "longer pages of numbers": (footer([column(compressed=LONG, f2=[0])]), page_of(LONG)),
    "no end": (footer([column()]), page(), b"PARE"),
}


@pytest.mark.parametrize("name", FILES)
def test_what_a_file_declares(name: str, tmp_path: Path) -> None:
    SNAPSHOTS.check(
        f"declares: {name}", outcome(lambda: bytes_in_memory(written(tmp_path / "t.parquet", *FILES[name])), ValueError)
    )


def test_sizes_of_footers(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    content = written(path, footer([column()])).read_bytes()
    assert bytes_in_memory(path) == 800
    for kept in (0, 3, 7, 8, 11, len(content) - 1):
        path.write_bytes(content[:kept])
        with pytest.raises(ValueError, match="not a Parquet file, or not whole"):
            bytes_in_memory(path)
    text = struct(footer([column()]))
    path.write_bytes(text + len(text).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(ValueError, match="its columns are not where its footer says"):
        bytes_in_memory(path)
    path.write_bytes(text + (len(text) + 1).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(ValueError, match="not whole"):
        bytes_in_memory(path)
    path.write_bytes(b"\0" * (MAX_FOOTER_BYTES + 1) + (MAX_FOOTER_BYTES + 1).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(ValueError, match="its footer is larger than 16 MiB"):
        bytes_in_memory(path)
    path.write_bytes(b"\0" * MAX_FOOTER_BYTES + MAX_FOOTER_BYTES.to_bytes(4, "little") + b"PAR1")
    with pytest.raises(ValueError, match="its footer is damaged"):
        bytes_in_memory(path)
    assert [allowed_bytes(size) for size in (0, FREE_BYTES // MAX_RATIO, FREE_BYTES // MAX_RATIO + 1)] == [
        FREE_BYTES,
        FREE_BYTES,
        (FREE_BYTES // MAX_RATIO + 1) * MAX_RATIO,
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_stored_records(kind: str, tmp_path: Path) -> None:
    unpack(kind, tmp_path)
    experiment = Experiment.open(tmp_path / "results" / kind)
    files = sorted(experiment.folder.glob("trials/*/*.parquet"))
    trials = experiment.trials()
    found: dict[str, Any] = {
        "needed": {f"{path.parent.name}/{path.name}": bytes_in_memory(path) for path in files},
        "wrong": [wrong for path in files if (wrong := wrong_in_table(path, path.name.partition(".")[0]))],
        "trials": [trials.damaged, sorted(trials.measured), sorted(trials.logs), sorted(experiment.hosts())],
        "missing": [trial.id for trial in experiment.missing_trials()],
        "is_made_here": experiment.is_made_here,
    }
    for name in ("intervals", "flows", "tcp_info"):
        rows = read_table(experiment, name)
        numbers = rows.frame.select(pl.selectors.numeric().cast(pl.Float64).sum())
        found[name] = [rows.frame.height, rows.frame.columns[:4], numbers.to_dict(as_series=False), rows.damaged]
    SNAPSHOTS.check(f"stored: {kind}", found)


def test_kinds_of_tables(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    names = json.loads(Path(code_words.__code__.co_filename).with_name("columns.json").read_text())["intervals"]
    kinds = {"u32": pl.UInt32(), "u64": pl.UInt64(), "bool": pl.Boolean(), "text": pl.String()}
    schema = {name: kinds[kind if isinstance(kind, str) else "text"] for name, kind in names.items()}
    numbers = [name for name, kind in schema.items() if kind == pl.UInt64()]
    good = pl.DataFrame(schema=schema)
    row = pl.DataFrame({name: [None] for name in schema}, schema=schema)
    cases = {
        "empty": good,
        "a row": row,
        "lacks one": good.drop(numbers[0]),
        "has another": good.with_columns(pl.lit(1).alias("x" * 50)),
        "another type": good.with_columns(pl.col(numbers[0]).cast(pl.Int64)),
        "the largest": row.with_columns(pl.lit(2**62 - 1, pl.UInt64()).alias(numbers[0])),
        "larger": row.with_columns(pl.lit(2**62, pl.UInt64()).alias(numbers[-1])),
        "many rows": pl.concat([row] * 3000),
    }
    found: dict[str, object] = {}
    for name, frame in cases.items():
        frame.write_parquet(path)
        found[name] = wrong_in_table(path, "intervals")
    path.write_bytes(b"PAR1")
    found["no file of its kind"] = wrong_in_table(path, "intervals")
    SNAPSHOTS.check("kinds", found)
    assert (is_table("intervals"), is_table("interval")) == (True, False)
    assert "warm-up" in code_words("intervals", "phase") or code_words("intervals", "phase") == ()
    assert code_words("segments", "direction") == ("in", "out") or set(code_words("segments", "direction")) == {
        "in",
        "out",
    }


# Names in copies for sharing.


def test_pseudonyms() -> None:
    def names() -> Pseudonyms:
        return Pseudonyms(["stream", "window_bytes", "near"])

    known = names()
    calls: list[tuple[Callable[[str], str], str]] = []
    calls += [
        (known.host, text)
        for text in (
            "db7.acme.example",
            "db7",
            "alice@db7",
            "alice@10.1.2.3",
            "[fe80::17]",
            "10.1.2.3",
            "bob@",
            "",
            "a b",
            "web3",
            "web3.acme.example",
            "web3.other.example",
            "stream",
            "7",
            "x",
        )
    ]
    calls += [(known.device, text) for text in ("eth0", "lo", "veth-near", "eth0", "near")]
    calls += [(known.group, text) for text in ("/", "/user.slice", "/user.slice")]
    calls += [
        (known.endpoint, text)
        for text in (
            "10.1.2.3:80",
            "[2a02::17]:443",
            "2a02::17:443",
            "10.1.2.4:x",
            "10.1.2.5",
            "/tmp/socket",
            "@socket",
            "db7:80",
            "127.0.0.1:9",
            "[::1]:9",
        )
    ]
    calls += [
        (known.text, text)
        for text in (
            *(
                "db7 and db7.acme.example, not db77 or _db7",
                "10.1.2.3 and 10.1.2.30, 198.18.0.1, 198.20.0.1, 1.2.3, 1.2.3.4.5",
                "256.1.1.1",
            ),
            *(
                "2a02:aa08::17%eth0 and fe80::1",
                "2001:2::1 2001:3::1",
                "12:34:56",
                "52:54:00:12:ab:cd and 52-54-00-12-AB-CD",
                "52:54:00:12:ab",
            ),
            *(
                "see /home/alice/x.txt: no",
                "/proc/sys/net/x stays",
                "/etc alone",
                "~/data/a/",
                "5 KB/s",
                "http://x/y/z",
                "stream 7 x alice",
                "/home/alice/x.txt.",
            ),
        )
    ]
    made: list[list[Any]] = [[call.__name__, text, call(text)] for call, text in calls]
    made.append(
        [
            known.number("process number", 31337),
            known.number("process number", 31337),
            known.number("process number", 4),
            known.process("oracled"),
        ]
    )
    SNAPSHOTS.check(
        "pseudonyms", {"made": made, "given": known.given, "counts": known.counts, "distinct": known.distinct()}
    )
    many = names()
    addresses = [many.host(f"10.0.{number // 250}.{number % 250 + 1}") for number in range(800)]
    assert len(set(addresses)) == 800
    SNAPSHOTS.check(
        "many addresses", [addresses[place] for place in (0, 1, 252, 253, 254, 255, 507, 508, 509, 761, 762, 763, 799)]
    )
    cards = [many.text(f"52:54:00:12:{number // 256:02x}:{number % 256:02x}") for number in range(258)]
    SNAPSHOTS.check("many cards", [cards[place] for place in (0, 254, 255, 257)])


# Documents, keys and folders.


def test_failures_have_a_remedy() -> None:
    codes = ("ENOSPC", "EDQUOT", "EACCES", "EPERM", "EROFS", "EMFILE", "ELOOP", "ENOENT", "EFBIG", "EIO")
    found = {
        f"{code} {action} {has_out}": str(
            failure(action, Path("x"), OSError(getattr(errno, code), f"Reason {code}."), has_out=has_out)
        )
        for code in codes
        for action in ("read", "write")
        for has_out in (True, False)
    }
    found["without a number"] = str(failure("read", Path("x"), OSError("Gone")))
    SNAPSHOTS.check("failures", found)


def test_seals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert not is_made_here(tmp_path, "a", "b")
    write_seal(tmp_path, "a", "b")
    key = tmp_path / "state/whyperf/key"
    assert (key.stat().st_size, key.stat().st_mode & 0o777) == (32, 0o600)
    cases = [("a", "b"), ("b", "a"), ("a",), ("ab",), ("a", "b", ""), ("a", "c")]
    assert [is_made_here(tmp_path, *texts) for texts in cases] == [True, False, False, False, False, False]
    assert signature("a", "b") == (tmp_path / "seal").read_text().strip()
    assert signature("a", "c") != signature("a", "b")
    monkeypatch.setattr("platform.node", lambda: "elsewhere")
    assert not is_made_here(tmp_path, "a", "b")
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "seal").write_text("é")
    assert not is_made_here(tmp_path, "a", "b")
    write_seal(tmp_path, "a", "b")
    key.write_bytes(key.read_bytes()[:31])
    write_seal(tmp_path, "a", "b")
    assert not is_made_here(tmp_path, "a", "b")
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/x")
    assert signature("a") is None
    write_seal(tmp_path, "a")


def test_kept_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "explain.json"
    assert read_kept(path, "print") is None
    write_kept(path, "print", {"a": [1, "é"], "b": None})
    assert read_kept(path, "print") == {"a": [1, "é"], "b": None}
    assert read_kept(path, "other") is None
    whole = path.read_bytes()
    for content in (b"", b"{}", b"[]", whole[1:], whole.replace(b": [", b":  ["), whole + b" ", whole[:-3]):
        path.write_bytes(content)
        assert read_kept(path, "print") is None
    path.write_bytes(whole.replace(whole[14:78], b""))
    assert read_kept(path, "print") is None


def test_fingerprints(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    with Experiment.create(folder, sample_plan(), PROFILE_TEXT) as experiment:
        record(experiment, "001-c0001")
        experiment.write_host("near", {"a": 1})
    seen = [fingerprint_of(folder)]
    assert fingerprint_of(folder) == seen[0]

    def is_another() -> bool:
        seen.append(fingerprint_of(folder))
        return seen[-1] != seen[-2]

    trial = folder / "trials/001-c0001"
    for path in (folder / "plan.json", folder / "profile.toml", folder / "hosts/near.json", trial / "manifest.json"):
        found, text = path.stat(), path.read_bytes()
        path.write_bytes(text[:-2] + b"  ")
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
        assert is_another(), path
    (folder / "report.html").write_text("x")
    (folder / "explain.json").write_text("x")
    (trial / "fifo.json").symlink_to("/dev/null")
    assert not is_another()
    os.utime(trial / "intervals.near.parquet", ns=(1, 2))
    assert is_another()
    (trial / "intervals.near.parquet").write_bytes(b"x")
    os.utime(trial / "intervals.near.parquet", ns=(1, 2))
    assert is_another()
    (folder / "testbed.json").write_text("{}")
    assert is_another()
    folder.rename(tmp_path / "y")
    assert fingerprint_of(tmp_path / "y") != seen[-1]


def test_costs_are_kept_by_host_and_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert probe_costs.known_cost("a", "6.1") is None
    path = probe_costs.keep_cost("a", "6.1", {"x": "é"})
    assert path == tmp_path / "whyperf/probe-cost.json"
    probe_costs.keep_cost("a", "6.2", {"x": 2})
    assert [probe_costs.known_cost("a", kernel) for kernel in ("6.1", "6.2", "6.3")] == [{"x": "é"}, {"x": 2}, None]
    probe_costs.keep_cost("a", "6.1", {"x": 3})
    assert probe_costs.known_cost("a", "6.1") == {"x": 3}
    path.write_text('{"a 6.1": 3}')
    assert probe_costs.known_cost("a", "6.1") is None
    path.write_text("[]")
    assert probe_costs.known_cost("a", "6.1") is None
    probe_costs.keep_cost("b", "6.1", {"x": 4})
    assert json.loads(path.read_text()) == {"b 6.1": {"x": 4}}
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert probe_costs.state_folder() == tmp_path / "home/.local/state/whyperf"


def test_files_are_whole_and_as_private_as_their_folder(tmp_path: Path) -> None:
    private, shared = tmp_path / "private", tmp_path / "shared"
    private.mkdir(0o700)
    shared.mkdir()
    shared.chmod(0o750)
    assert [file_mode(folder) for folder in (private, shared)] == [0o600, 0o666]
    assert [folder_mode(folder) for folder in (private, shared)] == [0o700, 0o777]
    write_file(private / "x", b"abc")
    write_file(private / "x", b"de")
    assert ((private / "x").read_bytes(), (private / "x").stat().st_mode & 0o777) == (b"de", 0o600)
    assert [path.name for path in private.iterdir()] == ["x"]
    (private / "folder").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_file(private / "folder", b"x")
    assert sorted(path.name for path in private.iterdir()) == ["folder", "x"]
    assert partial_name(private / "x") != partial_name(private / "x")
    partial_name(private / "y").write_text("half")
    (private / ".z.partial").mkdir()
    (private / ".z.partial/a").write_text("half")
    remove_partial(private)
    assert sorted(path.name for path in private.iterdir()) == ["folder", "x"]
    remove(private / "nothing")
    remove(private / "folder")
    assert not (private / "folder").exists()


def test_a_lock_is_one_process_and_names_it(tmp_path: Path) -> None:
    before = sorted(Path("/proc/self/fd").iterdir())
    with Lock(tmp_path):
        assert (tmp_path / ".lock").read_text() == f"{os.getpid()}\n"
        with pytest.raises(RecordError, match=rf"is being measured by process {os.getpid()}; wait until it ends"):
            Lock(tmp_path)
        (tmp_path / ".lock").write_text("somebody who leaves a longer name than can be read\n")
        with pytest.raises(RecordError, match="is being measured by another process"):
            Lock(tmp_path)
    taken = Lock(tmp_path)
    assert (tmp_path / ".lock").read_text() == f"{os.getpid()}\n"
    taken.release()
    taken.release()
    (tmp_path / "other").hardlink_to(tmp_path / ".lock")
    with pytest.raises(RecordError, match="it is not a plain file; remove it"):
        Lock(tmp_path)
    # None is left open, and none of others is closed.
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_a_link_with_the_name_of_the_new_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = tmp_path / "outside"
    (tmp_path / "link").symlink_to(outside)
    monkeypatch.setattr("whyperf.record.durable.partial_name", lambda _: tmp_path / "link")
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "new", b"content")
    assert not outside.exists()


def test_names_of_folders(tmp_path: Path) -> None:
    plan = sample_plan()
    assert planned_folder(plan) == Path("results") / f"sample-{plan.id[:6]}"
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    names = []
    for _ in range(3):
        names.append(quick_folder(now, tmp_path))
        names[-1].mkdir()
    assert [name.name for name in names] == [f"quick-20260102-030405{more}" for more in ("", "-2", "-3")]


def changed(**changes: Any) -> dict[str, Any]:
    return manifest(sample_plan(), "001-c0001") | changes


def test_manifests() -> None:
    ends = changed()["hosts"]

    def with_evidence(near: Mapping[str, Any], far: Mapping[str, Any]) -> Manifest:
        hosts = {"near": {**ends["near"], "evidence": near}, "far": {**ends["far"], "evidence": far}}
        return Manifest.model_validate_json(json.dumps(changed(hosts=hosts, evidence_asked="segments")))

    whole = {"got": "segments", "logged_events_count": 4}
    cases = [
        with_evidence(whole, whole),
        with_evidence(whole, {"got": "counters"}),
        with_evidence({**whole, "broken_off": "disk"}, whole),
        with_evidence(whole, {**whole, "broken_off": None, "logged_events_count": None}),
    ]
    assert [(case.lacks_log, case.logged_count) for case in cases] == [(False, 8), (True, 4), (True, 8), (False, 4)]
    assert not Manifest.model_validate_json(json.dumps(changed())).lacks_log
    wrong: dict[str, dict[str, Any]] = {
        "no far": {"hosts": {"near": ends["near"]}},
        "no clock": {"hosts": ends | {"far": {**ends["far"], "clock": None}}},
        "no outcome": {"hosts": ends | {"near": {**ends["near"], "outcome": None}}},
        "failed without": {"hosts": {}, "status": "failed"},
        "block 0": {"block": 0},
        "version 2": {"record_version": 2},
        "whole": {},
    }
    found = {
        name: outcome(partial(Manifest.model_validate_json, json.dumps(changed(**change))), ValueError)
        for name, change in wrong.items()
    }
    SNAPSHOTS.check(
        "manifests", {name: made.split("\n")[2:3] if isinstance(made, str) else "right" for name, made in found.items()}
    )
    notes = [
        {"note": "busy_process", "name": name, "pid": pid, "cpu_ns": cpu, "wall_ns": wall}
        for name, pid, cpu, wall in (("a", 1, 5, 10), ("b", 2, 6, 8), ("c", 3, 9, 0))
    ]
    assert busiest_process(notes) == "b (process 2) used 75 % of a CPU"
    assert busiest_process([{"note": "x"}, notes[2]]) == ""


DAMAGES: Mapping[str, Callable[[Path], object]] = {
    "nothing": lambda folder: folder,
    "no manifest": lambda folder: (folder / "manifest.json").unlink(),
    "half a manifest": lambda folder: (folder / "manifest.json").write_text('{"trial": '),
    "a manifest of another trial": lambda folder: rewrite(folder, trial="002-c0001"),
    "a later version": lambda folder: rewrite(folder, record_version=2),
    "no status": lambda folder: rewrite(folder, status="bogus"),
    "a table is missing": lambda folder: (folder / "intervals.far.parquet").unlink(),
    "a table is short": lambda folder: (folder / "intervals.far.parquet").write_bytes(b"12345"),
    "a table is a link": lambda folder: linked(folder / "intervals.far.parquet"),
    "a file more": lambda folder: (folder / "y").write_text("y"),
}


def linked(path: Path) -> None:
    path.rename(path.with_name("x"))
    path.symlink_to("x")


def rewrite(folder: Path, **changes: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_trials_that_are_damaged(tmp_path: Path) -> None:
    found = {}
    for number, (name, damage) in enumerate(DAMAGES.items()):
        folder = tmp_path / str(number)
        with Experiment.create(folder, sample_plan(), PROFILE_TEXT) as experiment:
            record(experiment, "001-c0001")
            damage(folder / "trials/001-c0001")
            trials = experiment.trials()
            found_again = experiment.trial("001-c0001")
            missing = [trial.id for trial in experiment.missing_trials()]
            found[name] = [
                trials.damaged,
                sorted(trials.manifests),
                found_again if isinstance(found_again, Damaged) else found_again.status,
                missing,
            ]
            before = sorted(path.name for path in (folder / "trials").iterdir())
            record(experiment, "001-c0001")
            aside = sorted(path.name for path in (folder / "set-aside").iterdir())
            found[name] += [before, aside, experiment.trials().damaged]
    SNAPSHOTS.check("damaged trials", found)


def test_packs(tmp_path: Path) -> None:
    with Experiment.create(tmp_path / "x", sample_plan(), PROFILE_TEXT) as experiment:
        trials = tmp_path / "x/trials"
        assert next_pack(trials) == "pack-00001"
        for names in (("001-c0001", "001-c0002"), ("002-c0001",)):
            with experiment.begin_pack() as writer:
                (writer.folder / "intervals.near.parquet").write_bytes(table("near"))
                writer.commit([manifest(experiment.plan, name) for name in names])
        assert [pack.name for pack in packs(trials)] == ["pack-00001", "pack-00002"]
        assert next_pack(trials) == "pack-00003"
        assert sorted(experiment.trials().manifests) == ["001-c0001", "001-c0002", "002-c0001"]
        packed = experiment.trial("002-c0001")
        assert isinstance(packed, Manifest)
        assert packed.trial == "002-c0001"
        assert isinstance(experiment.trial("003-c0001"), Damaged)
        pack = trials / "pack-00001"
        assert json.loads((pack / "pack.json").read_text()) == {
            "trials": 2,
            "tables": {"intervals.near.parquet": len(table("near"))},
        }
        whole = {path.name: path.read_bytes() for path in pack.iterdir()}
        damages: Mapping[str, Callable[[], object]] = {
            "a table is short": lambda: (pack / "intervals.near.parquet").write_bytes(b"1"),
            "a line is missing": lambda: (pack / "manifests.jsonl").write_bytes(
                whole["manifests.jsonl"].splitlines()[0]
            ),
            "a line is wrong": lambda: (pack / "manifests.jsonl").write_bytes(b"{}\n{}\n"),
            "no sizes": (pack / "pack.json").unlink,
            "sizes of nothing": lambda: (pack / "pack.json").write_text("{}"),
            "sizes that are none": lambda: (pack / "pack.json").write_text("[1"),
            "sizes that are a list": lambda: (pack / "pack.json").write_text("[]"),
        }
        found = {}
        for name, damage in damages.items():
            damage()
            found[name] = [made.reason if isinstance(made, Damaged) else made.trial for made in read_pack(pack)]
            for file, content in whole.items():
                (pack / file).write_bytes(content)
        SNAPSHOTS.check(
            "packs", {name: [text.partition("for Manifest")[0] for text in made] for name, made in found.items()}
        )
