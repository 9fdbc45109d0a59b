"""What stage times lack, in sentences: sides without any, hooks that a kernel lacks, and what was not followed.

Sentences about a host begin with its side. Counts are of sampled packets, parts of packets or rows, as they say.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from whyperf.analyze.stages.read import StagesReport, gaps_of, report_of
from whyperf.analyze.text import count, octets, percent
from whyperf.record import LOST, Experiment, RecordError, Trials
from whyperf.wire import StageLimit

LIMITS: Final[Mapping[str, str]] = {
    "no_napi": "No NAPI at {where}: packets arrive through a CPU's backlog, and there is no GRO stage.",
    "threaded_napi": "Threaded NAPI at {where}: a thread takes the packets, and its wait for a CPU is in Driver in.",
    "busy_polling": "Busy polling for up to {where}: packets that a read call takes itself have no Wait for softirq.",
    "steering": "Steering (RPS) at {where}: packets that change the CPU do so within Wait for softirq.",
    "xdp": "XDP at {where}: a native program's time is in Driver in, a generic one's in IP in.",
    "stacked_device": "Stacked devices, {where}: Queue, Driver out and Driver in have the time of all of them.",
    "cpu_clocks": "Clocks of CPUs differ or were not compared, {where}: waits from one CPU to another may be wrong.",
    "unknown": "Not known: {where}.",
}
"""Sentences about what keeps stages from being shown (`StageLimitKind` in crates/schema); `where` lists the places."""

GAPS: Final[Mapping[str, tuple[str, str, str]]] = {
    "no_start": ("stage", "stages", "had no start time, at the first hook of a sampled block on a CPU"),
    "no_arrival": ("copy", "copies", "to the reader had no time of arrival: the wait in the socket is not known"),
    "lost_record": ("row", "rows", "did not fit into the log; a larger --stages-one-in samples less"),
    "requeued": ("transmission", "transmissions", "met a busy driver, and began again"),
    "merged": (
        "wire segment",
        "wire segments",
        "became part of a larger packet by GRO, and have its stages from there on",
    ),
    "split": ("part", "parts", "of packets that were cut before the driver had a driver time of their own"),
    "retransmission": ("packet", "packets", "left as retransmissions, which are no new payload"),
    "softirq_sent": ("packet", "packets", "left from a softirq, not from a call: their first stage is TCP and IP out"),
    "socket_backlog": ("packet", "packets", "arrived while a process held the socket, and that process handled them"),
    "other_cpu": ("packet", "packets", "left the queueing discipline on another CPU than they had entered it"),
    "stacked_device": (
        "transmission",
        "transmissions",
        "went through a device below another: their times are added up",
    ),
    "steered": ("packet", "packets", "changed the CPU between GRO and IP (RPS)"),
    "by_thread": ("packet", "packets", "came from the device by a thread: threaded NAPI or busy polling"),
}
"""What `stage_gaps` and `analyze.stages.read` count: what they count, of one and of many, and what happened to it."""

MISSING_TIMES: Final = frozenset({"no_start", "no_arrival", "lost_record", "requeued"})
"""Of these, the reasons for which a time is missing; the others were followed."""


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
    """What was counted; where a time is missing also how many of all `rows` that is."""
    noun, plural, what = GAPS.get(reason, ("time", "times", reason.replace("_", " ")))
    ratio = number / rows if rows else 0.0
    part = percent(ratio) if ratio >= MIN_RATIO else f"less than {percent(MIN_RATIO)}"
    share = f" ({part} of the rows)" if rows and reason in MISSING_TIMES else ""
    return f"{count(number, noun, plural)}{share} {what}."


def hook_sentences(report: StagesReport) -> Iterator[str]:
    """A sentence for each hook that the kernel lacks, with what is lost."""
    for name, gives in report.missing.items():
        yield f"The kernel lacks the hook {name}, which gives: {gives}."


def stage_notes(experiment: Experiment, found: Trials) -> list[str]:
    """What the trials with stage times of an experiment lack; empty where none were asked for."""
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
    for name, manifest in made.items():
        for host, end in manifest.hosts.items():
            document = end.evidence.get("stages") or {}
            report = report_of(document)
            notes.update(dict.fromkeys(_of_side(host, report)))
            limits += report.limits
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
        f"no segment was sampled, because few blocks of {octets(report.block_bytes)} were sent while programs were "
        "attached. --stages-one-in 1 samples all of them."
    )


def _add(to: dict[str, int], more: Mapping[str, int]) -> None:
    for reason, number in more.items():
        to[reason] = to.get(reason, 0) + number
