"""Values, steps and transactions of the workload language: what they become in a cell, and what is refused."""
# ruff: noqa: E501 - a case is a line.

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.unit.profile.given import parts
from whyperf.foreign import is_meant
from whyperf.profile import FACTORS, ProfileError, shipped_workload
from whyperf.profile.workload import (
    has_exchange,
    least_seconds,
    load_workload,
    looks_like_workload,
    near_receives,
    read_workload,
    ready,
)
from whyperf.profile.workload import values as readers
from whyperf.profile.workload.sizes import size_value
from whyperf.profile.workload.values import Value

CELL = {factor.name: factor.default for factor in FACTORS} | {
    "connections": 3,
    "write_size_bytes": 4096,
    "offered_rate_per_s": 250.0,
    "think_us": 20,
    "write_rate_bps": 5_000_000,
}
READERS: dict[str, Any] = {
    "size": lambda written: readers.size_bytes("k", written),
    "datagram": lambda written: readers.size_bytes("k", written, largest=65_507),
    "count": lambda written: readers.count_of("k", written),
    "users": lambda written: readers.count_of("k", written, low=0, high=64),
    "time": lambda written: readers.time_ns("k", written),
    "timeout": lambda written: readers.time_ns("k", written, low=1),
    "bit/s": lambda written: readers.rate_bps("k", written),
    "rate": lambda written: readers.rate_per_s("k", written),
    "switch": lambda written: readers.switch("k", written),
    "word": lambda written: readers.word_of("k", written, ("closed", "constant", "poisson")),
}

#: Kind of value | in TOML | in the cell above: bytes, counts, ns, bit/s, executions per second.
VALUES = """
size | 64 | 64
size | "1.5k" | 1536
size | "1GiB" | 1073741824
size | "=write_size_bytes" | 4096
datagram | 65507 | 65507
count | 4294967295 | 4294967295
count | "=connections" | 3
users | 0 | 0
time | "10 ms" | 10000000
time | "1.5us" | 1500
time | "3 h" | 10800000000000
time | "2min" | 120000000000
time | "168h" | 604800000000000
time | "=think_us" | 20000
time | "=warmup_s" | 1000000000
timeout | "1 ns" | 1
bit/s | "100M" | 100000000
bit/s | "1.5G" | 1500000000
bit/s | "=write_rate_bps" | 5000000
bit/s | "=pacing_rate_bps" | 0
rate | 1.5 | 1.5
rate | "20K" | 20000.0
rate | "=offered_rate_per_s" | 250.0
switch | true | True
switch | "=no_delay" | False
word | "poisson" | 'poisson'
word | "=arrivals" | 'auto'
"""
#: Kind of value | in TOML | what is said.
REFUSED_VALUES = """
size | 0 | 0 is out of bounds; it takes 1 to 1073741824
size | 1.5 | 1.5 is not a size; write a whole number
size | "1.5.5" | "1.5.5" is not a size; write bytes, or K, M and G for powers of 1024, such as "64K"
size | "=connections" | "=connections" is not a size (it is in connections); refer to another factor
size | "=window_bytes" | "=window_bytes" is "default" here; set window_bytes to a number
size | "=windw_bytes" | "=windw_bytes" names no factor; did you mean window_bytes?
datagram | 65508 | 65508 is out of bounds; it takes 1 to 65507
count | 0 | 0 is out of bounds; it takes 1 to 4294967295
count | "16" | "16" is not a number; write it without quotes, or a reference "=factor"
count | "=think_us" | "=think_us" is not a count (it is in us); refer to another factor
count | "=no_delay" | "=no_delay" is not a count; refer to another factor
time | "10 MS" | "10 MS" is not a time; write a number with one of the units ns, us, µs, ms, s, min, h
time | "169h" | 608400000000000 is out of bounds; it takes 0 to 604800000000000
time | "=connections" | "=connections" is not a time; refer to a factor that is one
timeout | "0 s" | 0 is out of bounds; it takes 1 to
bit/s | -1 | -1 is not a rate; write bit/s as a number or "100M", 0 for as fast as it can
bit/s | "=think_us" | "=think_us" is not a rate in bit/s; refer to "=write_rate_bps"
rate | 0 | 0 is not a rate; write executions in a second as a number or "20K", from 0.001 to 1e9
rate | "=think_us" | "=think_us" is not a rate of transactions; refer to "=offered_rate_per_s"
switch | "=think_us" | "=think_us" is not true or false; refer to such a factor
word | "poison" | 'poison' is unknown; did you mean poisson?
word | "=direction" | "=direction" does not choose one of closed, constant, poisson
"""


