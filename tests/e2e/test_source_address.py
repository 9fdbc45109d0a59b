"""Connections come from the address that `-B` names, over every transport that takes one."""

from pathlib import Path

import polars as pl
import pytest

from tests.e2e.whyperf_command import whyperf

SOURCE = "127.0.0.9"


@pytest.mark.usefixtures("ours")
@pytest.mark.parametrize("more", ["", "-u -b 10M", "rr --set io_model=epoll"])
def test_the_far_host_sees_the_source_address(more: str, tmp_path: Path) -> None:
    result = tmp_path / "result"
    asked = (*more.split(), "--testbed", "loopback", "-B", SOURCE, "-O", "0.1", "-t", "0.2", "--out", result)
    done = whyperf("run", *asked, "--evidence", "user", folder=tmp_path)
    assert done.status == 0, done.err
    (table,) = result.glob("trials/*/flows.far.parquet")
    seen = pl.read_parquet(table)["remote_address"].unique().to_list()
    assert [address.rpartition(":")[0] for address in seen] == [SOURCE]


@pytest.mark.usefixtures("ours")
def test_an_address_of_another_host_is_refused_with_its_name(tmp_path: Path) -> None:
    done = whyperf("run", "--testbed", "loopback", "-B", "192.0.2.3", "-O", "0.1", "-t", "0.2", folder=tmp_path)
    assert done.status == 1
    assert "binding to 192.0.2.3" in done.err
