"""What must hold for any input: one function for each reader of bytes that somebody else may have made.

A target takes bytes and fails with an AssertionError, or with whatever the code under test lets out.
"""

import atexit
import contextlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from tests.fuzz.peer import Verdict, ask
from tests.unit.profile.uperf.test_uperf_fuzz import assert_read_or_refused
from tests.whole.records.golden import unpack
from whyperf.cli import main
from whyperf.foreign import parse_toml, visible
from whyperf.hosts import HostSetError, Inventory, expand, fold, is_usable_host
from whyperf.hosts.inventory import read
from whyperf.plan import Plan, build
from whyperf.plan.plan_document import identify
from whyperf.profile import Profile, ProfileError, parse
from whyperf.profile.workload import read_workload
from whyperf.profile.write import as_toml
from whyperf.record import wrong_in_table
from whyperf.record.kinds import UNREADABLE
from whyperf.record.parquet import MAX_TEXT_BYTES, allowed_bytes, bytes_in_memory
from whyperf.run.agents import frames
from whyperf.run.agents.replies import understood
from whyperf.run.errors import RunError

#: No sentence is longer, whatever it quotes.
MAX_SENTENCE = 600
#: Cells that a plan of a fuzzed profile may have: more take time and show nothing else.
MAX_CELLS = 400


def assert_sentence(text: str, most: int = MAX_SENTENCE) -> None:
    """One line that can be printed, and is no list of internals."""
    assert text, "no text"
    assert len(text) <= most, text
    assert visible(text) == text, text
    for internal in ("Traceback", "pydantic", "object at 0x", "<class"):
        assert internal not in text, text


def frame_stream(data: bytes) -> None:
    """Frames are cut as the agent cuts them, and come back as they went out.

    A greeting may come before the first frame to the controller, and not to the agent.
    """
    with contextlib.suppress(RunError):
        frames.FrameReader(io.BytesIO(data)).read()
    data = frames.encode(b"first", 0) + data
    found: list[frames.Frame] = []
    reader = frames.FrameReader(io.BytesIO(data))
    ended = "end"
    try:
        while (frame := reader.read()) is not None:
            found.append(frame)
    except RunError as error:
        ended = str(error)
        assert_sentence(ended)
    agent = ask("f", data)
    assert agent.count == len(found), (agent, found, ended)
    assert agent.is_whole == (ended == "end"), (agent, ended)
    for frame in found:
        again = frames.FrameReader(io.BytesIO(frames.encode(frame.payload, 0))).read()
        assert again is not None
        assert again.payload == frame.payload


def reply(data: bytes) -> None:
    """What the controller takes for a reply could come from an agent; written again, it is the same.

    The controller is stricter: it takes no key that it does not know, and no number that is out of range.
    """
    agent = ask("r", data)
    try:
        identifier, body = understood(data)
    except RunError as error:
        assert_sentence(str(error))
        return
    assert agent.is_whole, f"only the controller takes it: {agent.text}"
    written = json.dumps({"id": identifier, "body": body}).encode()
    assert understood(written) == (identifier, body)


def table(data: bytes) -> None:
    """A table is refused with a sentence, or takes the memory that it says and no more."""
    path = scratch() / "flows.near.parquet"
    path.write_bytes(data)
    try:
        needed = bytes_in_memory(path)
    except ValueError as error:
        assert_sentence(str(error))
        return
    assert 0 <= needed <= allowed_bytes(len(data))
    wrong = wrong_in_table(path, "flows")
    assert wrong is None or wrong
    try:
        frame = pl.read_parquet(path)
    except UNREADABLE:
        return
    assert frame.estimated_size() <= max(2 * needed, 1 << 20), (frame.estimated_size(), needed)
    for column in frame.select(pl.col(pl.String)).iter_columns():
        lengths = column.str.len_bytes().drop_nulls()
        assert lengths.filter(lengths > MAX_TEXT_BYTES).is_empty(), column.name
        assert lengths.sum() <= allowed_bytes(len(data)), column.name


def plan(data: bytes) -> None:
    """A plan is read as it is written, and has an identifier of its content."""
    text = data.decode(errors="replace")
    try:
        found = Plan.from_json(text, "plan.json")
    except ProfileError as error:
        assert_sentence(str(error).replace("\n", " "))
        if error.key != "id":
            return
        # The identifier keeps changed plans out; what is behind it is looked at with the right one.
        try:
            changed = Plan.model_validate_json(text)
            found = changed.model_copy(update={"id": identify(changed)})
        except ValueError:
            return
    written = found.to_json()
    again = Plan.from_json(written, "plan.json")
    assert again == found
    assert again.to_json() == written


DOCUMENTS = ("manifest.json", "hosts/near.json", "testbed.json", "plan.json", "profile", "table")