def toml(text: str) -> Any:
    """A value as TOML has it."""
    return tomllib.loads(f"value = {text}")["value"]


def in_cell(value: Value) -> Any:
    """The value in the cell; only the factors that it names decide it."""
    return value.of({name: CELL[name] for name in value.uses})


@pytest.mark.parametrize(("kind", "written", "value"), parts(VALUES))
def test_values(kind: str, written: str, value: str) -> None:
    assert repr(in_cell(READERS[kind](toml(written)))) == value


@pytest.mark.parametrize(("kind", "written", "says"), parts(REFUSED_VALUES))
def test_what_is_no_value_is_refused(kind: str, written: str, says: str) -> None:
    with pytest.raises(ProfileError) as caught:
        in_cell(READERS[kind](toml(written)))
    assert str(caught.value).startswith(f"k: {says}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of sizes and instants."""
    for name, text in {
        "sizes": "# sizes\n100\n1K # large\n\n64\n",
        "weights": "100 3\n1K 1\n",
        "mixed": "100 3\n1K\n",
        "empty": "# nothing\n",
        "words": "100 x\n",
        "instants": "0\n0.5\n0.5\n604800\n",
        "back": "0.5\n0.4\n",
        "endless": "inf\n",
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\n")
    return tmp_path


#: A size in TOML | what it is in the cell, as JSON.
SIZES = """
"64K" | {"by": "fixed", "bytes": 65536}
{ low = 1, high = "=write_size_bytes" } | {"by": "uniform", "low_bytes": 1, "high_bytes": 4096}
{ low = 5, high = 5 } | {"by": "uniform", "low_bytes": 5, "high_bytes": 5}
{ weighted = [[64, 9], ["1K", 1]] } | {"by": "weighted", "values": [{"bytes": 64, "weight": 9}, {"bytes": 1024, "weight": 1}]}
{ weighted = [["=write_size_bytes", 4294967295]] } | {"by": "weighted", "values": [{"bytes": 4096, "weight": 4294967295}]}
{ sequence = [100, "1K", "=write_size_bytes"] } | {"by": "sequence", "bytes": [100, 1024, 4096]}
{ file = "sizes" } | {"by": "sequence", "bytes": [100, 1024, 64]}
{ file = "weights" } | {"by": "weighted", "values": [{"bytes": 100, "weight": 3}, {"bytes": 1024, "weight": 1}]}
"""
#: A size in TOML | what is said.
REFUSED_SIZES = """
[1] | k: a size belongs here: 64, "64K", "=factor"
{ low = 1 } | k: {low} is no form of a size; write 64
{ file = 3 } | k: {file} is no form of a size
{ low = 9, high = 1 } | k: low (9) is above high (1); swap them
{ weighted = [] } | k.weighted: it takes pairs of size and weight, such as [[64, 9], [1024, 1]]
{ weighted = [[64, 9], [64]] } | k.weighted.2: [64] is not a pair of size and weight
{ weighted = [[64, 0]] } | k.weighted.1: 0 is not a weight; write a whole number from 1
{ weighted = [[64, true]] } | k.weighted.1: True is not a weight
{ weighted = [[64, 4294967295], [65, 1]] } | k.weighted: the weights add up to over 4294967295; write smaller ones
{ sequence = [] } | k.sequence: it takes a list of sizes, such as [100, 1400]
{ file = "mixed" } | k.file: mixed mixes forms; write a size a line, or a size and a weight a line
{ file = "words" } | k.file: 'x' is not a weight
{ file = "empty" } | k.file: …empty has no values; write one a line
{ file = "binary" } | k.file: …binary is not a text file; write a value a line
{ file = "none" } | k.file: …none cannot be read: No such file or directory; name a file next to the workload
"""


@pytest.mark.parametrize(("written", "size"), parts(SIZES))
def test_sizes(written: str, size: str, folder: Path) -> None:
    assert in_cell(size_value("k", toml(written), folder)) == json.loads(size)


@pytest.mark.parametrize(("written", "says"), parts(REFUSED_SIZES))
def test_what_is_no_size_is_refused(written: str, says: str, folder: Path) -> None:
    with pytest.raises(ProfileError) as caught:
        in_cell(size_value("k", toml(written), folder))
    assert str(caught.value).replace(f"{folder}/", "…").startswith(says)


@pytest.mark.parametrize("name", ["../sizes", "{outside}", "link", "linked/sizes", ".hidden", ".folder/sizes"])
def test_no_file_of_values_is_read_elsewhere(name: str, tmp_path: Path) -> None:
    own = tmp_path / "own"
    (own / ".folder").mkdir(parents=True)
    for path in (tmp_path / "sizes", own / ".hidden", own / ".folder/sizes"):
        path.write_text("1\n")
    (own / "link").symlink_to(tmp_path / "sizes")
    (own / "linked").symlink_to(tmp_path)
    written = name.format(outside=tmp_path / "sizes")
    problem = r"is not below the folder of the workload, or is hidden; copy it"
    with pytest.raises(ProfileError, match=problem):
        readers.lines_of("k", written, own)
    with pytest.raises(ProfileError, match=problem):
        size_value("k", {"file": written}, own)


@pytest.mark.parametrize("exchanged", ["own", "own/inner", "own/inner/sizes"])
def test_a_link_that_comes_after_the_check_is_not_followed(
    exchanged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("own/inner", "other/inner"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "sizes").write_text(f"{len(folder)}\n")
    path = tmp_path / exchanged

    def check(file: Path, below: Path) -> bool:
        path.rename(tmp_path / "moved")
        path.symlink_to(tmp_path / exchanged.replace("own", "other"))
        return is_meant(file, below)

    monkeypatch.setattr(readers, "is_meant", check)
    with pytest.raises(ProfileError, match=r"own/inner/sizes cannot be read: (Not a directory|it is a symbolic link)"):
        readers.lines_of("k", "inner/sizes", tmp_path / "own")


def test_without_a_folder_no_file_of_values_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder is not that of a workload that was in a result."""
    monkeypatch.chdir(folder)
    for written in ("sizes", str(folder / "sizes"), "none"):
        with pytest.raises(ProfileError, match=f"^k: {written} is not read, as only a profile or workload in a file"):
            readers.lines_of("k", written, None)


def test_a_file_of_values_has_a_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "MAX_LINES", 2)
    assert readers.lines_of("k", "weights", folder) == [["100", "3"], ["1K", "1"]]
    with pytest.raises(ProfileError, match="sizes has over 2 lines; shorten it"):
        readers.lines_of("k", "sizes", folder)


def of_transaction(inside: str, folder: Path) -> Any:
    """A workload of one transaction with these keys in TOML, after those of the group, if any, before `;`."""
    of_group, _, keys = inside.rpartition(";")
    text = f"[[group]]\n{of_group}\n[[group.transaction]]\n{keys}\n"
    return read_workload(tomllib.loads(text), folder=folder)


def shown(step: Any) -> str:
    """A step in a line: operation, its values, how often, `?` if it can fail."""
    operation = step["operation"]
    found = " ".join(str(value) for value in operation.values() if value is not None)
    times = f" x{step['count']}" if step["count"] > 1 else ""
    return f"{found}{times}{' ?' if step['can_fail'] else ''}"


#: Keys of a transaction in TOML | how often, and how it starts | its steps.
TRANSACTIONS = r"""
steps = [{ op = "write", size = 100, call = "1K" }, { op = "read", size = 1, timeout = "1 s" }] | trial closed 1 | write 0 {'by': 'fixed', 'bytes': 100} 1024, read 0 {'by': 'fixed', 'bytes': 1} 1000000000
steps = [{ op = "send", size = 1, count = 2 }, { op = "recv", size = 2, can_fail = true }] | trial closed 1 | write 0 {'by': 'fixed', 'bytes': 1} x2, read 0 {'by': 'fixed', 'bytes': 2} ?
connected = false; steps = [{ op = "connect", connection = 2 }, { op = "accept" }, { op = "disconnect", connection = 2 }, { op = "disconnect" }] | trial closed 1 | connect 2, accept 0, disconnect 2, disconnect 0
steps = [{ op = "think", time = "2 ms", busy = true, count = "=connections" }, { op = "think", time = "0 s" }] | trial closed 1 | think 2000000 True False x3
steps = [{ op = "think", time = "=think_us", mirrored = true }] | trial closed 1 | think 20000 False True
iterations = 0\nsteps = [{ op = "write", size = 1 }] | iterations 0 closed 1 | write 0 {'by': 'fixed', 'bytes': 1}
duration = "3 s"\nsteps = [{ op = "write", size = 1 }] | duration 3000000000 closed 1 | write 0 {'by': 'fixed', 'bytes': 1}
rate_per_s = 1.5\nsteps = [{ op = "write", size = 1 }] | trial poisson 1500 1 | write 0 {'by': 'fixed', 'bytes': 1}
rate_per_s = "20K"\narrivals = "constant"\nsteps = [{ op = "write", size = 1 }] | trial constant 20000000 1 | write 0 {'by': 'fixed', 'bytes': 1}
rate_per_s = "=offered_rate_per_s"\narrivals = "=arrivals"\nsteps = [{ op = "write", size = 1 }] | trial poisson 250000 1 | write 0 {'by': 'fixed', 'bytes': 1}
arrivals = { file = "instants" }\nsteps = [{ op = "write", size = 1 }] | trial trace [0, 500000000, 500000000, 604800000000000] 1 | write 0 {'by': 'fixed', 'bytes': 1}
outstanding = 8\nsteps = [{ op = "write", size = 1 }] | trial closed 8 | write 0 {'by': 'fixed', 'bytes': 1}
"""


@pytest.mark.parametrize(("inside", "often", "steps"), [case for case in parts(TRANSACTIONS) if case[1]])
def test_transactions(inside: str, often: str, steps: str, folder: Path) -> None:
    document = of_transaction(inside.replace("\\n", "\n"), folder).document(CELL)
    ((transaction,),) = [group["transactions"] for group in document["groups"]]
    values = [*transaction["repeat"].values(), *transaction["arrivals"].values(), transaction["outstanding_count"]]
    assert " ".join(map(str, values)) == often
    assert ", ".join(map(shown, transaction["steps"])) == steps


#: Keys of a group `;` of its transaction, in TOML | the key at fault | what is said.
REFUSED = r"""
steps = [{ op = "sendfile", files = ["none"] }] | steps.1.files | …none is not a file with content; name one that is
steps = [{ op = "sendfile", files = [] }] | steps.1.files | the list is empty; name at least one file
steps = [{ op = "write" }] | steps.1.size | write needs it; add it
steps = [{ op = "write", size = 1, time = "1 s" }] | steps.1.time | write has no such key; it takes call, connection, size
steps = [{ op = "think", time = "1 s", size = 5 }] | steps.1.size | think has no such key; it takes busy, mirrored, time
iterations = 1\nsteps = [{ op = "wirte" }] | steps.1.op | there is no operation "wirte"; did you mean write?
steps = [] | steps | the list is empty; write at least one step
steps = [{ op = "connect", connection = 65536 }] | steps.1.connection | 65536 does not fit
steps = [{ op = "connect" }] | steps.1 | connection 0 is open already; disconnect it first, or set connected = false
connected = false; steps = [{ op = "read", size = 1 }] | steps.1 | connection 0 is not open here; connect it first
steps = [{ op = "disconnect" }] | steps.1 | connection 0 is not open here
connected = false; steps = [{ op = "accept" }, { op = "disconnect" }, { op = "disconnect" }] | steps.3 | connection 0 is not open here
iterations = -1\nsteps = [{ op = "think", time = "1 s" }] | iterations | -1 is out of bounds; it takes 0 or more
duration = "0 s"\nsteps = [{ op = "think", time = "1 s" }] | duration | 0 is out of bounds; it takes 1
duration = "1 s"\niterations = 1\nsteps = [{ op = "think", time = "1 s" }] | duration | iterations are given too; keep one of the two
outstanding = 65537\nsteps = [{ op = "write", size = 1 }] | outstanding | 65537 is out of bounds; it takes 1 to 65536
outstanding = 2\nsteps = [{ op = "write", size = 1 }, { op = "think", time = "1 s" }] | outstanding | only transactions of reads and writes can be pipelined
rate_per_s = 2\narrivals = "closed"\nsteps = [{ op = "write", size = 1 }] | | a closed loop has no rate; leave it out, or choose poisson or constant
rate_per_s = "=offered_rate_per_s"\narrivals = "closed"\nsteps = [{ op = "write", size = 1 }] | offered_rate_per_s | a closed loop has no rate
arrivals = "poisson"\nsteps = [{ op = "write", size = 1 }] | rate_per_s | poisson arrivals need a rate; set it, or choose closed
arrivals = { file = "instants" }\nrate_per_s = 3\nsteps = [{ op = "write", size = 1 }] | rate_per_s | a trace has its instants; remove the rate
arrivals = { fil = "instants" }\nsteps = [{ op = "write", size = 1 }] | arrivals | a trace is { file = "NAME" }, with an instant in seconds a line
arrivals = { file = "back" }\nsteps = [{ op = "write", size = 1 }] | arrivals | 0.4 is not an instant in seconds after the one before it; sort the file
arrivals = { file = "endless" }\nsteps = [{ op = "write", size = 1 }] | arrivals | inf is not an instant
name = "a b"; steps = [{ op = "write", size = 1 }] | a b.name | a name has letters, digits, "-" and, but for the workload's, "_" inside only
"""


@pytest.mark.parametrize(("inside", "key", "says"), parts(REFUSED))
def test_what_is_no_transaction_is_refused(inside: str, key: str, says: str, folder: Path) -> None:
    with pytest.raises(ProfileError) as caught:
        of_transaction(inside.replace("\\n", "\n"), folder).document(CELL)
    assert caught.value.key.endswith(key)
    assert caught.value.problem.replace(f"{folder}/", "…").startswith(says)


def test_what_takes_no_time_is_not_done_over_and_over(folder: Path) -> None:
    once = 'connected = false; iterations = 1\nsteps = [{ op = "connect", connection = 65535 }]'
    assert of_transaction(once, folder).ends_itself
    nothing = {"group": [{"transaction": [{"steps": [{"op": "think", "time": "0 s"}]}]}]}
    with pytest.raises(ProfileError, match="a think of no length is no step"):
        read_workload(nothing).document(CELL)


WRITE = {"op": "write", "size": 100}
READ = {"op": "read", "size": "1K"}
ASK = {"name": "ask", "steps": [WRITE], "iterations": 2}
LONG = {"name": "long", "steps": [READ], "duration": "2 s"}
#: 3 executions of a pause of 2 ms and three of 1 s.
WAIT = {
    "name": "wait",
    "steps": [{"op": "think", "time": "2 ms"}, {"op": "think", "time": "1 s", "count": 3}],
    "iterations": 3,
}
TALK = {"name": "talk", "steps": [WRITE, READ]}


@pytest.mark.parametrize(
    ("groups", "seconds", "exchange", "ends"),
    [
        ([[ASK]], 0, False, True),
        ([[WAIT]], 9.006, False, True),
        ([[ASK, LONG]], 2, False, True),
        ([[TALK]], 0, True, False),
        # Transactions of the same number begin together: the first two take 9.006 s, the second ones 2 s.
        ([[WAIT, LONG], [LONG]], 11.006, False, True),
        ([[ASK], [TALK]], 0, True, False),
    ],
)
def test_times_and_exchanges(groups: list[list[Any]], seconds: float, exchange: bool, ends: bool) -> None:
    tables = [{"name": f"g{place}", "transaction": group} for place, group in enumerate(groups)]
    workload = read_workload({"group": tables})
    document = workload.document(CELL)
    assert document is not None
    assert least_seconds(document) == pytest.approx(seconds)
    assert (has_exchange(document), workload.ends_itself) == (exchange, ends)
    made = ready(document, about="x", metric="goodput", transport="udp", name="made")
    assert (made.name, made.transports, made.ends_itself) == ("made", ("udp",), ends)
    assert made.document({}) == {**document, "name": "made"}


#: A workload in TOML, `G` for a group that works | the key at fault | what is said.
REFUSED_WORKLOADS = r"""
about = "x" | group | a workload has groups, or a datagrams table instead; write one of the two
G [datagrams] | group | a workload has groups, or a datagrams table instead
transports = ["tcp"]\n[datagrams] | transports | datagrams need UDP or QUIC; write transports = ["udp", "quic"]
transports = ["udp"]\n[datagrams]\nsize = 65508 | datagrams.size | 65508 is out of bounds; it takes 1 to 65507
transports = ["udp"]\n[datagrams]\nsise = 3 | datagrams.sise | there is no such key; did you mean size?
transports = ["tcp", "srt"]\nG | transports | groups of operations run over tcp, mptcp, udp, unix, tls, sctp only; leave the others out
name = "Own_"\nG | name | a name has letters, digits
G G | group.g | two have this name; rename one
G [[group.transaction]]\nsteps = [{ op = "read", size = 1 }] | group.g.transaction.main | two have this name
[[group]]\nconnected = false | group.main | the group does nothing; give it a transaction or connected = true
defaults = { workload = "rr" }\nG | defaults.workload | a workload cannot choose itself; remove the key
defaults = { no_delay = 7 }\nG | defaults.no_delay | invalid value 7; give true or false
defaults = { bogus = 1 }\nG | defaults.bogus | there is no factor of this name
"""


@pytest.mark.parametrize(("text", "key", "says"), parts(REFUSED_WORKLOADS))
def test_what_is_no_workload_is_refused(text: str, key: str, says: str) -> None:
    group = '\n[[group]]\nname = "g"\n[[group.transaction]]\nsteps = [{ op = "read", size = 3 }]\n'
    with pytest.raises(ProfileError) as caught:
        read_workload(tomllib.loads(text.replace("\\n", "\n").replace("G ", group).replace("\nG", group)))
    assert (caught.value.key, caught.value.problem[: len(says)]) == (key, says)


def test_datagrams() -> None:
    table = {"size": 1000, "batch": 9, "rate_bps": "1M", "merge": True}
    own, usual = (read_workload({"transports": ["udp"], "datagrams": each}) for each in (table, {}))
    assert own.datagrams({}) == {"datagram_bytes": 1000, "batch_count": 9, "rate_bps": 1_000_000, "is_merged": True}
    assert usual.datagrams(CELL) == {
        "datagram_bytes": 1472,
        "batch_count": 1,
        "rate_bps": 5_000_000,
        "is_merged": False,
    }
    assert usual.uses == {"datagram_size_bytes", "datagram_batch", "write_rate_bps", "datagram_merge", "connections"}
    assert (own.load, own.document(CELL), own.ends_itself) == ("datagrams", None, False)


def test_a_group_may_only_keep_connections_open() -> None:
    groups = [{"name": "a", "transaction": [TALK]}, {"name": "idle", "strands": 5}, {"name": "none", "strands": 0}]
    document = read_workload({"group": groups}).document(CELL)
    assert document is not None
    assert [(group["name"], group["strands_count"]) for group in document["groups"]] == [("a", 3), ("idle", 5)]
    with pytest.raises(ProfileError, match="nothing is done in this cell: no group has a virtual user"):
        read_workload({"group": groups[1:]}).document(CELL)


def test_all_mistakes_of_a_workload_are_named_at_once() -> None:
    written = {
        "defaults": {"no_delay": 7, "bogus": 1},
        "group": [{"transaction": [{"steps": [WRITE, {"op": "read", "size": "x"}], "iterations": "y"}]}],
    }
    with pytest.raises(ProfileError) as caught:
        read_workload(written)
    assert [line.partition(": ")[0] for line in str(caught.value).splitlines()] == [
        "defaults.no_delay",
        "defaults.bogus",
        "group.main.main.iterations",
    ]


#: What the near host does in the only transaction of a shipped workload.
SHIPPED = """
rr | trial closed | write 0 1, read 0 1
crr | trial closed | connect 0, write 0 1, read 0 1, disconnect 0
burst | trial closed | write 0 1 x16, read 0 1, think 20000 False False
"""


@pytest.mark.parametrize(("name", "often", "steps"), parts(SHIPPED))
def test_shipped_workloads(name: str, often: str, steps: str) -> None:
    document = shipped_workload(name).document(CELL | {"offered_rate_per_s": "default"})
    assert document is not None
    ((transaction,),) = [group["transactions"] for group in document["groups"]]
    assert f"{transaction['repeat']['by']} {transaction['arrivals']['by']}" == often
    found = ", ".join(map(shown, transaction["steps"])).replace("{'by': 'fixed', 'bytes': 1}", "1")
    assert found == steps


def test_the_near_host_receives_a_stream_of_either_name() -> None:
    assert [near_receives({"direction": way}) for way in ("send", "receive")] == [False, True]
    assert near_receives({"workload": "stream-receive"})
    assert not near_receives({"workload": "rr"})


#: A file's text | whether it looks like a workload | its name, or what is said.
FILES = r"""
[[group]]\nconnected = true\n[[group.transaction]]\nsteps = [{ op = "read", size = 3 }] | True | file
name = "other"\n[[group]]\n[[group.transaction]]\nsteps = [{ op = "read", size = 3 }] | True | other
transports = ["udp"]\n[datagrams] | True | file
group = 1\n[[sweep]]\nname = "x" | False | sweep: there is no such key; known: about
group = [ | False | this is not valid TOML: Invalid value (at end of document)
about = "x" | False | group: a workload has groups, or a datagrams table instead
"""


@pytest.mark.parametrize(("text", "looks", "says"), parts(FILES))
def test_files_of_workloads(text: str, looks: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_text(text.replace("\\n", "\n"))
    assert str(looks_like_workload(path)) == looks
    if looks == "True":
        workload = load_workload(path)
        assert (workload.name, workload.where) == (says, str(path))
        return
    with pytest.raises(ProfileError) as caught:
        load_workload(path)
    assert f"{path}: {says}" in str(caught.value)


def test_a_file_that_is_no_workload(folder: Path) -> None:
    for name, says in (("none", "cannot be read: No such file"), ("binary", "this is not a text file; a workload is")):
        assert not looks_like_workload(folder / name)
        with pytest.raises(ProfileError, match=f"{name}: {says}"):
            load_workload(folder / name)
