"""The shipped schedules: a flat table. Times are in s, as they are at `schedule_scale` 1."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TypedDict

from whyperf.profile.factor import Level
from whyperf.profile.schedule.flow_schedule import Direction, Flow, Schedule

MINUTE_S = 60.0

#: Lengths of the seven regions with 1, 2, 3, 4, 3, 2, 1 flows (Cottrell et al. 2005: 16 minutes).
SEVEN_REGIONS_S = tuple(minutes * MINUTE_S for minutes in (2, 2, 2, 4, 2, 2, 2))
SEVEN_REGIONS_FLOWS = 4

STAIRCASE_STEP_S = 30.0
STAIRCASE_FLOWS = 8

PARALLEL_STREAMS = (1, 2, 4, 8, 16)
PARALLEL_S = 60.0
#: Between two numbers of streams: what the ones before left in the queue drains.
PARALLEL_PAUSE_S = 5.0

#: One alone, both, the other alone: the times alone are what the harm is measured against.
MIXED_S = (2 * MINUTE_S, 4 * MINUTE_S, 2 * MINUTE_S)

#: Before and after the load nothing is sent but the RTT probe, which measures the idle path.
IDLE_S = 5.0
LATENCY_LOAD_S = MINUTE_S
#: The classes of the RRUL test (T. Hoiland-Jorgensen et al., "Flent: the FLExible Network Tester", VALUETOOLS 2017)
#: and their DSCP: best effort, background (CS1, RFC 3662), broadcast video (CS5) and telephony (EF, RFC 3246).
RRUL_CLASSES = {"BE": 0, "BK": 8, "CS5": 40, "EF": 46}

#: Transports that are no congestion control of TCP; the factor `competitor` takes these names too.
OTHER_TRANSPORTS = frozenset({"udt", "quic", "srt", "tls"})


class FlowTransport(TypedDict, total=False):
    """The transport and congestion control of a flow, where they are not those of the trial."""

    transport: str
    congestion_control: str


def competitor(name: str) -> FlowTransport:
    """The meaning of the factor `competitor`: a transport of its own, or a congestion control of TCP."""
    return {"transport": name} if name in OTHER_TRANSPORTS else {"transport": "tcp", "congestion_control": name}


def _seven_regions(factors: Mapping[str, Level]) -> tuple[Flow, ...]:
    edges = (0.0, *accumulate(SEVEN_REGIONS_S))
    starts = edges[:SEVEN_REGIONS_FLOWS]
    stops = edges[-SEVEN_REGIONS_FLOWS:]
    if factors["schedule_order"] == "lifo":
        stops = stops[::-1]
    return _flows(list(zip(starts, stops, strict=True)), factors)


def _staircase(factors: Mapping[str, Level]) -> tuple[Flow, ...]:
    end = STAIRCASE_STEP_S * STAIRCASE_FLOWS
    return _flows([(STAIRCASE_STEP_S * number, end) for number in range(STAIRCASE_FLOWS)], factors)


def _single_and_parallel(factors: Mapping[str, Level]) -> tuple[Flow, ...]:
    flows = []
    start = 0.0
    for streams in PARALLEL_STREAMS:
        name = f"{streams} stream{'' if streams == 1 else 's'}"
        flows.append(Flow(name, start, start + PARALLEL_S, streams, direction=_direction(factors)))
        start += PARALLEL_S + PARALLEL_PAUSE_S
    return tuple(flows)


def _mixed(factors: Mapping[str, Level]) -> tuple[Flow, ...]:
    alone, both, rest = accumulate(MIXED_S)
    connections = int(factors["connections"])
    direction = _direction(factors)
    other = str(factors["competitor"])
    return (
        Flow("first", 0.0, both, connections, direction=direction),
        Flow("competitor", alone, rest, connections, direction=direction, **competitor(other)),
    )


def _forward_reverse(factors: Mapping[str, Level]) -> tuple[Flow, ...]:
    alone, both, rest = accumulate(MIXED_S)
    connections = int(factors["connections"])
    return (
        Flow("forward", 0.0, both, connections, direction="send"),
        Flow("reverse", alone, rest, connections, direction="receive"),
    )


def _rrul(factors: Mapping[str, Level]) -> tuple[Flow, ...]:
    connections = int(factors["connections"])
    marks = RRUL_CLASSES.items()
    return (
        *(_under_load(f"up {mark}", connections, "send", dscp) for mark, dscp in marks),
        *(_under_load(f"down {mark}", connections, "receive", dscp) for mark, dscp in marks),
    )


def _tcp_up(factors: Mapping[str, Level]) -> tuple[Flow, ...]:
    return (_under_load("up", int(factors["connections"]), "send"),)


def _tcp_down(factors: Mapping[str, Level]) -> tuple[Flow, ...]:
    return (_under_load("down", int(factors["connections"]), "receive"),)


def _under_load(name: str, connections: int, direction: Direction, dscp: int | None = None) -> Flow:
    return Flow(name, IDLE_S, IDLE_S + LATENCY_LOAD_S, connections, direction=direction, dscp=dscp)


def _flows(spans: Sequence[tuple[float, float]], factors: Mapping[str, Level]) -> tuple[Flow, ...]:
    connections = int(factors["connections"])
    return tuple(
        Flow(f"flow {number}", start, stop, connections, direction=_direction(factors))
        for number, (start, stop) in enumerate(spans, start=1)
    )


def _direction(factors: Mapping[str, Level]) -> Direction:
    return "receive" if factors["direction"] == "receive" else "send"


_ANY = frozenset({"schedule_scale"})
_ALIKE = _ANY | {"connections", "direction"}

SHIPPED: Mapping[str, Schedule] = {
    schedule.name: schedule
    for schedule in (
        Schedule(
            "seven-regions",
            "1, 2, 3, 4, 3, 2, 1 flows for 2, 2, 2, 4, 2, 2, 2 minutes; the last in is the first out, or with "
            "schedule_order fifo the first in.",
            _ALIKE | {"schedule_order"},
            _seven_regions,
        ),
        Schedule("staircase", "A flow more every 30 s, up to 8.", _ALIKE, _staircase),
        Schedule(
            "single-and-parallel",
            "1, 2, 4, 8 and 16 streams for a minute each.",
            _ANY | {"direction"},
            _single_and_parallel,
        ),
        Schedule(
            "mixed",
            "Two transports compete: 2 minutes alone, 4 minutes with the competitor, 2 minutes the competitor alone.",
            _ALIKE | {"competitor"},
            _mixed,
        ),
        Schedule(
            "forward-reverse",
            "2 minutes forward, 4 minutes both ways, 2 minutes in reverse.",
            _ANY | {"connections"},
            _forward_reverse,
        ),
        Schedule(
            "rrul",
            "4 flows each way for a minute, marked BE, BK (CS1), CS5 and EF, after 5 s without load.",
            _ANY | {"connections"},
            _rrul,
        ),
        Schedule(
            "tcp-up",
            "The connections send from near to far for a minute, after 5 s without load.",
            _ANY | {"connections"},
            _tcp_up,
        ),
        Schedule(
            "tcp-down",
            "The connections send from far to near for a minute, after 5 s without load.",
            _ANY | {"connections"},
            _tcp_down,
        ),
    )
}
"""The shipped schedules by name."""
