"""Inputs drawn from seeds, and the whole outcome for each: scenes, sweeps, pairs of rates, tables, logs and facts.

`random_outcomes.json.xz` has what the code made of them.
`python -m tests.unit.explain.random_inputs` writes it again, and prints what changed.
"""

import json
import lzma
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tests.unit.explain import random_facts, random_logs, random_tables, scenes
from tests.unit.explain.anomalies.sweeps import Rates, grid, sweep
from tests.unit.explain.anomalies.test_anomalies import explained
from tests.unit.explain.situations import differences, rounded
from whyperf.analyze import Summary
from whyperf.analyze.summary import Retransmitted
from whyperf.explain.anomalies import anomalies_of
from whyperf.explain.model import CellExplanation, CyclePlace, Losses
from whyperf.explain.verify import Looks, Pair, PredictedGain, judge

FILE = Path(__file__).with_name("random_outcomes.json.xz")
MSS = scenes.MSS


@cache
def stored() -> dict[str, Any]:
    """What was stored, by the name of the input."""
    found: dict[str, Any] = json.loads(lzma.decompress(FILE.read_bytes()))
    return found


def scene(rng: Random) -> str:
    """Segments both ways, losses, full windows and calls, at times that make short and long gaps."""
    lines, octet, acked, now, call_end = [], 1, 1, 0, 0
    room = rng.choice((2, 4, 10)) * MSS
    for _ in range(rng.randint(6, 40)):
        now += rng.choice((0, 1, 5, 30, 200, 1000, 3000, 40_000))
        kind = rng.choice(("out", "out", "in", "in", "call"))
        if kind == "out":
            size = rng.choice((0, 100, MSS, MSS, 2 * MSS, 3 * MSS))
            again = rng.choice(("", "", "", "", " again=fast", " again=timeout by=timer", " by=worker"))
            start = max(1, octet - size) if "again" in again else octet
            octet = max(octet, start + size)
            unsent = rng.choice((0, 0, 100, MSS, 4 * MSS))
            cwnd, limit = rng.choice((1, 2, 4, 10)), rng.choice((2, 8, 2**31 - 1))
            known = f"queue={rng.choice((0, unsent))} unsent={unsent} unacked={octet - acked} ssthresh={limit}"
            lines.append(f"{now} > {start}:{start + size} ack=1 win={rng.choice((0, room))} cwnd={cwnd} {known}{again}")
        elif kind == "in":
            acked = rng.choice((acked, octet, rng.randint(acked, octet)))
            first, size = rng.randint(1, 5 * MSS), rng.choice((0, 0, MSS, 2 * MSS))
            window = rng.choice((0, MSS, room, max(0, octet - acked)))
            known = f"queue={rng.choice((0, size))} unsent={rng.choice((0, MSS))} unacked={octet - acked}"
            lines.append(f"{now} < {first}:{first + size} ack={acked} win={window} {known} cwnd=4")
        elif now >= call_end:
            length = rng.choice((1, 20, 300, 2000))
            call_end = now + length
            parts = f"blocked={rng.choice((0, length // 2))} preempted={length // 5} softirq={length // 9}"
            before = f"slept={rng.choice((0, 0, 50))} runnable={rng.choice((0, 3))}"
            outcome = rng.choice(("", "", "would_block"))
            lines.append(f"call {now} {call_end} moved={rng.choice((0, 700, MSS, 3 * MSS))} {parts} {before} {outcome}")
    lines.append(f"{max(now, call_end) + 1} > {octet}:{octet + 1} ack=1")
    return "\n".join(lines)


