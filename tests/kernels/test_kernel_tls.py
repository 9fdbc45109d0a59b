"""TLS in the kernel: every byte arrives, it is read back, and a kernel that has none is named."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.experiments import Record, measure
from tests.kernels.guest import Guest
from whyperf.run import RunError

pytestmark = [pytest.mark.timeout(900), pytest.mark.usefixtures("agents_in_guest")]

#: Debian's cloud kernel 5.10 has no module for it.
WITHOUT = {"5.10"}
TRANSFER: dict[str, Any] = {"transport": "tls", "transfer_bytes": 3_000_000, "deadline_s": 120.0}


@pytest.fixture
def with_kernel_tls(guest: Guest) -> None:
    """Skips kernels that are known to have none."""
    if guest.series in WITHOUT:
        pytest.skip(f"Debian's cloud kernel {guest.series} has no module tls")


def complete(record: Record) -> Record:
    """The record, all of whose trials must have run to their end."""
    for manifest in record.trials.values():
        assert manifest.status == "complete", manifest.reason
    return record


@pytest.mark.usefixtures("with_kernel_tls")
@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_each_cipher_is_read_back_from_the_kernel(tmp_path: Path, version: str) -> None:
    ciphers = ["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"]
    record = complete(measure(tmp_path, **TRANSFER, tls_version=version, tls_cipher=ciphers, ktls=["tx", "both"]))
    rows = record.table("tls")
    for trial, manifest in record.trials.items():
        asked = record.factors(manifest.cell)
        found = rows.filter(trial=trial)
        assert found["cipher"].unique().to_list() == [asked["tls_cipher"]]
        assert found["version"].unique().to_list() == [version]
        in_kernel = dict(found.select("role", "in_kernel").rows())
        assert in_kernel == {"sender": True, "receiver": asked["ktls"] == "both"}
        flows = record.table("flows").filter(trial=trial)
        assert flows["payload_bytes"].to_list() == [3_000_000] * 2


@pytest.mark.usefixtures("with_kernel_tls")
@pytest.mark.parametrize("ktls", ["tx", "both"])
def test_files_and_pipes_go_to_it_without_the_agent(tmp_path: Path, ktls: str) -> None:
    record = complete(measure(tmp_path, **TRANSFER, ktls=ktls, send_call=["send", "sendfile", "splice"]))
    assert record.table("flows")["payload_bytes"].to_list() == [3_000_000] * 6


@pytest.mark.usefixtures("with_kernel_tls")
@pytest.mark.parametrize(("workload", "io_model"), [("rr", "epoll"), ("crr", "blocking"), ("crr", "epoll")])
def test_workloads_run_over_it(tmp_path: Path, workload: str, io_model: str) -> None:
    phases: dict[str, Any] = {"duration_s": 1.0, "warmup_s": 0.2, "cooldown_s": 0.2, "deadline_s": 60.0}
    levels: dict[str, Any] = {
        "workload": workload,
        "io_model": io_model,
        "connections": 2,
        "response_size_bytes": 20_000,
    }
    record = complete(measure(tmp_path, transport="tls", ktls="both", **levels, **phases))
    near, far = (record.table("transactions").filter(host=host)["transactions_count"].sum() for host in ("near", "far"))
    assert near == far > 0
    assert record.table("tls")["in_kernel"].unique().to_list() == [True]


@pytest.mark.usefixtures("with_kernel_tls")
def test_replies_come_back_through_it(tmp_path: Path) -> None:
    levels = {"write_size_bytes": 5000, "reply_size_bytes": 3000, "transfer_bytes": 500_000}
    complete(measure(tmp_path, **TRANSFER | levels, ktls=["tx", "both"]))


def test_a_kernel_without_it_is_named_before_the_run(guest: Guest, tmp_path: Path) -> None:
    if guest.series not in WITHOUT:
        pytest.skip("this kernel has it")
    with pytest.raises(RunError, match="ktls both is not available on the near host: the kernel has no TLS"):
        measure(tmp_path, **TRANSFER, ktls="both")
    complete(measure(tmp_path, **TRANSFER))
