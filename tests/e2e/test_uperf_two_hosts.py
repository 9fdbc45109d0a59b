"""A uperf profile whose groups connect to different far hosts: each host does its groups, and no other."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.e2e.conftest import Ours
from tests.e2e.far_host import SSHD, FarHost, far_host
from tests.unit.profile.uperf.uperf_profiles import APART
from whyperf.record import Experiment, read_table

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(not SSHD.exists() or shutil.which("ssh") is None, reason="needs ssh and sshd"),
]


@pytest.fixture
def far(tmp_path: Path, ours: Ours) -> Iterator[FarHost]:
    """A far host that is reached by ssh; it stands for both."""
    with far_host(tmp_path, ours.mark) as host:
        yield host


def test_each_far_host_has_its_groups_and_an_agent(
    far: FarHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "apart.xml").write_text(APART)
    monkeypatch.setenv("h1", "far")
    monkeypatch.setenv("h2", "closed")
    out = tmp_path / "results"
    done = far.command("run", "apart.xml", "--host", "far,far", "--no-report", "--out", out)
    # 1: on a busy host the short groups may not work at one time, so that the trial has no goodput. Its bytes count.
    assert done.status in {0, 1, 3}, done.out + done.err
    assert "far,far (--host) stand for far, closed, the profile's far hosts" in done.out + done.err
    experiment = Experiment.open(out)
    (manifest,) = experiment.trials().manifests.values()
    assert list(manifest.hosts) == ["near", "far", "near2", "far2"]
    rows = (
        read_table(experiment, "transactions").frame.group_by("host").agg(pl.col("sent_bytes", "received_bytes").sum())
    )
    moved = {host: (sent, received) for host, sent, received in rows.rows()}
    assert moved["near"] == (2 * 50 * 100, 2 * 50 * 200)
    assert moved["far"] == (2 * 50 * 200, 2 * 50 * 100)
    assert moved["near2"] == (30 * 1000, 0)
    assert moved["far2"] == (0, 30 * 1000)