def result(data: bytes) -> None:
    """`show` and `explain` of a result in which one file has another content: a sentence or a result, and nothing that
    a terminal would obey."""
    if not data:
        return
    kind, content = DOCUMENTS[data[0] % len(DOCUMENTS)], data[1:]
    folder = scratch() / "result"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sample_result(), folder)
    trial = next((folder / "trials").glob("001-*"))
    match kind:
        case "manifest.json":
            (trial / kind).write_bytes(content)
        case "profile":
            next(folder.glob("*.toml")).write_bytes(content)
        case "table":
            (trial / "flows.near.parquet").write_bytes(content)
        case _:
            (folder / kind).parent.mkdir(exist_ok=True)
            (folder / kind).write_bytes(content)
    for verb in ("show", "explain"):
        said = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(said):
            code = main([verb, str(folder), "--json"])
        assert code in {0, 1, 3}, (verb, code, said.getvalue())
        for line in said.getvalue().splitlines():
            assert_sentence(line)
            assert "internal error" not in line, line
        if code in {0, 3}:
            json.loads(printed.getvalue())
        with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()):
            main([verb, str(folder)])
        assert visible(printed.getvalue(), keep="\n") == printed.getvalue(), verb


def profile(data: bytes) -> None:
    """A profile is refused with a sentence for each mistake, or asks the same when it is written and read again."""
    text = data.decode(errors="replace")
    try:
        found = parse(text, name="fuzzed", where="fuzzed.toml")
    except ProfileError as error:
        for line in str(error).split("\n"):
            assert_sentence(line, 2000)
            assert line.startswith("fuzzed.toml"), line
        return
    assert_same_when_written(found)


def assert_same_when_written(found: Profile) -> None:
    """What `--save-profile` writes asks the same."""
    try:
        text = as_toml(found)
    except ProfileError as error:
        assert_sentence(str(error))
        return
    again = parse(text, name=found.name, where=found.where)
    for name in ("about", "seed", "kind", "fixed", "design", "sweeps"):
        assert getattr(again, name) == getattr(found, name), (name, text)
    cells = 1
    for sweep in found.sweeps:
        for levels in sweep.levels.values():
            cells *= len(levels)
    if cells > MAX_CELLS or (found.design.trials or found.design.trials_max or 1) > MAX_CELLS:
        return
    plans = []
    for each in (found, again):
        try:
            plans.append(build(each).id)
        except ProfileError as error:
            assert_sentence(str(error).replace("\n", " "), 2000)
            plans.append("")
    assert plans[0] == plans[1]


def workload(data: bytes) -> None:
    """A workload is refused with sentences, or becomes one that the agent understands."""
    try:
        written = parse_toml(data.decode(errors="replace"))
    except ValueError as error:
        assert_sentence(str(error).replace("\n", " "))
        return
    try:
        found = read_workload(written)
        spec = spec_of(found)
    except ProfileError as error:
        for line in str(error).split("\n"):
            assert_sentence(line, 2000)
            assert ": " in line, line
        return
    if spec is not None:
        agent: Verdict = ask("q", json.dumps({"id": 1, "body": spec}).encode())
        assert agent.is_whole, agent.text


def spec_of(found: Any) -> Any:
    """What the near agent would receive of a cell with the workload; None where its plan would be large."""
    from tests.unit.profile.test_workload_language import CPUS  # noqa: PLC0415
    from whyperf.plan import PlannedTrial  # noqa: PLC0415
    from whyperf.profile import find  # noqa: PLC0415
    from whyperf.run.spec import trial_specs  # noqa: PLC0415

    planned = build(find("quick").with_workload(found))
    (cell,) = planned.cells
    trial = PlannedTrial("001-c0001", 1, cell.id)
    specs = trial_specs(trial, cell.factors, CPUS, "198.18.0.2", 0, planned.workload(cell.id), planned.seed)
    return next(iter(specs.values()))


def uperf(data: bytes) -> None:
    """A profile of uperf becomes a workload of the schema, or one sentence."""
    assert_read_or_refused(data.decode("latin-1"))


def inventory(data: bytes) -> None:
    """A file of hosts is refused with a sentence, or its groups are sets of hosts; so is each of its lines."""
    text = data.decode(errors="replace")
    for where in ("hosts", "hosts.ini", "hosts.toml", "hosts.json"):
        try:
            found = read(text, where)
        except HostSetError as error:
            assert_sentence(str(error), 700)
            continue
        for group, members in found.groups.items():
            assert len({*members}) == len(members), group
            assert_set(f"@{group}", found)
    for line in text.splitlines()[:20]:
        assert_set(line, Inventory())


def assert_set(text: str, inventory: Inventory) -> None:
    """A set is refused with a sentence, or names hosts, and their short form names the same."""
    try:
        hosts = expand(text, inventory, "--from")
    except HostSetError as error:
        assert_sentence(str(error), 700)
        return
    assert all(map(is_usable_host, hosts)), hosts
    assert expand(fold(hosts), Inventory(), "--from") == hosts, hosts


TARGETS: dict[str, Callable[[bytes], None]] = {
    "frames": frame_stream,
    "replies": reply,
    "tables": table,
    "plans": plan,
    "results": result,
    "profiles": profile,
    "workloads": workload,
    "uperf": uperf,
    "inventories": inventory,
}


@cache
def scratch() -> Path:
    """A folder in memory for files of one input; it ends with the process."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="fuzz-", dir=base)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@cache
def sample_result() -> Path:
    """A stored result."""
    unpack("stream-user", scratch())
    (found,) = (scratch() / "results").iterdir()
    return found
