"""The shipped experiment `two-adapters`, small: one host, two adapters, two far hosts, as namespaces of a machine."""

import json
from pathlib import Path

import pytest

from tests.e2e.whyperf_command import whyperf

pytestmark = [pytest.mark.root]

#: Regions of 0.6 s.
SCALE = "0.15"
#: By the numbers of the flows: each adapter alone, both together; the same in reverse; all.
REGIONS = [["first"], ["second"], ["first with second", "second with first"]]
REVERSE = [["first back"], ["second back"], ["first back with second", "second back with first"]]
ALL = ["first of all", "second of all", "first back of all", "second back of all"]


def test_each_adapter_alone_and_both_together(tmp_path: Path) -> None:
    done = whyperf(
        *("run", "two-adapters", "--scale", SCALE, "--out", tmp_path / "two", "--json", "--no-report"),
        folder=tmp_path,
        timeout_s=120,
    )
    assert done.status == 0, done.err
    assert "slow start, recovery and convergence take as long as before" in done.err
    (cell,) = json.loads(done.out)["cells"]
    found = cell["transports"]
    names = {flow["flow"]: flow["name"] for flow in found["flows"]}
    regions = [[names[share["flow"]] for share in region["flows"]] for region in found["regions"]]
    assert regions == [*REGIONS, *REVERSE, ALL]
    moved = [region["goodput_bps"]["median"] for region in found["regions"]]
    assert all(rate > 1e6 for rate in moved)
    assert {flow["direction"] for flow in found["flows"] if "back" in flow["name"]} == {"receive"}
    # Nothing is left of the hosts.
    assert not list(Path("/run").glob("whyperf-adapters-*"))


def test_other_hosts_are_not_among_the_namespaces(tmp_path: Path) -> None:
    done = whyperf("run", "--via", "adapters", "--to", "db1", "--dry-run", folder=tmp_path)
    assert done.status != 0
    assert "--via adapters has the hosts adapter1, adapter2, far1, far2; " in done.err
