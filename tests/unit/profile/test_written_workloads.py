"""Workloads and their values in every form: what they become in a cell, or what is said of them."""
# ruff: noqa: E501 - a case is a line.

import copy
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.unit.snapshots import Snapshots, outcome
from whyperf.profile import ProfileError, shipped_workload, shipped_workload_names
from whyperf.profile.factors import FACTORS, Level
from whyperf.profile.workload import has_exchange, least_seconds, load_workload, read_workload, ready
from whyperf.profile.workload.read import looks_like_workload
from whyperf.profile.workload.sizes import size_value
from whyperf.profile.workload.values import (
    Value,
    count_of,
    lines_of,
    rate_bps,
    rate_per_s,
    size_bytes,
    switch,
    time_ns,
    word_of,
)

SNAPSHOTS = Snapshots(Path(__file__).with_suffix(".json"))
CELL: dict[str, Level] = {factor.name: factor.default for factor in FACTORS} | {
    "connections": 3,
    "write_size_bytes": 4096,
    "offered_rate_per_s": 250.0,
    "think_us": 20,
    "write_rate_bps": 5_000_000,
    "window_bytes": "default",
}
WRITTEN = (
    *(0, 1, -1, 64, 2**30, 2**30 + 1, 2**32 - 1, 2**32, 1.5, 0.001, 0.0009, 1e9, 1.1e9, True, False, None, [1], ""),
    *(
        "64",
        "64K",
        "64k",
        "1.5K",
        "1.5M",
        "1.3",
        "2G",
        "1GiB",
        "4 KB",
        "4bytes",
        "10 ms",
        "10ms",
        "10 MS",
        "1.5us",
        "3 h",
        "8 d",
        "168h",
        "169h",
        "1s",
        "7 µs",
        "0 ns",
        "1 ns",
    ),
    *(
        "100M",
        "20K",
        "1.5",
        "1.5G",
        "poisson",
        "poison",
        "auto",
        "=write_size_bytes",
        "=connections",
        "=think_us",
        "=offered_rate_per_s",
    ),
    *(
        "=write_rate_bps",
        "=no_delay",
        "=arrivals",
        "=window_bytes",
        "=duration_s",
        "=bogus",
        "=write_size",
        "=mtu_bytes",
    ),
)
READERS: Mapping[str, Callable[[object], Value]] = {
    "size": lambda written: size_bytes("k", written),
    "small size": lambda written: size_bytes("k", written, largest=1000),
    "count": lambda written: count_of("k", written),
    "small count": lambda written: count_of("k", written, low=0, high=64),
    "time": lambda written: time_ns("k", written),
    "positive time": lambda written: time_ns("k", written, low=1),
    "rate in bit/s": lambda written: rate_bps("k", written),
    "rate": lambda written: rate_per_s("k", written),
    "switch": lambda written: switch("k", written),
    "word": lambda written: word_of("k", written, ("closed", "constant", "poisson")),
}


def in_cell(read: Callable[[], Value]) -> object:
    """The value in a cell, and what it uses."""
    value = read()
    return [value.of(CELL), *sorted(value.uses)]


@pytest.mark.parametrize("name", READERS)
def test_values(name: str) -> None:
    def value(written: object) -> object:
        return in_cell(partial(READERS[name], written))

    SNAPSHOTS.check(name, {str(written): outcome(partial(value, written), ProfileError) for written in WRITTEN})


