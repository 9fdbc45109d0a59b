"""Warnings that a cell's figures raise."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from whyperf.analyze.bootstrap import MIN_TRIALS
from whyperf.analyze.steady import MATERIAL_RATIO
from whyperf.analyze.text import bit_rate, count, octets, percent, seconds
from whyperf.analyze.warnings.catalog import RaisedWarning
from whyperf.record import LOST

Row = Mapping[str, Any]

WINDOW_DIFFERS_RATIO = 0.10
STEAL_HIGH_RATIO = 0.02
OTHER_LOAD_RATIO = 0.10
OTHER_LOAD_SHORT_RATIO = 0.30
"""The same where ticks of 10 ms count little time."""
CLOCK_UNCERTAIN_RATIO = 0.01
CPU_POOL_SHORT_S = 1.0
SAMPLER_LATE_INTERVALS = 0.5

RETRANSMITTED_RATIO = {"veth": 1e-3, "loopback": 1e-3}
"""Share of the data segments on a testbed that loses nothing; a few are reordering between CPUs."""
RETRANSMITTED_RATIO_ON_A_PATH = 0.01

UNUSABLE = {
    "no_common_window": "the connections were not at work at the same time",
    "no_window": "nothing was read in the measurement window",
}


def of_trials(trials: Sequence[Row], factors: Row, has_payload: bool = True) -> Iterator[RaisedWarning]:
    """Warnings about a cell's trials, as measured: rows of `goodput.measure`, and of failed ones."""
    failed = [row for row in trials if row["status"] == "failed"]
    if failed:
        have = "is" if len(failed) == 1 else "are"
        reason = _sentence(failed[0]["reason"] or "none was given")
        yield RaisedWarning("failed_trials", {"count": count(len(failed), "trial"), "have": have, "reason": reason})
    void = [row for row in trials if row["status"] == "void"]
    if void:
        have = "is" if len(void) == 1 else "are"
        reason = _sentence(void[0]["reason"] or "none was given")
        yield RaisedWarning("void_trials", {"count": count(len(void), "trial"), "have": have, "reason": reason})
    cut = sum(row["status"] == "deadline" for row in trials)
    if cut:
        deadline = f"{factors.get('deadline_s', 'the plan')} s"
        yield RaisedWarning("deadline_trials", {"count": count(cut, "trial"), "deadline": deadline})
    unusable = [row for row in trials if row["status"] not in LOST and row["goodput_bps"] is None]
    if unusable:
        why = UNUSABLE.get(str(unusable[0]["unusable"]), "no window")
        yield RaisedWarning("unusable_trials", {"count": count(len(unusable), "trial"), "why": why})
    measured = [row for row in trials if row["goodput_bps"] is not None]
    if 0 < len(measured) < MIN_TRIALS:
        yield RaisedWarning("few_trials", {"count": count(len(measured), "trial")})
    idle = sum(row["goodput_bps"] == 0 for row in measured)
    if idle and has_payload:
        yield RaisedWarning("nothing_moved", {"count": f"{idle:,}", "trials": count(len(measured), "trial")})
    restless = [row for row in measured if row["steady"] is False]
    if restless:
        yield RaisedWarning(
            "no_steady_state",
            {
                "count": f"{len(restless):,}",
                "trials": count(len(measured), "trial"),
                "trial": str(restless[0]["trial"]),
                "evidence": evidence(restless[0]),
            },
        )
    yield from _start_with_another_rate(measured)
    for row in measured:
        window_ns = row["window_end_ns"] - row["window_start_ns"]
        if row["whole_life"] and row["uncertainty_ns"] > CLOCK_UNCERTAIN_RATIO * window_ns:
            ratio = percent(row["uncertainty_ns"] / window_ns)
            yield RaisedWarning("clock_uncertain", {"uncertainty": seconds(row["uncertainty_ns"]), "ratio": ratio})
            break


def _start_with_another_rate(measured: Sequence[Row]) -> Iterator[RaisedWarning]:
    """Trials of which a part with another rate was cut; a cut that changes nothing is not reported.

    Rates of intervals are compared with each other: a goodput of both directions is not of the same payload.
    """
    cut = [
        row
        for row in measured
        if row["steady"] is not False
        and row["cut_bps"] is not None
        and abs(row["cut_bps"] - row["settled_bps"]) > MATERIAL_RATIO * row["settled_bps"]
    ]
    rising = [row for row in cut if row["cut_bps"] < row["settled_bps"]]
    falling = [row for row in cut if row["cut_bps"] > row["settled_bps"]]
    for name, rows in (("warm_up", rising), ("slow_down", falling)):
        if not rows:
            continue
        most = max(rows, key=lambda row: row["cut_ns"])
        trials = f"{count(len(measured), 'trial')} {'was' if len(rows) == 1 else 'were'}"
        values = {"cut": seconds(most["cut_ns"]), "early": bit_rate(most["cut_bps"])}
        code = f"{name}_counts" if most["is_whole_phase"] else f"{name}_cut"
        yield RaisedWarning(code, {"count": f"{len(rows):,}", "trials": trials, **values})


def evidence(row: Row) -> str:
    """Why a trial has no steady state, in a sentence."""
    levels = f"{bit_rate(row['from_bps'])} to {bit_rate(row['to_bps'])}"
    match row["reason_unsteady"]:
        case "level_changed":
            return f"goodput went from {levels} after {row['change_s']:.1f} s."
        case "two_levels":
            return f"goodput jumped between two levels, {levels}."
        case _:
            course = "rising" if row["to_bps"] > row["from_bps"] else "falling"
            return f"goodput was still {course} half-way through, from {levels}."


