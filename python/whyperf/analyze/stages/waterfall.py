"""Single messages from the write call to the reader: every stage with its time, for a drawing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from whyperf.analyze.stages.kinds import BETWEEN, RECEIVER, SENDER, Stage
from whyperf.analyze.stages.messages import GAPS, ON_PATH, ROWS_OF, SLOW, Lives, both_sides
from whyperf.analyze.stages.of_host import HostStages
from whyperf.analyze.stages.ranges import StageRows

MIN_GAP_NS, MIN_BETWEEN_NS = 1.0, 250.0
"""A shorter gap is none; between two stages of one host as much is what the probes took, which is taken off both."""


@dataclass(frozen=True)
class Span:
    """A stage of a message at a host (`writer` or `reader`), in ns after its write call began.

    `cpu_ns` is processing in it. `bytes` is what the row handled, which may be more than the message.
    """

    stage: Stage
    side: Literal["writer", "reader", "path"]
    start_ns: float
    end_ns: float
    cpu_ns: float
    bytes: int


@dataclass(frozen=True)
class Waterfall:
    """A message and its spans in the order of time; `which` says which of all messages it is."""

    which: Literal["median", "slow"]
    connection: int
    message_bytes: int
    latency_ns: float
    spans: Sequence[Span]


def waterfalls(writer: HostStages, reader: HostStages, lives: Lives) -> list[Waterfall]:
    """The message whose latency is closest to the median, and the one closest to the start of the slowest 1 %."""
    sides = {connection: (out, arrived) for connection, out, arrived in both_sides(writer, reader)}
    latency = lives.frame["latency_ns"].to_numpy()
    # Of messages with the same latency those with most stages show most.
    chosen: dict[int, Literal["median", "slow"]] = {}
    whichs: Sequence[tuple[Literal["median", "slow"], float]] = (("median", 0.5), ("slow", SLOW))
    for which, at in whichs:
        chosen.setdefault(int(np.argmin(np.abs(latency - np.quantile(latency, at)))), which)
    return [_waterfall(which, lives.frame.row(row, named=True), sides) for row, which in chosen.items()]


def _waterfall(
    which: Literal["median", "slow"],
    message: dict[str, float],
    sides: dict[int, tuple[dict[str, StageRows], dict[str, StageRows]]],
) -> Waterfall:
    connection = int(message["connection"])
    out, arrived = sides[connection]
    start, last = message["start_ns"], int(message["sequence"] + message["payload_bytes"]) - 1
    spans = [
        *_spans(SENDER, "writer", out, last, start),
        *_spans([stage for stage in ON_PATH if stage not in SENDER], "reader", arrived, last, start),
    ]
    return Waterfall(which, connection, int(message["payload_bytes"]), message["latency_ns"], _with_gaps(spans))


def _spans(
    stages: Sequence[Stage],
    side: Literal["writer", "reader"],
    rows: dict[str, StageRows],
    last: int,
    start: float,
) -> list[Span]:
    found = []
    for stage in stages:
        own = rows.get(ROWS_OF.get(stage.name, stage.name))
        at = -1 if own is None else int(own.containing(np.array([last]))[0])
        if own is None or at < 0:
            continue
        since = float(own.time_ns[at]) - start
        cpu = 0.0 if stage.is_wait else float(own.cpu_ns[at])
        size = int(own.end[at] - own.start[at])
        found.append(Span(stage, side, since, since + float(own.wall_ns[at]), cpu, size))
    return found


def _with_gaps(spans: list[Span]) -> list[Span]:
    """The spans with those between them, where nothing of the message was seen."""
    found: list[Span] = []
    reached = 0.0
    side: Literal["writer", "reader"] = "writer"
    for drawn in spans:
        span = drawn
        # The message does not wait for the end of its write call.
        if span.side == "writer" and span.stage.name == "call_exit":
            found.append(span)
            continue
        if span.stage.name in ROWS_OF:
            # The read call waited for the message before: only what it does with it is on the message's time.
            if span.end_ns <= reached:
                continue
            span = replace(span, start_ns=max(span.start_ns, reached))
        is_path = span.side == "reader" and side == "writer"
        name = "path" if is_path else GAPS.get(span.stage.name, BETWEEN.name)
        least = MIN_BETWEEN_NS if name == BETWEEN.name else MIN_GAP_NS
        if found and span.start_ns - reached >= least:
            stage = next(known for known in (*SENDER, *RECEIVER, BETWEEN) if known.name == name)
            found.append(Span(stage, "path" if is_path else span.side, reached, span.start_ns, 0.0, 0))
        found.append(span)
        reached = max(reached, span.end_ns)
        side = "reader" if span.side == "reader" else "writer"
    return found
