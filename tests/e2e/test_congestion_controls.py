"""Congestion controls of our own: all carry data between two namespaces, and what cannot be had is said first."""

import json
from pathlib import Path

import pytest

from tests.e2e.experiments import measure
from tests.e2e.whyperf_command import whyperf
from whyperf.run import list_offers

OURS = ("scalable", "highspeed", "hslp", "bic", "htcp", "fast", "ltcp")
TRANSFER_BYTES = 500_000


@pytest.fixture(scope="module")
def registered_as() -> dict[str, str]:
    """The name of each in the kernel."""
    offers = {offer["name"]: offer for offer in list_offers(None) if offer["kind"] == "congestion_control"}
    refused = [offers[name] for name in OURS if offers[name]["state"] == "refused"]
    if refused:
        pytest.skip(f"needs a kernel that takes TCP struct_ops of BPF (Linux 6.1); this one: {refused[0]['reason']}")
    return {name: offers[name]["registered_as"] for name in (*OURS, "reno")}


# Registered controls show in the settings of the host, which other tests compare.
@pytest.mark.alone
def test_every_control_carries_all_bytes_under_its_name(tmp_path: Path, registered_as: dict[str, str]) -> None:
    record = measure(tmp_path, congestion_control=[*OURS, "reno"], transfer_bytes=TRANSFER_BYTES)
    flows = record.table("flows")
    seen = set()
    for trial, manifest in record.trials.items():
        wanted = record.factors(manifest.cell)["congestion_control"]
        assert manifest.status == "complete", (wanted, manifest.reason)
        rows = flows.filter(flows["trial"] == trial)
        assert rows["congestion_control"].to_list() == [registered_as[str(wanted)]] * 2
        assert rows["payload_bytes"].to_list() == [TRANSFER_BYTES] * 2
        seen.add(wanted)
    assert seen == registered_as.keys()
    left = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    assert not [name for name in left if name.startswith("wp_")], left


def test_transports_says_where_each_comes_from(tmp_path: Path) -> None:
    offers = json.loads(whyperf("transports", "--json", folder=tmp_path).out)
    names = {offer["name"] for offer in offers}
    assert {*OURS, "reno", "tcp", "udp"} <= names
    shown = whyperf("transports", folder=tmp_path, environment={"COLUMNS": "200"}).out
    for offer in offers:
        source = offer["source"].replace("_", " ")
        fields = [offer["name"], offer["registered_as"], *source.split()]
        # QUIC has controls of the kernel's names, from elsewhere.
        (line,) = [line for line in shown.splitlines() if line.split()[: len(fields)] == fields]
        assert offer["reason"] in line
    reno = next(offer for offer in offers if (offer["kind"], offer["name"]) == ("congestion_control", "reno"))
    assert (reno["source"], reno["state"]) == ("built_in", "loaded")
