"""Fleets: sets of hosts that load each other at the same time, on hosts of a rack of network namespaces."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.far_host import SSHD
from tests.e2e.whyperf_command import Done, argv, whyperf
from tests.fleet.rack import CONTROL, Rack, rack
from whyperf.record import Experiment, Manifest, read_table

pytestmark = [pytest.mark.root]

NAMES = [f"node{number}" for number in range(1, 5)]
SHORT = ("--set", "warmup_s=0.1", "-t", "0.4")
#: How long a run may take until it measures; loading its libraries takes most of it.
MEASURES_WITHIN_S = 60
#: Clients that ask, and one that writes.
MIXED = Path(__file__).parents[1] / "fleet" / "mixed.toml"


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    """Four hosts that answer to `--via`."""
    with rack(tmp_path_factory.mktemp("rack"), NAMES) as made:
        yield made


def run(hosts: Rack, *arguments: object, out: Path, via: str | None = None) -> Done:
    """`whyperf run …` on the host of the controller."""
    netns = f"/proc/{hosts.pids[CONTROL]}/ns/net"
    options = ("--hosts", hosts.inventory, "--via", via or hosts.enter, "--out", out, "--no-report")
    return whyperf("run", *arguments, *options, folder=out.parent, netns=netns)


def only_trial(out: Path) -> Manifest:
    """The manifest of the only trial recorded."""
    trials = Experiment.open(out).trials()
    assert trials.damaged == []
    (manifest,) = trials.manifests.values()
    return manifest


def bytes_of(out: Path, label: str) -> int:
    """Payload that an end moved, from open to close."""
    frame = read_table(Experiment.open(out), "flows", trials=Experiment.open(out).trials().manifests).frame
    return int(frame.filter(frame["host"] == label)["payload_bytes"].sum())


def test_all_to_one_moves_the_same_bytes_at_both_hosts_of_each_pair(hosts: Rack, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(hosts, "--from", "node[1-3]", "--to", "node4", *SHORT, "--json", out=out)
    assert done.status == 0, done.err
    plan = Experiment.open(out).plan
    assert [tuple(pair) for pair in plan.pairs] == [(f"node{number}", "node4") for number in (1, 2, 3)]
    assert plan.fleet is not None
    assert plan.fleet.pattern == "fan-in"
    manifest = only_trial(out)
    assert set(manifest.hosts) == {"near", "far", "near2", "far2", "near3", "far3"}
    for near, far in (("near", "far"), ("near2", "far2"), ("near3", "far3")):
        assert bytes_of(out, near) == bytes_of(out, far) > 0
    (cell,) = json.loads(done.out)["cells"]
    assert cell["goodput_bps"]["median"] > 0


@pytest.mark.slow
def test_a_mesh_has_each_pair_of_different_hosts(hosts: Rack, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(hosts, "--from", "node[1-3]", "--to", "node[1-3]", "--pattern", "mesh", *SHORT, out=out)
    assert done.status == 0, done.err
    assert len(only_trial(out).hosts) == 12
    assert len({tuple(pair) for pair in Experiment.open(out).plan.pairs}) == 6


def test_hosts_do_what_the_profile_gives_their_set(hosts: Rack, tmp_path: Path) -> None:
    profile, out = tmp_path / "mixed.toml", tmp_path / "out"
    profile.write_text(MIXED.read_text())
    done = run(hosts, profile, out=out)
    assert done.status == 0, done.err
    specs = {label: end.spec for label, end in only_trial(out).hosts.items()}
    groups = {label: [group["name"] for group in spec["workload"]["groups"]] for label, spec in specs.items()}
    assert groups == {"near": ["web"], "far": ["web"], "near2": ["web"], "far2": ["web"], "near3": ["backup"]} | {
        "far3": ["backup"]
    }


def test_a_load_that_no_group_has_is_refused(hosts: Rack, tmp_path: Path) -> None:
    profile, out = tmp_path / "mixed.toml", tmp_path / "out"
    profile.write_text(MIXED.read_text().replace('["backup"] }', '["bakcup"] }'))
    done = run(hosts, profile, out=out)
    assert (done.status, done.sentence) == (
        2,
        f"whyperf: {profile}: fleet.loads: cell c0001 has no group or flow bakcup; did you mean backup?",
    )
    assert not out.exists()


def test_a_host_that_does_not_answer_is_named_and_the_others_measure(hosts: Rack, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(hosts, "--from", "node[1-2],node9", "--to", "node4", *SHORT, out=out)
    assert done.status == 3, done.err
    (lost,) = only_trial(out).lost_pairs
    assert (lost.near, lost.far) == ("node9", "node4")
    assert "node9" in lost.reason
    assert "1 pair of hosts took no part in 1 trial" in done.err + done.out
    assert "node9 → node4" in done.err + done.out


@pytest.mark.slow
def test_the_same_command_resumes(hosts: Rack, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ("--from", "node[1-2]", "--to", "node[3-4]", *SHORT, "--trials", "2")
    assert run(hosts, *arguments, out=out).status == 0
    shutil.rmtree(out / "trials" / "002-c0001")
    done = run(hosts, *arguments, out=out)
    assert done.status == 0
    assert "has 1 of 2 trials; 1 to go" in done.err
    assert sorted(Experiment.open(out).trials().manifests) == ["001-c0001", "002-c0001"]


@pytest.mark.slow
@pytest.mark.skipif(not SSHD.exists() or shutil.which("ssh") is None, reason="needs sshd and ssh")
@pytest.mark.parametrize("victim", ["agent", "host"])
def test_a_pair_that_is_lost_does_not_end_the_others(victim: str, tmp_path: Path) -> None:
    folder, out = tmp_path / "rack", tmp_path / "out"
    folder.mkdir()
    with rack(folder, NAMES, with_sshd=True) as hosts:
        arguments = ("run", "--from", "node[1-3]", "--to", "node4", "-t", "2", "--hosts", hosts.inventory, "--out", out)
        command = ["env", *(f"{name}={value}" for name, value in hosts.environment.items())]
        command += argv(*arguments, "--no-report")
        started = subprocess.Popen(
            hosts.inside(CONTROL, *command), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        end = time.monotonic() + MEASURES_WITHIN_S
        while not list(out.glob("trials/.*/*.parquet")) and not _load_runs(hosts):
            assert time.monotonic() < end
            assert started.poll() is None, started.stderr
            time.sleep(0.05)
        if victim == "host":
            hosts.kill_host("node2")
        else:
            for process in hosts.processes_of("node2"):
                if "agent" in Path(f"/proc/{process}/comm").read_text():
                    os.kill(process, signal.SIGKILL)
        _, said = started.communicate(timeout=120)
    assert "node2 → node4 is lost, the others go on" in said
    manifests = Experiment.open(out).trials().manifests
    (manifest,) = manifests.values()
    assert manifest.status == "complete"
    assert {"near", "far", "near3", "far3"} <= set(manifest.hosts)
    if victim == "host":
        # It did not come back: the trial is that of the others.
        assert started.returncode == 3
        assert [(lost.near, lost.far) for lost in manifest.lost_pairs] == [("node2", "node4")]
        assert "near2" not in manifest.hosts
    else:
        # The host answers again: the trial was set aside, and made once more with all.
        assert started.returncode == 0, said
        assert "void: the pair node2 → node4 was lost, and its hosts answer again" in said
        assert manifest.lost_pairs == []


def _load_runs(hosts: Rack) -> bool:
    """Whether the device of a near host has sent some megabytes."""
    text = Path(f"/proc/{hosts.pids['node2']}/net/dev").read_text()
    line = next(line for line in text.splitlines() if "eth0" in line)
    return int(line.split(":")[1].split()[8]) > 20_000_000
