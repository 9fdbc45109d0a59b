"""Several near agents load the far host together: every byte is there, and they began together."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.e2e.whyperf_command import Done, whyperf
from whyperf.record import Experiment, read_table

pytestmark = [pytest.mark.root]


def run(folder: Path, *options: object) -> Done:
    """`whyperf run` from three near agents."""
    options = (*options, "--from", "local,local,local", "--no-report", "--out", folder / "out")
    return whyperf("run", *options, folder=folder)


def test_three_agents_count_as_one_end(tmp_path: Path) -> None:
    done = run(tmp_path, "-t", "0.3", "-P", "2", "--set", "warmup_s=0.2", "--json")
    assert done.status in {0, 3}, done.err
    (cell,) = json.loads(done.out)["cells"]
    experiment = Experiment.open(tmp_path / "out")
    (manifest,) = experiment.trials().manifests.values()
    assert list(manifest.hosts) == ["near", "far", "near2", "far2", "near3", "far3"]
    # Every pair's far agent read what its near agent wrote.
    for near, far in (("near", "far"), ("near2", "far2"), ("near3", "far3")):
        assert manifest.hosts[near].payload_bytes == manifest.hosts[far].payload_bytes != 0
    flows = read_table(experiment, "flows").frame
    assert len(flows) == 2 * 3 * 2
    # The connections share the path: each has its part, and the whole is their sum.
    assert cell["connections"]["min_bps"] < cell["goodput_bps"]["median"] / 3
    assert cell["start"]["agents"] == 3
    # On one machine all agents read the same clock.
    assert cell["start"]["uncertainty_s"] == 0
    sends = flows.filter(pl.col("role") == "sender").group_by("host").agg(pl.col("first_call_mono_ns").min())
    first = [int(value) for value in sends["first_call_mono_ns"]]
    assert cell["start"]["skew_s"] == pytest.approx((max(first) - min(first)) / 1e9)


def test_a_far_host_is_named_for_near_hosts_elsewhere(tmp_path: Path) -> None:
    done = whyperf("run", "--from", "local,host7", folder=tmp_path)
    assert done.status == 2
    assert "host7" in done.sentence
    assert "--host" in done.sentence
    done = whyperf("run", "--from", "local,", folder=tmp_path)
    assert done.status == 2
    assert "--from" in done.sentence
