"""Connections come from the address that `-B` names, over every transport that takes one."""

import json
import subprocess
from pathlib import Path

import polars as pl
import pytest

from tests.e2e.whyperf_command import argv

SOURCE = "127.0.0.9"


@pytest.mark.usefixtures("ours")
@pytest.mark.parametrize("more", ["", "-u -b 10M", "rr --set io_model=epoll"])
def test_the_far_host_sees_the_source_address(more: str, tmp_path: Path) -> None:
    result = tmp_path / "result"
    command = argv(
        "run", *more.split(), "--testbed", "loopback", "-B", SOURCE, "-O", "0.1", "-t", "0.3", "--out", result
    )
    done = subprocess.run([*command, "--evidence", "user", "--json"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cells"][0]["goodput_bps"]["median"] > 0
    (table,) = result.glob("trials/*/flows.far.parquet")
    seen = pl.read_parquet(table)["remote_address"].unique().to_list()
    assert [address.rpartition(":")[0] for address in seen] == [SOURCE]


@pytest.mark.usefixtures("ours")
def test_an_address_of_another_host_is_refused_with_its_name(tmp_path: Path) -> None:
    command = argv("run", "--testbed", "loopback", "-B", "192.0.2.3", "-t", "0.3", "--out", tmp_path / "result")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "binding to 192.0.2.3" in done.stderr
