"""Namespaces of this machine as the hosts of a fleet: names, addresses and the way to them."""

import os
from pathlib import Path

import pytest

from whyperf.cli.inputs.fleet import AskedFleet, target_of
from whyperf.profile import find
from whyperf.run import adapters
from whyperf.run.adapters import ADDRESSES, folder, refuse_other_hosts
from whyperf.run.agents.pipes import by_name
from whyperf.run.errors import RunError


def test_each_adapter_has_a_network_of_its_own_with_its_far_host() -> None:
    networks = [
        {ADDRESSES[name].rsplit(".", 1)[0] for name in pair} for pair in (("adapter1", "far1"), ("adapter2", "far2"))
    ]
    assert [len(found) for found in networks] == [1, 1]
    assert networks[0] != networks[1]
    assert len(set(ADDRESSES.values())) == 4


def test_the_profile_reaches_its_hosts_without_options() -> None:
    asked = AskedFleet().with_defaults(find("two-adapters").fleet, None)
    target = target_of(asked, None, None, 0)
    assert target.fleet is not None
    assert (target.fleet.via, target.near, target.fleet.far) == ("adapters", ("adapter1", "adapter2"), ("far1", "far2"))
    assert target.fleet.addresses == dict(ADDRESSES)
    assert all("first" in name or "second" in name for part in target.fleet.parts for name in part)


def test_other_hosts_are_reached_in_another_way() -> None:
    asked = AskedFleet(near="a,b", to="c,d").with_defaults(find("two-adapters").fleet, None)
    assert asked.via is None
    with pytest.raises(
        RunError, match="--via adapters has the hosts adapter1, adapter2, far1, far2; db1 is none of them"
    ):
        refuse_other_hosts(["adapter1", "db1"])


def test_the_pipe_enters_the_namespace_of_this_process() -> None:
    kind = by_name("adapters")
    assert kind.command_line == ("nsenter", f"--net={folder()}/{{host}}", "--")
    assert str(os.getpid()) in str(folder())


def test_folders_of_processes_that_are_gone_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = tmp_path / f"whyperf-adapters-{os.getpid()}", tmp_path / f"whyperf-adapters-{os.getppid()}"
    gone, foreign = tmp_path / "whyperf-adapters-4194305", tmp_path / "whyperf-adapters-x"
    for path in (own, other, gone, foreign):
        path.mkdir()
    monkeypatch.setattr(adapters, "folder", lambda: own)
    adapters._remove_stale()
    assert sorted(tmp_path.iterdir()) == sorted([other, foreign])