SIZES: tuple[Any, ...] = (
    *(64, "64K", "=write_size_bytes", [1], None, {}, {"low": 1}, {"low": 1, "high": 9}, {"low": 9, "high": 1}),
    *(
        {"low": 5, "high": 5},
        {"low": "1K", "high": "=write_size_bytes"},
        {"low": 1, "high": 2, "x": 3},
        {"weighted": []},
    ),
    *(
        {"weighted": [[64, 9], ["1K", 1]]},
        {"weighted": [[64]]},
        {"weighted": [64, 9]},
        {"weighted": 3},
        {"weighted": [[64, 0]]},
    ),
    *({"weighted": [[64, True]]}, {"weighted": [[64, 2**32 - 1]]}, {"weighted": [[64, 2**32 - 2], [65, 1]]}),
    *({"weighted": [[64, 2**32 - 1], [65, 1]]}, {"weighted": [[64, 2**32]]}, {"weighted": [["=write_size_bytes", 2]]}),
    *(
        {"sequence": []},
        {"sequence": 3},
        {"sequence": [100, "1K"]},
        {"sequence": [0]},
        {"sequence": ["=write_size_bytes", 2]},
    ),
    *({"file": 3}, {"file": "sizes.txt"}, {"file": "weights.txt"}, {"file": "mixed.txt"}, {"file": "empty.txt"}),
    *({"file": "bytes.txt"}, {"file": "none.txt"}, {"file": "words.txt"}, {"file": "three.txt"}, {"file": "."}),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of values."""
    (tmp_path / "sizes.txt").write_text("# sizes\n100\n1K # large\n\n64\n")
    (tmp_path / "weights.txt").write_text("100 3\n1K 1\n")
    (tmp_path / "mixed.txt").write_text("100 3\n1K\n")
    (tmp_path / "empty.txt").write_text("# nothing\n")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\n")
    (tmp_path / "words.txt").write_text("100 x\n")
    (tmp_path / "three.txt").write_text("1 2 3\n")
    (tmp_path / "instants.txt").write_text("0\n0.5\n0.5\n1.25\n")
    (tmp_path / "back.txt").write_text("0.5\n0.4\n")
    (tmp_path / "long.txt").write_text("0\n604800\n")
    (tmp_path / "longer.txt").write_text("604800.1\n")
    (tmp_path / "word.txt").write_text("soon\n")
    (tmp_path / "inf.txt").write_text("inf\n")
    monkeypatch.chdir(tmp_path)
    return Path()


def test_sizes(folder: Path) -> None:
    def value(written: object) -> object:
        return in_cell(lambda: size_value("k", written, folder))

    SNAPSHOTS.check("sizes", {str(written): outcome(partial(value, written), ProfileError) for written in SIZES})


def test_lines(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines_of("k", "weights.txt", None) == [["100", "3"], ["1K", "1"]]
    monkeypatch.setattr("whyperf.profile.workload.values.MAX_LINES", 2)
    assert len(lines_of("k", "weights.txt", folder)) == 2
    with pytest.raises(ProfileError, match=r"sizes.txt has over 2 lines; shorten it"):
        lines_of("k", "sizes.txt", folder)


WRITE = {"op": "write", "size": 100}
READ = {"op": "read", "size": "1K"}
THINK = {"op": "think", "time": "2 ms"}
PLAIN: dict[str, Any] = {"group": [{"transaction": [{"name": "ask", "steps": [WRITE, READ]}]}]}

#: What replaces parts of `PLAIN`: of the workload, the group, the transaction.
CHANGES: Mapping[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}, {}),
    "steps of all kinds": (
        {},
        {"connected": False},
        {
            "steps": [
                {"op": "connect", "connection": 2},
                {"op": "accept", "connection": 3, "can_fail": True},
                {"op": "send", "size": {"low": 1, "high": 9}, "connection": 2, "call": "1K"},
                {"op": "recv", "size": 5, "connection": 3, "timeout": "1 s", "count": 4},
                {**THINK, "busy": True, "mirrored": True, "count": "=connections"},
                {"op": "disconnect", "connection": 2},
                {"op": "disconnect", "connection": 3},
            ]
        },
    ),
    "a file is sent": ({}, {}, {"steps": [{"op": "sendfile", "files": ["sizes.txt"], "call": 8}]}),
    "a file that is not there": ({}, {}, {"steps": [{"op": "sendfile", "files": ["bogus.txt"]}]}),
    "no file": ({}, {}, {"steps": [{"op": "sendfile", "files": []}]}),
    "no size": ({}, {}, {"steps": [{"op": "write"}]}),
    "a key of another operation": ({}, {}, {"steps": [{**WRITE, "time": "1 s"}]}),
    "an unknown operation": ({}, {}, {"steps": [{"op": "wirte", "size": 1}]}),
    "an unknown key": ({"grup": 1}, {"strand": 2}, {"step": []}),
    "no step": ({}, {}, {"steps": []}),
    "a wrong name": ({"name": "Own_"}, {"name": "a b"}, {"name": "_x"}),
    "names": ({"name": "own-2", "about": " two\n words "}, {"name": "clients"}, {"name": "ask_2"}),
    "a wrong type": ({"about": 3}, {"connected": "yes"}, {"steps": [{"op": "write", "size": 1, "connection": -1}]}),
    "most connections": (
        {},
        {"connected": False},
        {"steps": [{"op": "connect", "connection": 65535}], "iterations": 1},
    ),
    "over most connections": ({}, {}, {"steps": [{"op": "connect", "connection": 65536}]}),
    "a pause alone": ({}, {}, {"steps": [THINK]}),
    "a pause of no length": ({}, {}, {"steps": [{"op": "think", "time": "0 s"}, WRITE]}),
    "only a pause of no length": ({}, {}, {"steps": [{"op": "think", "time": "0 s"}]}),
    "nothing that takes time": ({}, {}, {"steps": [{"op": "disconnect"}]}),
    "nothing that takes time, once": ({}, {}, {"steps": [{"op": "disconnect"}], "iterations": 1}),
    "disconnects twice": ({}, {}, {"steps": [{"op": "disconnect"}], "iterations": 2}),
    "connects what is open": ({}, {}, {"steps": [{"op": "connect"}], "iterations": 1}),
    "connects again and again": ({}, {"connected": False}, {"steps": [{"op": "connect"}], "iterations": 2}),
    "connects once": ({}, {"connected": False}, {"steps": [{"op": "connect"}], "iterations": 1}),
    "not connected": ({}, {"connected": False}, {}),
    "iterations": ({}, {}, {"iterations": 10}),
    "no iterations": ({}, {}, {"iterations": 0}),
    "iterations below 0": ({}, {}, {"iterations": -1}),
    "a duration": ({}, {}, {"duration": "3 s"}),
    "no duration": ({}, {}, {"duration": "0 s"}),
    "both": ({}, {}, {"duration": "3 s", "iterations": 2}),
    "a rate": ({}, {}, {"rate_per_s": 1.5}),
    "a constant rate": ({}, {}, {"rate_per_s": "20K", "arrivals": "constant"}),
    "a factor's rate": ({}, {}, {"rate_per_s": "=offered_rate_per_s", "arrivals": "=arrivals"}),
    "a closed loop": ({}, {}, {"arrivals": "closed"}),
    "a closed loop with a rate": ({}, {}, {"rate_per_s": 2, "arrivals": "closed"}),
    "an open loop without a rate": ({}, {}, {"arrivals": "poisson"}),
    "a factor's rate in a closed loop": ({}, {}, {"rate_per_s": "=offered_rate_per_s", "arrivals": "closed"}),
    "a trace": ({}, {}, {"arrivals": {"file": "instants.txt"}}),
    "a trace with a rate": ({}, {}, {"arrivals": {"file": "instants.txt"}, "rate_per_s": 3}),
    "a trace that goes back": ({}, {}, {"arrivals": {"file": "back.txt"}}),
    "the longest trace": ({}, {}, {"arrivals": {"file": "long.txt"}}),
    "a longer trace": ({}, {}, {"arrivals": {"file": "longer.txt"}}),
    "a trace of words": ({}, {}, {"arrivals": {"file": "word.txt"}}),
    "a trace without end": ({}, {}, {"arrivals": {"file": "inf.txt"}}),
    "no trace": ({}, {}, {"arrivals": {"fil": "instants.txt"}}),
    "a trace by number": ({}, {}, {"arrivals": {"file": 3}}),
    "ahead": ({}, {}, {"outstanding": 8}),
    "ahead with a pause": ({}, {}, {"outstanding": 2, "steps": [WRITE, THINK]}),
    "one at a time with a pause": ({}, {}, {"outstanding": 1, "steps": [WRITE, THINK]}),
    "too far ahead": ({}, {}, {"outstanding": 65537}),
    "as far ahead as can be": ({}, {}, {"outstanding": 65536}),
    "no users": ({}, {"strands": 0}, {}),
    "too many users": ({}, {"strands": 200_001}, {}),
    "a group without transactions": ({}, {"transaction": []}, {}),
    "a group that does nothing": ({}, {"transaction": [], "connected": False}, {}),
    "no group": ({"group": []}, {}, {}),
    "datagrams": ({"group": [], "datagrams": {}, "transports": ["udp", "quic"]}, {}, {}),
    "datagrams of own values": (
        {"group": [], "datagrams": {"size": 1000, "batch": 9, "rate_bps": "1M", "merge": True}, "transports": ["udp"]},
        {},
        {},
    ),
    "the largest datagrams": ({"group": [], "datagrams": {"size": 65507, "batch": 128}, "transports": ["udp"]}, {}, {}),
    "larger datagrams": ({"group": [], "datagrams": {"size": 65508}, "transports": ["udp"]}, {}, {}),
    "too many datagrams at once": ({"group": [], "datagrams": {"batch": 129}, "transports": ["udp"]}, {}, {}),
    "datagrams over tcp": ({"group": [], "datagrams": {}}, {}, {}),
    "groups and datagrams": ({"datagrams": {}}, {}, {}),
    "an unknown key of datagrams": ({"group": [], "datagrams": {"sise": 3}, "transports": ["udp"]}, {}, {}),
    "groups over srt": ({"transports": ["tcp", "srt"]}, {}, {}),
    "an unknown transport": ({"transports": ["tpc"]}, {}, {}),
    "no transport": ({"transports": []}, {}, {}),
    "defaults": ({"defaults": {"no_delay": True, "read_size_bytes": "=write_size_bytes"}}, {}, {}),
    "a default of itself": ({"defaults": {"workload": "rr"}}, {}, {}),
    "wrong defaults": ({"defaults": {"no_delay": 7, "bogus": 1}}, {"strands": "x"}, {}),
    "a wrong metric": ({"metric": "goodputs"}, {}, {}),
}


def changed(name: str) -> dict[str, Any]:
    """A workload as written."""
    of_workload, of_group, of_transaction = CHANGES[name]
    written = copy.deepcopy(PLAIN)
    written["group"][0]["transaction"][0] |= of_transaction
    written["group"][0] |= of_group
    return written | of_workload


def described(written: Mapping[str, Any], folder: Path) -> object:
    """What a workload says of itself, and what it becomes."""
    workload = read_workload(written, folder=folder, name="own")
    document = workload.document(CELL)
    timed = None if document is None else [least_seconds(document), has_exchange(document)]
    own = [workload.name, workload.about, workload.metric, workload.transports, workload.defaults, workload.load]
    return [*own, sorted(workload.uses), workload.ends_itself, document, workload.datagrams(CELL), timed]


@pytest.mark.parametrize("name", CHANGES)
def test_workloads(name: str, folder: Path) -> None:
    here = str(folder.absolute())
    made = outcome(lambda: described(changed(name), folder), ProfileError)
    if name == "a file is sent":
        assert (
            made[8]["groups"][0]["transactions"][0]["steps"][0]["operation"]["files"][0]["path"] == f"{here}/sizes.txt"
        )
        made[8] = None
    if isinstance(made, str):
        made = made.replace(here, "HERE")
    SNAPSHOTS.check(f"workload: {name}", made)


def test_several_groups_and_transactions(folder: Path) -> None:
    ask = {"name": "ask", "steps": [WRITE], "iterations": 2}
    wait = {"name": "wait", "steps": [THINK, {"op": "think", "time": "1 s", "count": 3}], "iterations": 3}
    long = {"name": "long", "steps": [READ], "duration": "2 s"}
    groups: list[dict[str, Any]] = [
        {"name": "a", "transaction": [ask, wait]},
        {"name": "b", "transaction": [long, ask], "strands": 2},
    ]
    cases: dict[str, Any] = {
        "two groups": {"group": groups},
        "a group twice": {"group": [groups[0], groups[0]]},
        "a transaction twice": {"group": [{"transaction": [ask, ask]}]},
        "one goes on": {"group": [groups[0], {"name": "c", "transaction": [{"steps": [WRITE]}]}]},
        "one without users": {"group": [groups[0], {**groups[1], "strands": 0}]},
        "one that is only open": {"group": [groups[0], {"name": "idle"}]},
        "a second that is wrong": {
            "group": [groups[0], {"name": "x", "transaction": [ask, {"steps": [WRITE, {"op": "read", "siz": 3}]}]}]
        },
        "a third step that is wrong": {
            "group": [{"transaction": [{"steps": [WRITE, READ, {"op": "read", "size": "x"}]}]}]
        },
        "no table": {"group": [3, {"name": 5, "transaction": [7]}]},
    }
    found = {name: outcome(partial(described, written, folder), ProfileError) for name, written in cases.items()}
    SNAPSHOTS.check("several", found)


@pytest.mark.parametrize("name", shipped_workload_names())
def test_shipped_workloads(name: str) -> None:
    workload = shipped_workload(name)
    found = [workload.about, workload.metric, workload.transports, workload.defaults, sorted(workload.uses)]
    document = outcome(lambda: workload.document(CELL), ProfileError)
    SNAPSHOTS.check(f"shipped: {name}", [*found, workload.ends_itself, document, workload.datagrams(CELL)])


def test_files_of_workloads(folder: Path) -> None:
    texts = {
        "group": '[[group]]\n[[group.transaction]]\nsteps = [{ op = "read", size = 3 }]\n',
        "sweep": 'group = 1\n[[sweep]]\nname = "x"\n',
        "named": 'name = "other"\n[[group]]\nconnected = 3\n[[group.transaction]]\nsteps = [{ op = "read", size = 3 }]\n',
        "datagrams": 'transports = ["udp"]\n[datagrams]\n',
        "broken": "group = [",
        "nothing": "about = 'x'\n",
    }
    found: dict[str, object] = {}
    for name, text in texts.items():
        path = folder / f"{name}.toml"
        path.write_text(text)
        found[name] = [looks_like_workload(path), outcome(lambda path=path: load_workload(path).name, ProfileError)]
    for path in (folder / "none.toml", folder / "bytes.txt"):
        found[path.name] = [
            looks_like_workload(path),
            outcome(lambda path=path: load_workload(path).name, ProfileError),
        ]
    SNAPSHOTS.check("files", found)


def test_a_workload_made_elsewhere() -> None:
    document = read_workload(changed("iterations")).document(CELL)
    assert document is not None
    made = ready(document, about="x", metric="goodput", transport="udp")
    assert (made.name, made.ends_itself, made.transports, made.document({})) == ("own", True, ("udp",), document)
    document = read_workload(changed("plain")).document(CELL)
    assert document is not None
    assert not ready(document, about="x", metric="goodput", transport="udp", name="y").ends_itself
