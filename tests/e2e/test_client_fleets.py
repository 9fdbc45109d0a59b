"""The shipped profiles of many client hosts: how many hosts they need, and a run on a rack of namespaces."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.whyperf_command import whyperf
from tests.fleet.rack import CONTROL, Rack, rack
from whyperf.record import Experiment

CLIENTS = [f"client{number}" for number in range(1, 6)]


@pytest.mark.parametrize(
    ("profile", "hosts", "connections"), [("five-clients", 5, "10"), ("fifteen-clients", 15, "30000")]
)
@pytest.mark.parametrize("options", [(), ("--testbed", "loopback"), ("server",)])
def test_without_hosts_one_sentence_says_what_to_do(
    tmp_path: Path, profile: str, hosts: int, connections: str, options: tuple[str, ...]
) -> None:
    done = whyperf("run", profile, *options, "--dry-run", folder=tmp_path)
    assert done.status == 2
    assert done.sentence == (
        f"whyperf: {profile} needs {hosts} hosts that load one: name them, as in `whyperf run {profile} --from "
        f"'client[1-{hosts}]' --to server`, or use one host for all connections, as in `whyperf run HOST "
        f"--connections {connections}`"
    )


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


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    """Five clients and a server."""
    with rack(tmp_path_factory.mktemp("clients"), [*CLIENTS, "server"]) as made:
        yield made


def run(hosts: Rack, clients: str, out: Path) -> tuple[str, Experiment]:
    """A short trial of `five-clients`, sending: what it prints on standard error, and its result."""
    netns = f"/proc/{hosts.pids[CONTROL]}/ns/net"
    short = ("--trials", "1", "--only", "direction=send", "--set", "warmup_s=0.1", "-t", "0.4", "--no-report")
    where = ("--from", clients, "--to", "server", "--hosts", hosts.inventory, "--via", hosts.enter, "--out", out)
    done = whyperf("run", "five-clients", *short, *where, folder=out.parent, netns=netns)
    assert done.status == 0, done.err
    return done.err, Experiment.open(out)


@pytest.mark.root
def test_five_clients_load_the_server_together(hosts: Rack, tmp_path: Path) -> None:
    said, result = run(hosts, "client[1-5]", tmp_path / "out")
    assert "near hosts" not in said
    assert [tuple(pair) for pair in result.plan.pairs] == [(client, "server") for client in CLIENTS]
    (manifest,) = result.trials().manifests.values()
    near = [end for name, end in manifest.hosts.items() if name.startswith("near")]
    assert [end.spec["connections_count"] for end in near] == [2] * 5
    assert all((end.payload_bytes or 0) > 0 for end in manifest.hosts.values())


@pytest.mark.root
def test_another_number_of_clients_is_measured_and_reported(hosts: Rack, tmp_path: Path) -> None:
    said, result = run(hosts, "client[1-2]", tmp_path / "out")
    assert "five-clients is about 5 near hosts; this run has 2" in said
    assert len(result.plan.pairs) == 2
