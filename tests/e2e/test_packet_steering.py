"""Who processes arriving packets on the testbed: each level is set and read back, and the log shows it."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.experiments import plan_of, session
from tests.e2e.logs import log_session, run_logs
from whyperf.analyze.flow import arrivals, open_trial, scan_log

pytestmark = pytest.mark.root

SHORT: dict[str, Any] = {"duration_s": 0.3, "warmup_s": 0.1, "cooldown_s": 0.1, "interval_ms": 50}
LEVELS = [
    ({"rps_cpus": "off"}, "net_rx", False),
    ({"rps_cpus": "auto"}, "net_rx", True),
    ({"rps_cpus": "off", "threaded_napi": True}, "worker", True),
]


@pytest.mark.parametrize(("levels", "context", "only_there"), LEVELS)
def test_the_log_shows_in_which_context_and_where_packets_arrive(
    tmp_path: Path, levels: dict[str, Any], context: str, only_there: bool
) -> None:
    cpus: dict[str, Any] = {"near_cpus": "0", "far_cpus": "1"}
    with log_session(tmp_path / "results", tso=False, **levels, **cpus, **SHORT) as (opened, experiment):
        ((_, far),) = run_logs(opened, experiment)
    log = scan_log(open_trial(far.folder), "far")
    assert log is not None
    found = arrivals(log)
    most = found.row(0, named=True)
    assert most["context"] == context
    # Without steering a packet is processed where it was sent: by a call on the sender's CPU, or when an ACK arrives.
    assert (found["cpu"].unique().to_list() == [1]) is only_there, found


def test_settings_are_read_back_and_no_other_host_has_them(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"tcp_limit_output_bytes": 65_536, "tcp_autocorking": False, "tcp_tso_win_divisor": 1}
    files = {name: Path(f"/proc/sys/net/ipv4/{name}") for name in asked}
    before = {name: file.read_text() for name, file in files.items()}
    plan = plan_of(threaded_napi=True, tso=False, rps_cpus="off", **asked, **SHORT)
    with session(tmp_path / "results", plan) as (opened, _):
        testbed = opened.testbed
        assert testbed is not None
        for side in (testbed["near"], testbed["far"]):
            assert {name: dict(side)[name] for name in asked} == asked
            assert side["napi_thread_cpus"]
            assert set("".join(side["rps_cpus"])) <= {"0", ","}
        assert {name: file.read_text() for name, file in files.items()} == before
