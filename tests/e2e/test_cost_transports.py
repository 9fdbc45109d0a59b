"""Every transport, datagrams and transactions in one short run: all that is sent arrives, is sampled and has a cost."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.e2e.whyperf_command import whyperf
from whyperf.record import Experiment
from whyperf.run import list_offers

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("ours")]

#: Of all samples together; a few that a busy host takes while it switches namespaces have no name.
MAX_NOT_ATTRIBUTED = 0.05
TRANSPORTS = ("tcp", "unix", "quic", "tls", "mptcp", "udt", "srt")
#: Samples come more often than by default, because the loads are short.
PROFILE = """
about = "What is sampled of each kind of load."
[fixed]
duration_s = 0.4
warmup_s = 0.1
cooldown_s = 0.05
[design]
trials = 1
profile_hz = 1999
[[sweep]]
name = "streams"
[sweep.factors]
transport = {transports}
[[sweep]]
name = "datagrams"
[sweep.fixed]
workload = "udp-stream"
[[sweep]]
name = "transactions"
[sweep.factors]
workload = ["rr", "crr"]
"""


@pytest.mark.slow
def test_each_kind_of_load_is_sampled_and_split_on_both_sides(tmp_path: Path) -> None:
    states = {offer["name"]: offer["state"] for offer in list_offers(None) if offer["kind"] == "transport"}
    transports = [name for name in TRANSPORTS if states[name] != "refused"]
    assert {"tcp", "unix", "quic", "tls"} <= set(transports)
    (tmp_path / "loads.toml").write_text(PROFILE.format(transports=json.dumps(transports)))
    done = whyperf("run", "./loads.toml", "--no-report", "--out", "result", folder=tmp_path)
    assert done.status in {0, 3}, done.err
    for manifest in Experiment.open(tmp_path / "result").trials().manifests.values():
        sent, received = (end.payload_bytes for end in manifest.hosts.values())
        assert sent, manifest.factors
        # Of datagrams some may be lost.
        assert received == sent or manifest.factors["workload"] == "udp-stream", manifest.factors
    flows = pl.concat(pl.read_parquet(table) for table in (tmp_path / "result").glob("trials/*/flows.*"))
    assert set(flows["transport"]) >= set(transports)
    done = whyperf("cost", "result", "--json", folder=tmp_path)
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert found["notes"] == []
    assert len(found["cells"]) == len(transports) + 3
    samples, not_attributed = 0, 0.0
    for cell in found["cells"]:
        assert [side["role"] for side in cell["sides"]] == ["sender", "receiver"], cell["factors"]
        for side in cell["sides"]:
            named = {entry["name"]: entry for entry in side["classes"]}
            assert side["samples"] > 0, cell["factors"]
            assert side["in_threads"] > 0, cell["factors"]
            assert side["in_threads"] + side["in_softirqs"] == pytest.approx(side["total"]["mean"], rel=1e-9)
            samples += side["samples"]
            not_attributed += side["samples"] * named.get("not_attributed", {"share": 0.0})["share"]
    assert not_attributed / samples <= MAX_NOT_ATTRIBUTED
    text = whyperf("cost", "result", folder=tmp_path).out
    assert text.count("sender: ") == text.count("receiver: ") == len(found["cells"])
