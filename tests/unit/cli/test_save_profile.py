"""`--save-profile`: the same experiment, as a file."""

import json
from pathlib import Path
from typing import Any

import pytest

from whyperf.cli import main

OWN = """
[workload]
name = "own"
[[workload.group]]
name = "a"
[[workload.group.transaction]]
name = "t"
steps = [{ op = "write", size = "=request_size_bytes" }, { op = "read", size = { file = "sizes" } }]
[fixed]
request_size_bytes = "2K"
"""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sizes").write_text("10\n")


def planned(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["run", *arguments, "--dry-run", "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.parametrize(
    "arguments",
    [
        ["-C", "cubic,reno", "-P", "1,4", "-t", "2", "--trials", "3", "--seed", "7"],
        ["rr", "--set", "request_size_bytes=1,64K", "--evidence", "segments"],
        ["-u", "-b", "10M,20M", "--set", "rtt_probe_ms=1s"],
        ["own.toml", "-P", "1,2"],
    ],
)
def test_the_file_makes_the_same_plan(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.toml").write_text(OWN)
    wanted = planned(capsys, *arguments, "--testbed", "loopback")
    assert main(["run", *arguments, "--testbed", "loopback", "--save-profile", "saved.toml"]) == 0
    streams = capsys.readouterr()
    assert streams.out == ""
    size = wanted["estimate"]["trials"]
    assert f"{size:,} trials; run it with `whyperf run ./saved.toml --testbed loopback`\n" in streams.err
    again = planned(capsys, "./saved.toml", "--testbed", "loopback")
    assert {key: again[key] for key in ("id", "cells", "blocks", "log_blocks", "seed")} == {
        key: wanted[key] for key in ("id", "cells", "blocks", "log_blocks", "seed")
    }


def test_a_part_of_a_profile_is_saved_as_its_cells(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["window-sweep", "--only", "window_bytes=4096,16K", "--only", "sweep=throughput", "--testbed", "veth"]
    assert main(["run", *arguments, "--save-profile", "saved.toml"]) == 0
    assert "128 cells" in capsys.readouterr().err
    wanted, again = (planned(capsys, *options) for options in (arguments, ["saved.toml", "--testbed", "veth"]))
    assert [cell["factors"] for cell in again["cells"]] == [cell["factors"] for cell in wanted["cells"]]


@pytest.mark.parametrize(
    ("file", "says"),
    [("saved", "a profile's name ends in .toml"), ("own.toml", "there is such a file; give another name")],
)
def test_names_that_cannot_be(file: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.toml").write_text(OWN)
    assert main(["run", "--testbed", "loopback", "--save-profile", file]) == 2
    assert says in capsys.readouterr().err
    assert Path("own.toml").read_text() == OWN
