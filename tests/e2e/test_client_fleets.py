"""The shipped profiles of many client hosts: how many hosts they need, and a run on a rack of namespaces."""

import json
from pathlib import Path

import pytest

from tests.e2e.whyperf_command import whyperf
from tests.fleet.rack import CONTROL, rack
from whyperf.record import Experiment

CLIENTS = [f"client{number}" for number in range(1, 6)]


def test_fifteen_clients_open_2000_connections_each_in_both_directions(tmp_path: Path) -> None:
    asked = ("--from", "client[1-15]", "--to", "server", "--via", "false {host}", "--dry-run", "--json")
    done = whyperf("run", "fifteen-clients", *asked, folder=tmp_path)
    assert done.status == 0, done.err
    plan = json.loads(done.out)
    assert len(set(plan["near"])) == 15
    assert [(cell["factors"]["direction"], cell["factors"]["connections"]) for cell in plan["cells"]] == [
        ("receive", 2000),
        ("send", 2000),
    ]


def test_another_number_of_clients_is_reported(tmp_path: Path) -> None:
    asked = ("--from", "client[1-2]", "--to", "server", "--via", "false {host}", "--dry-run")
    done = whyperf("run", "five-clients", *asked, folder=tmp_path)
    assert "five-clients is about 5 near hosts; this run has 2" in done.err + done.out


@pytest.mark.root
@pytest.mark.paced
def test_five_clients_load_the_server_together(tmp_path: Path) -> None:
    out = tmp_path / "out"
    short = ("--trials", "1", "--only", "direction=send", "--set", "warmup_s=0.1", "-t", "0.5", "--no-report")
    with rack(tmp_path, [*CLIENTS, "server"]) as hosts:
        where = ("--from", "client[1-5]", "--to", "server", "--hosts", hosts.inventory, "--via", hosts.enter)
        netns = f"/proc/{hosts.pids[CONTROL]}/ns/net"
        done = whyperf("run", "five-clients", *short, *where, "--out", out, folder=tmp_path, netns=netns)
    assert done.status == 0, done.err
    assert "near hosts" not in done.err
    result = Experiment.open(out)
    assert [tuple(pair) for pair in result.plan.pairs] == [(client, "server") for client in CLIENTS]
    (manifest,) = result.trials().manifests.values()
    near = [end for name, end in manifest.hosts.items() if name.startswith("near")]
    assert [end.spec["connections_count"] for end in near] == [2] * 5
    assert all((end.payload_bytes or 0) > 0 for end in manifest.hosts.values())
