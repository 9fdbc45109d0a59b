"""Network namespaces that the user made: measured by their names, with the output of a single pair of hosts."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.whyperf_command import whyperf

pytestmark = pytest.mark.root

NEAR, FAR = "whyperf-test-near", "whyperf-test-far"
ADDRESS = "198.18.7.2"


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture(scope="module")
def _namespaces() -> Iterator[None]:
    """Two namespaces with a veth pair between them."""
    try:
        for name in (NEAR, FAR):
            ip("netns", "add", name)
        ip("-n", NEAR, "link", "add", "near0", "type", "veth", "peer", "name", "far0", "netns", FAR)
        for name, device, address in ((NEAR, "near0", "198.18.7.1"), (FAR, "far0", ADDRESS)):
            ip("-n", name, "address", "add", f"{address}/24", "dev", device)
            ip("-n", name, "link", "set", device, "up")
        yield
    finally:
        for name in (NEAR, FAR):
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


@pytest.mark.usefixtures("_namespaces")
@pytest.mark.parametrize(
    "where",
    [
        ("--netns", f"{NEAR}:{FAR}"),
        (FAR, "--from", NEAR, "--via", "ip netns exec {host}", "--address", ADDRESS),
    ],
)
def test_two_namespaces_are_measured_as_two_hosts_are(where: tuple[str, ...], tmp_path: Path) -> None:
    options = ("-t", "0.5", "--set", "warmup_s=0", "-i", "0.2", "--no-report", "--out", tmp_path / "result")
    done = whyperf("run", *where, *options, folder=tmp_path)
    assert done.status == 0, done.err
    names = [line.split("  ")[0].strip() for line in done.out.splitlines()]
    assert {"Goodput", "CPU sender", "CPU receiver", "Window", "Retransmitted"} <= set(names)
    # A busy host's samples come later than asked for.
    assert len(re.findall(r"^ +0\.\d\d-0\.\d\d ", done.out, re.MULTILINE)) >= 2
    plan = json.loads((tmp_path / "result" / "plan.json").read_text())
    assert (plan["near"], plan["target"]) == ([NEAR], FAR)
    assert plan["cells"][0]["factors"]["congestion_control"] == "cubic"
    shown = whyperf("show", tmp_path / "result", "--json", folder=tmp_path)
    (cell,) = json.loads(shown.out)["cells"]
    assert cell["fleet"] is None
    assert cell["cpu"]["sender"]["exclusive"] is True


@pytest.mark.usefixtures("_namespaces")
@pytest.mark.parametrize("named", [(ADDRESS,), ("stream", ADDRESS)])
def test_an_address_of_a_namespace_is_measured_there_without_ssh(named: tuple[str, ...], tmp_path: Path) -> None:
    options = ("-t", "0.3", "--set", "warmup_s=0", "--no-report", "--out", tmp_path / "result")
    done = whyperf("run", *named, *options, folder=tmp_path, before=("ip", "netns", "exec", NEAR))
    assert done.status == 0, done.err
    assert f"{ADDRESS} is in the network namespace {FAR} of this host: measured there without ssh" in done.err
    assert json.loads((tmp_path / "result" / "plan.json").read_text())["target"] == FAR


@pytest.mark.usefixtures("_namespaces")
def test_a_namespace_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = whyperf("run", "--netns", f"{NEAR}:nosuch", "-t", "0.2", "--out", tmp_path / "result", folder=tmp_path)
    assert done.status == 2
    assert "there is no network namespace nosuch on this machine; `ip netns list` names them" in done.err
    ip("-n", FAR, "address", "add", "198.18.8.2/24", "dev", "far0")
    done = whyperf("run", "--netns", f"{NEAR}:{FAR}", "-t", "0.2", "--out", tmp_path / "result", folder=tmp_path)
    assert done.status == 2
    assert f"{FAR} has the addresses {ADDRESS}, 198.18.8.2; name the one to connect to with --address" in done.err


@pytest.mark.usefixtures("_namespaces")
def test_a_bucket_of_tokens_fills_while_nothing_is_sent(tmp_path: Path) -> None:
    """The bucket holds 4 MB, which pass at once; then 20 Mbit/s."""
    bucket = ("root", "tbf", "rate", "20mbit", "burst", "4mb", "limit", "1mb")
    ip("netns", "exec", NEAR, "tc", "qdisc", "add", "dev", "near0", *bucket)
    try:
        short = ("-t", "0.4", "--set", "warmup_s=0", "--trials", "3", "--set", "rest_s=0,2")
        options = (*short, "--no-report", "--out", tmp_path / "result")
        done = whyperf("run", "--netns", f"{NEAR}:{FAR}", "--address", ADDRESS, *options, folder=tmp_path)
    finally:
        ip("netns", "exec", NEAR, "tc", "qdisc", "delete", "dev", "near0", "root")
    assert done.status == 0, done.err
    shown = whyperf("show", tmp_path / "result", "--json", folder=tmp_path)
    rates = {cell["factors"]["rest_s"]: cell["goodput_bps"]["median"] for cell in json.loads(shown.out)["cells"]}
    assert rates[2.0] > 1.5 * rates[0.0]
