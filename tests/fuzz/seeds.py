"""First inputs: what is shipped, stored or answered by a living agent.

`python -m tests.fuzz.seeds` adds them to the corpora.
"""

import io
import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal, cast

import polars as pl

from tests.fuzz import corpora
from tests.fuzz.targets import DOCUMENTS, sample_result
from tests.unit.hosts.sample_inventories import INI, LISTED, OURS, SETS
from tests.unit.profile.uperf.uperf_profiles import SHAPES
from tests.unit.records.golden import KINDS, unpack
from whyperf import __version__
from whyperf.profile import shipped_folder
from whyperf.run.agents import frames
from whyperf.run.agents.pipes import local

TREE = Path(__file__).parents[2]
#: What an agent answers without a measurement.
REQUESTS = (
    {"request": "hello", "version": __version__},
    {"request": "clock"},
    {"request": "describe_host"},
    {"request": "list_transports"},
    {"request": "remove_testbed"},
    {"request": "connect", "address": "127.0.0.1", "port": 1},
)
COMPRESSIONS: tuple[Literal["zstd", "uncompressed"], ...] = ("zstd", "uncompressed")
#: Larger inputs are hard to change to something that shows more.
MAX_BYTES = 12_000


def replies() -> Iterator[bytes]:
    """Replies of an agent to `REQUESTS`."""
    sent = b"".join(
        frames.encode(json.dumps({"id": number, "body": body}).encode(), number) for number, body in enumerate(REQUESTS)
    )
    with subprocess.Popen(local(), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write(sent)
        agent.stdin.flush()
        answered: set[int] = set()
        reader = frames.FrameReader(cast("BinaryIO", agent.stdout))
        while len(answered) < len(REQUESTS) and (frame := reader.read()) is not None:
            answered.add(json.loads(frame.payload)["id"])
            yield frame.payload
        agent.stdin.close()


def small_tables() -> Iterator[bytes]:
    """Tables of each type of column, in each form that agents write."""
    frame = pl.DataFrame(
        {"role": ["sender", "receiver", None], "bytes": [1, 2**40, None], "is_final": [True, False, None]},
        schema={"role": pl.String, "bytes": pl.UInt64, "is_final": pl.Boolean},
    )
    for columns in (["role"], ["bytes"], ["is_final"], ["role", "bytes", "is_final"]):
        for compression in COMPRESSIONS:
            written = io.BytesIO()
            frame.select(columns).write_parquet(written, compression=compression, statistics=False)
            yield written.getvalue()


def documents() -> Iterator[tuple[str, bytes]]:
    """Files of stored results, with the target each is for."""
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            unpack(kind, Path(folder))
        for path in sorted(Path(folder).glob("results/*/**/*")):
            if not path.is_file() or path.stat().st_size > MAX_BYTES:
                continue
            content = path.read_bytes()
            if path.name == "plan.json":
                yield "plans", content
            elif path.suffix == ".toml":
                yield "profiles", content
    # The smallest table of all columns, for what is behind the look at the columns.
    smallest = min((sample_result() / "trials").glob("*/*.parquet"), key=lambda path: path.stat().st_size)
    yield "tables", smallest.read_bytes()
    trial = next((sample_result() / "trials").glob("001-*"))
    files = (
        trial / "manifest.json",
        sample_result() / "hosts" / "near.json",
        None,
        sample_result() / "plan.json",
        sample_result() / "profile.toml",
        trial / "flows.near.parquet",
    )
    assert len(files) == len(DOCUMENTS)
    for number, file in enumerate(files):
        yield "results", bytes([number]) + (file.read_bytes() if file is not None else b"{}")


def all_seeds() -> Iterator[tuple[str, bytes]]:
    """Every first input with its target."""
    answers = list(replies())
    for answer in answers:
        yield "replies", answer
    # The first frame is the target's own.
    yield "frames", b"".join(frames.encode(answer[:40], number) for number, answer in enumerate(answers, 1))
    yield "frames", frames.encode(b"{}", 1) + b"WP"
    yield "frames", b"Welcome to host7\n"
    yield from documents()
    for table in small_tables():
        yield "tables", table
    for path in shipped_folder().glob("*.toml"):
        yield "profiles", path.read_bytes()
    for path in (TREE / "workloads").glob("*.toml"):
        yield "workloads", path.read_bytes()
    for text in SHAPES.values():
        yield "uperf", text.encode("latin-1")
    for text in (OURS, INI, json.dumps(LISTED), "\n".join(SETS)):
        yield "inventories", text.encode()


def main() -> None:
    """Adds them."""
    found: dict[str, list[bytes]] = {}
    for target, data in all_seeds():
        found.setdefault(target, []).append(data)
    for target, inputs in found.items():
        corpora.store(target, [*corpora.load(target), *inputs])
        print(f"{target}: {len(corpora.load(target))} inputs")


if __name__ == "__main__":
    main()