def spans(rng: Random) -> Any:
    """The states of both sides and the clocks of a scene."""
    text = scene(rng)
    end = int(text.rsplit("\n", 1)[-1].split()[0])
    held = (end // 4, end // 2)
    made = [scenes.sender(text), scenes.sender(text, no_delay=True), scenes.sender(text, held=held)]
    return [*made, scenes.receiver(text), scenes.clocks(text)]


def rates(rng: Random) -> Rates:
    """Rates over a factor: flat, rising or saturating, with drops and peaks."""
    count = rng.randint(4, 12)
    levels = [1024 * 2**n for n in range(count)] if rng.random() < 0.4 else [1024 * (n + 1) for n in range(count)]
    most, half = rng.choice((5.0, 20.0, 400.0)), rng.choice((1.0, 4096.0, 40_960.0))
    trials, noise = rng.choice((1, 2, 3, 5)), rng.choice((0.001, 0.01, 0.03))
    found: dict[float, tuple[float, ...]] = {}
    for level in levels:
        factor = rng.choice((1, 1, 1, 1, 1, 0.85, 0.6, 0.3, 1.3))
        rate = factor * most * level / (level + half)
        found[level] = tuple(rate * (1 + noise * (2 * rng.random() - 1)) for _ in range(trials))
    return found


def logged(rng: Random, cell: str) -> CellExplanation:
    """What a log shows of a cell."""
    cycle = [
        CyclePlace(
            payload_bytes=rng.choice((512, 1024, 4096, 6144)),
            times=rng.choice((1, 2, 5)),
            held_by=rng.choice(("", "", "small", "window", "congestion_window")),
            released_by=rng.choice(("ack", "woken", "write", "timer")),
            ack_reason=rng.choice(("", "delayed_timer", "quick", "window_update")),
            ratio=rng.choice((0.5, 0.9, 1.0)),
        )
        for _ in range(rng.randint(1, 3))
    ]
    losses = None
    if rng.random() < 0.4:
        kinds = {"timeout": rng.choice((0, 5)), "fast": rng.choice((0, 3))}
        losses = Losses(
            kinds=kinds,
            timeout_wait_ns=rng.choice((0, 9 * 10**8)),
            lost_in_receiver=rng.choice((0, 5)),
            lost_on_path=rng.choice((0, 2)),
        )
    return explained(cell, cycle, losses)


def outstanding(rng: Random) -> Any:
    """What stands out in a sweep, or in several over another factor."""
    factor = rng.choice(("write_size_bytes", "window_bytes"))
    if rng.random() < 0.5:
        summary = sweep(rates(rng), factor)
    else:
        own = rates(rng)
        others = [str(4096 * 2**number) for number in range(rng.randint(2, 6))]
        summary = grid({other: own if rng.random() < 0.7 else rates(rng) for other in others}, factor, "connections")
    summary = with_retransmissions(rng, summary)
    cells = [logged(rng, cell.id) for cell in summary.cells if rng.random() < 0.7]
    found = anomalies_of(summary, cells if rng.random() < 0.8 else [])
    return [anomaly.model_dump(mode="json") for anomaly in found]


def with_retransmissions(rng: Random, summary: Summary) -> Summary:
    """Some of the cells lose segments."""
    cells = [
        cell.model_copy(update={"retransmitted_segments": Retransmitted(ratio=rng.choice((0.0, 0.001, 0.02, 0.12)))})
        for cell in summary.cells
    ]
    return summary.model_copy(update={"cells": cells})


def verified(rng: Random) -> Any:
    """The judgement on pairs of rates."""
    gain = rng.choice((0.5, 0.97, 1.0, 1.05, 1.2, 1.7, 4.0))
    spread = rng.choice((0.005, 0.05, 0.3))
    pairs = [
        Pair(block, 100.0, 100.0 * gain * (1 + spread * (2 * rng.random() - 1)))
        for block in range(1, rng.randint(1, 17))
        if rng.random() < 0.95
    ]
    claimed = rng.choice((None, 1.0, 1.1, 1.5, 4.0))
    low = None if claimed is None else claimed * rng.choice((0.7, 0.95))
    high = None if claimed is None else claimed * rng.choice((1.05, 1.5))
    first = rng.randint(4, 16)
    looks = Looks(first, rng.randint(first, 16))
    tried = rng.choice((None, rng.randint(0, 16)))
    found = judge(pairs, PredictedGain(claimed, low, high), looks, tried=tried)
    return [found.verification.model_dump(mode="json"), found.is_settled]


#: What is drawn from each seed, and how many seeds.
DRAWN: dict[str, tuple[Callable[[Random], Any], int]] = {
    "spans": (spans, 60),
    "outstanding": (outstanding, 60),
    "verified": (verified, 80),
    **random_tables.DRAWN,
    **random_logs.DRAWN,
    **random_facts.DRAWN,
}


def outcome(name: str, seed: int) -> Any:
    """What the code makes of an input."""
    return rounded(json.loads(json.dumps(DRAWN[name][0](Random(f"{name} {seed}")))))


def _write() -> None:
    before = stored() if FILE.exists() else {}
    now = {f"{name} {seed}": outcome(name, seed) for name, (_, seeds) in DRAWN.items() for seed in range(seeds)}
    for name, document in now.items():
        for line in differences(before.get(name), document):
            print(name, line)
    FILE.write_bytes(lzma.compress(json.dumps(now, separators=(",", ":")).encode(), preset=9))


if __name__ == "__main__":
    _write()