def of_cpu(ends: Mapping[str, Row], notes: Sequence[Row] = (), *, counts_ticks: bool = True) -> Iterator[RaisedWarning]:
    """Warnings about CPU figures: rows of `cpu.cell_cpu` by role, with the cell's notes. A kernel counts ticks, the
    model every picosecond.
    """
    for role, row in sorted(ends.items(), reverse=True):
        if (row["steal_ratio"] or 0) > STEAL_HIGH_RATIO:
            yield RaisedWarning("steal_high", {"ratio": percent(row["steal_ratio"]), "role": role})
        other = _other_load(row)
        if other > (OTHER_LOAD_RATIO if row["pooled_s"] >= CPU_POOL_SHORT_S else OTHER_LOAD_SHORT_RATIO):
            yield RaisedWarning("other_load", {"ratio": percent(other), "role": role, "busiest": _busiest(notes)})
    for role, row in ends.items():
        if (row["router_ratio"] or 0) > OTHER_LOAD_RATIO:
            yield RaisedWarning("path_on_cpu", {"ratio": percent(row["router_ratio"]), "role": role})
    if ends and not all(row["exclusive"] for row in ends.values()):
        yield RaisedWarning("shared_cpus")
    alone = [row["pooled_s"] for row in ends.values() if row["busy_ratio"] is not None]
    if counts_ticks and alone and min(alone) < CPU_POOL_SHORT_S:
        yield RaisedWarning("cpu_ticks", {"pooled": seconds(min(alone) * 1e9)})


def _other_load(row: Row) -> float:
    """CPU time of an end that was neither the load's, nor a soft interrupt's, nor an emulated path's, at least: the
    threads of load and path carry some soft interrupts themselves.
    """
    parts = [row[f"{name}_ratio"] for name in ("busy", "softirq", "irq", "load_threads")]
    if any(part is None for part in parts):
        return 0.0
    busy, *known = parts
    return float(busy - sum(known) - (row["router_ratio"] or 0))


def of_window(row: Row | None) -> Iterator[RaisedWarning]:
    """Warnings about the window: a row of `announced.cell_windows`."""
    if row is None or row["requested_bytes"] is None or row["announced_max"] is None:
        return
    if abs(row["announced_max"] - row["requested_bytes"]) > WINDOW_DIFFERS_RATIO * row["requested_bytes"]:
        values = {"requested": octets(row["requested_bytes"]), "announced": octets(row["announced_max"])}
        yield RaisedWarning("window_differs", values)


def of_retransmissions(ratio: float | None, testbed: str) -> Iterator[RaisedWarning]:
    """Warnings about retransmissions, as a share of all data segments."""
    if ratio is not None and ratio > RETRANSMITTED_RATIO.get(testbed, RETRANSMITTED_RATIO_ON_A_PATH):
        yield RaisedWarning("retransmissions", {"ratio": percent(ratio) if ratio >= 0.001 else f"{ratio * 100:.3f} %"})


def of_notes(notes: Sequence[Row], factors: Row) -> Iterator[RaisedWarning]:
    """Warnings about what the agents noted: rows of `Inputs.notes` of one cell."""
    cut = next((note for note in notes if note["note"] == "buffer_cut"), None)
    if cut is not None:
        sysctl = "wmem_max" if cut["text"] == "send" else "rmem_max"
        sizes = {"limit": octets(cut["limit"]), "requested": octets(cut["value"])}
        yield RaisedWarning("buffer_cut", {"end": cut["host"], "buffer": cut["text"], "sysctl": sysctl, **sizes})
    lost = [note for note in notes if note["note"] == "lost_pair"]
    if lost:
        pairs = len({note["value"] for note in lost})
        of_trials = count(len({note["trial"] for note in lost}), "trial")
        first = {"pair": lost[0]["host"], "reason": _sentence(lost[0]["text"])}
        yield RaisedWarning("lost_pairs", {"count": count(pairs, "pair"), "trials": of_trials, **first})
    dropped = sum(note["value"] for note in notes if note["note"] == "strangers_dropped")
    if dropped:
        yield RaisedWarning("strangers_dropped", {"count": count(dropped, "connection")})
    unstamped = sum(note["value"] for note in notes if note["note"] == "no_kernel_stamps")
    if unstamped:
        yield RaisedWarning("unstamped_datagrams", {"count": count(unstamped, "datagram")})
    interval_ns = float(factors.get("interval_ms") or 100) * 1e6
    late = max((note for note in notes if note["note"] == "sampler_late"), key=lambda note: note["value"], default=None)
    if late is not None and late["value"] > SAMPLER_LATE_INTERVALS * interval_ns:
        times = {"late": seconds(late["value"]), "interval": seconds(interval_ns)}
        of_trial = [note for note in notes if note["trial"] == late["trial"]]
        yield RaisedWarning("sampler_late", {"end": late["host"], **times, "busiest": _busiest(of_trial)})


def _busiest(notes: Sequence[Row]) -> str:
    """Which other process was busiest, as a part of a sentence; empty where none was seen."""
    busy = [note for note in notes if note["note"] == "busy_process" and note["limit"]]
    return f"; {max(busy, key=lambda note: note['value'] / note['limit'])['text']}" if busy else ""


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else text + "."
