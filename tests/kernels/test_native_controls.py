"""Our congestion controls next to the kernels' own: the same losses, the same windows."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e.experiments import measure
from tests.kernels.guest import Guest
from tests.kernels.test_controls_of_kernels import can, refusal
from whyperf.run import RunError

pytestmark = pytest.mark.timeout(900)

#: Lost, counted over the segments with payload: one in slow start, the others far enough apart to be answered alone.
LOST = (400, 3000, 6000)
LEVELS: dict[str, Any] = {
    "path_rtt_ms": 40.0,
    # Slow enough for an emulated CPU; the queue holds whatever the windows do.
    "path_rate_bps": 20_000_000,
    "path_queue": "4000p",
    "transfer_bytes": 12_000_000,
    "deadline_s": 120.0,
}
#: Those that the guests have, too. Without HighSpeed, of which Linux's module does two things otherwise. At a loss in
#: slow start it takes half, as of a small window, where RFC 3649 section 5 has b(w). And it adds a(w)/w for each ACK,
#: ours for each segment, of which an ACK acknowledges several: with the first loss below a window of 38, where b(w) is
#: half, ours ended at 78 to 79 segments above a threshold of 43, Linux's at 51 above 35, on 6.1 and on 6.12.
NATIVE = ("scalable", "bic", "htcp")
#: How often a guest may stall.
ATTEMPTS = 4
#: By how much windows may differ.
TOLERANCE = 0.1


@pytest.mark.usefixtures("agents_in_guest")
@pytest.mark.parametrize("name", NATIVE)
def test_windows_are_those_of_the_kernels_own(guest: Guest, tmp_path: Path, name: str) -> None:
    if not can(guest):
        with pytest.raises(RunError, match=refusal(guest)):
            measure(tmp_path, **LEVELS, congestion_control=f"wp_{name}")
        return
    for attempt in range(ATTEMPTS):
        windows, sent_again = after_losses(tmp_path / str(attempt), name)
        # A starved guest may take a segment for lost that nobody lost, and slow down for it.
        if all(count == len(LOST) for count in sent_again.values()):
            break
    assert sent_again == dict.fromkeys((name, f"wp_{name}"), len(LOST)), "other segments were sent again each time"
    assert windows[f"wp_{name}"] == pytest.approx(windows[name], rel=TOLERANCE)


def after_losses(folder: Path, name: str) -> tuple[dict[str, tuple[int, int]], dict[str, int]]:
    """Threshold and window at the end, and the segments that were sent again, of the kernel's own and of ours."""
    script = "segments:" + "+".join(str(segment) for segment in LOST)
    record = measure(folder, **LEVELS, path_loss=script, congestion_control=[name, f"wp_{name}"])
    last = record.table("tcp_info").filter(pl.col("final") & (pl.col("role") == "sender"))
    windows, sent_again = {}, {}
    for trial, manifest in record.trials.items():
        # A guest is too slow for the path's lateness budget; what was lost and when is exact all the same.
        assert manifest.status in {"complete", "void"}, manifest.reason
        (row,) = last.filter(pl.col("trial") == trial).iter_rows(named=True)
        control = str(record.factors(manifest.cell)["congestion_control"])
        windows[control] = row["ssthresh_segments"], row["cwnd_segments"]
        sent_again[control] = row["retransmitted_segments"]
    return windows, sent_again
