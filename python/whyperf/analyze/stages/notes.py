"""The gaps of stage times, in sentences: sides without any, hooks that a kernel lacks, and what was not followed.

Sentences about a host begin with its side. Counts are of sampled packets, parts of packets or rows, as they say.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from whyperf.analyze.stages.kinds import title_of
from whyperf.analyze.stages.of_host import StagesReport, gaps_of, report_of
from whyperf.analyze.stages.probe_cost import ProbeCost, cost_by_trials, costs_by_host
from whyperf.analyze.text import count, octets, percent
from whyperf.record import LOST, Experiment, RecordError, Trials
from whyperf.wire import StageLimit

LIMITS: Final[Mapping[str, str]] = {
    "no_napi": "No GRO stage at {where}: without NAPI, packets arrive through the backlog queue of a CPU.",
    "threaded_napi": "Threaded NAPI at {where}: a thread takes the packets. Driver in includes its wait for a CPU.",
    "busy_polling": "Busy polling for up to {where}: packets that a read call takes itself have no Wait for softirq.",
    "steering": "RPS at {where}: packets change the CPU when they arrive. Wait for softirq includes that.",
    "xdp": "XDP at {where}: Driver in includes the time of a native program, IP in that of a generic one.",
    "stacked_device": "Stacked devices, {where}: Queue, Driver out and Driver in are sums over all of them.",
    "cpu_clocks": "CPU clocks that differ or were not compared, {where}: waits from one CPU to another may be wrong.",
    "unknown": "Could not be checked: {where}.",
}
"""Sentences about what keeps stages from being shown (`StageLimitKind` in crates/schema); `where` lists the places."""

GAPS: Final[Mapping[str, tuple[str, str, str]]] = {
    "no_start": ("stage", "stages", "had no start time: sampling on that CPU had not yet begun"),
    "no_arrival": (
        "copy out",
        "copies out",
        "had no Wait in socket, because the arrival of their bytes was not recorded",
    ),
    "lost_record": ("row", "rows", "did not fit into the log and were lost; a larger --stages-one-in samples less"),
    "requeued": ("transmission", "transmissions", "found the driver busy and started again"),
    "merged": ("wire segment", "wire segments", "became part of a larger packet by GRO and share its later stages"),
    "split": ("part", "parts", "of packets that were cut before the driver had a driver time of their own"),
    "retransmission": ("packet", "packets", "left again (retransmission)"),
    "softirq_sent": ("packet", "packets", "left without a write call, such as after an ACK: no Call entry, no Copy in"),
    "socket_backlog": (
        "packet",
        "packets",
        "arrived while a call held the socket; the thread of that call handled them",
    ),
    "other_cpu": ("packet", "packets", "left the queue on another CPU than they had entered it"),
    "stacked_device": ("transmission", "transmissions", "passed a device below another; their times are added up"),
    "steered": ("packet", "packets", "changed the CPU between GRO and IP in (RPS)"),
    "by_thread": ("packet", "packets", "came from the device by a thread: threaded NAPI or busy polling"),
}
"""Counts of `stage_gaps` and `analyze.stages.read`: what they count, of one and of many, and what happened to it."""

MISSING_TIMES: Final = frozenset({"no_start", "no_arrival", "lost_record", "requeued"})
"""Of these, the reasons for which a time is missing; the others were followed."""

CODES: Final = re.compile(r"\b[a-z_]+\b")
"""Words that may be the code word of a stage."""
MIN_RATIO = 0.001
"""A smaller part of the rows has no digits."""


def limit_sentences(limits: Iterable[StageLimit]) -> list[str]:
    """A sentence for each kind of limit, with all places that have it, each place once."""
    places: dict[str, dict[str, None]] = {}
    for limit in limits:
        places.setdefault(limit["kind"], {})[_place(limit)] = None
    known = [kind for kind in LIMITS if kind in places]
    sentences = [LIMITS[kind].format(where="; ".join(places[kind])) for kind in known]
    # Of a newer agent.
    return [*sentences, *(f"{kind}: {'; '.join(found)}." for kind, found in places.items() if kind not in LIMITS)]


def _place(limit: StageLimit) -> str:
    device, value = limit.get("device"), limit["value"]
    if limit["kind"] == "steering":
        value = f"to CPU {value}"
    if limit["kind"] == "unknown":
        return f"{device}: {value}" if device else value
    return f"{device} ({value})" if device and value else device or value


def gap_sentence(reason: str, number: int, rows: int = 0) -> str:
    """Says what was counted; where a time is missing also how many of all `rows` that is."""
    noun, plural, what = GAPS.get(reason, ("time", "times", reason.replace("_", " ")))
    ratio = number / rows if rows else 0.0
    part = percent(ratio) if ratio >= MIN_RATIO else f"less than {percent(MIN_RATIO)}"
    share = f" ({part} of the rows)" if rows and reason in MISSING_TIMES else ""
    return f"{count(number, noun, plural)}{share} {what}."


def hook_sentences(report: StagesReport) -> Iterator[str]:
    """A sentence for each hook that the kernel lacks, with what is lost."""
    for name, gives in report.missing.items():
        titled = CODES.sub(lambda word: title_of(word[0]), gives)
        yield f"This kernel lacks the tracepoint {name}. What it would show is missing: {titled}."


def probe_sentence(cost: ProbeCost) -> str:
    """Why another cost of a probe is taken off than the one that was measured."""
    measured = f"The cost of a probe was measured as {cost.measured_ns} ns"
    if cost.by == "trials":
        return f"{measured}, which is out of line. The median of this result's trials, {cost.used_ns} ns, is used."
    return f"{measured}, but 5 % of the rows of a stage took less as a whole. At most {cost.used_ns} ns is possible."


def stage_notes(experiment: Experiment, found: Trials) -> list[str]:
    """Notes on what the trials with stage times of an experiment lack; empty where none were asked for."""
    if not found.staged:
        return []
    made = {name: manifest for name, manifest in found.staged.items() if manifest.status not in LOST}
    notes: dict[str, None] = {}
    lost = [manifest for name, manifest in found.staged.items() if name not in made]
    if lost:
        reason = str(lost[0].reason or "no reason was given").rstrip(".")
        notes[f"{count(len(lost), 'trial')} with stage times failed. First reason: {reason}."] = None
    limits: list[StageLimit] = []
    gaps: dict[str, dict[str, int]] = {}
    rows: dict[str, int] = {}
    usual = costs_by_host(made.values())
    for name, manifest in made.items():
        for host, end in manifest.hosts.items():
            document = end.evidence.get("stages") or {}
            report = report_of(document)
            notes.update(dict.fromkeys(_of_side(host, report)))
            limits += report.limits
            cost = cost_by_trials(report.empty_pair_ns, usual.get(host))
            if cost.by:
                notes[f"Stage times, {host} side of {name}: {probe_sentence(cost)}"] = None
            rows[host] = rows.get(host, 0) + report.rows
            try:
                _add(gaps.setdefault(host, {}), gaps_of(experiment.folder / "trials" / name, host))
            except RecordError as error:
                notes[f"What was not followed in {name} is not known: {error}."] = None
    notes.update(dict.fromkeys(f"Stage times: {sentence}" for sentence in limit_sentences(limits)))
    for host, counted in gaps.items():
        missing = [reason for reason in GAPS if reason in MISSING_TIMES and reason in counted]
        sentences = [gap_sentence(reason, counted[reason], rows[host]) for reason in missing]
        notes.update(dict.fromkeys(f"Stage times, {host} side: {sentence}" for sentence in sentences))
    return list(notes)


def _of_side(host: str, report: StagesReport) -> Iterator[str]:
    """Sentences about one side of a trial."""
    if report.reason is not None:
        yield f"No stage times of the {host} side: {report.reason.rstrip('.')}."
    elif report.rows == 0:
        yield f"No stage times of the {host} side: {nothing_sampled(report)}"
    yield from (f"Stage times, {host} side: {sentence}" for sentence in hook_sentences(report))
    if report.broken_off is not None:
        yield f"The stage times of the {host} side end before the trial: {report.broken_off.rstrip('.')}."


def nothing_sampled(report: StagesReport) -> str:
    """Why no segment was sampled, and what to do."""
    return (
        f"no segment was sampled. Sampling takes whole blocks of {octets(report.block_bytes)}, and few were sent "
        "while it was on. Use --stages-one-in 1 to sample all."
    )


def _add(to: dict[str, int], more: Mapping[str, int]) -> None:
    for reason, number in more.items():
        to[reason] = to.get(reason, 0) + number
