"""Interval lines of a single measurement, after iperf3's, with CPU and window of both sides.

An agent reports every sampling interval; a line sums as many as make `-i` seconds, of one phase.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from whyperf.analyze.text import percent, si, significant
from whyperf.cli.live.progress import BITS_PER_BYTE, NS_PER_S, receiver
from whyperf.cli.output.formats import DEFAULT_INTERVAL_S, OutputFormat
from whyperf.profile import Level
from whyperf.wire import ReplyProgress

#: Cwnd in segments, advertised window in bytes, CPU time of whyperf's own threads at sender and receiver.
HEADINGS = ("Interval (s)", "Transfer", "Bitrate", "Retr", "Cwnd", "Window", "CPU snd/rcv")
#: With one space between columns and the name of a phase, a line has at most 80 characters.
WIDTHS = (13, 8, 11, 5, 6, 10, 11)
#: Of datagrams, which have no window and are not sent again: the part of the sent payload that arrived.
ARRIVED_HEADING, ARRIVED_WIDTH = "Arrived", 8

#: Lines that are shorter have times with a third digit.
SHORT_LINE_S = 0.1
#: Samples are taken up to this part of a line early or late.
TOLERANCE_RATIO = 0.05


@dataclass
class Span:
    """Several intervals of one side in one phase."""

    phase: str
    start_ns: int
    end_ns: int
    payload_bytes: int
    load_cpu_ns: int
    intervals: int
    last: ReplyProgress

    @property
    def seconds(self) -> float:
        """Length, in s."""
        return (self.end_ns - self.start_ns) / NS_PER_S


@dataclass(frozen=True)
class PrintedLine:
    """An interval line of phase `measure`; times are seconds after the start of the load."""

    start_s: float
    end_s: float
    text: str


def dropped_lines(lines: Sequence[PrintedLine], cut_s: float) -> list[str]:
    """The lines before `cut_s`, where the steady state starts: marked `cut`, or `part cut` where they reach beyond.

    The steady state is not known before the trial has ended, so these lines were printed without a mark.
    """
    marked = []
    for line in lines:
        within_s = TOLERANCE_RATIO * (line.end_s - line.start_s)
        if line.start_s < cut_s - within_s:
            marked.append(f"{line.text} {'cut' if line.end_s <= cut_s + within_s else 'part cut'}")
    return marked


class IntervalLines:
    """Joins the intervals of both sides and prints a line for each span that both have reported."""

    def __init__(
        self,
        factors: Mapping[str, Level],
        write: Callable[[str], None],
        transaction_bytes: int | None = None,
        output: OutputFormat | None = None,
    ) -> None:
        """`write` gets each line, a heading before the first.

        `transaction_bytes` is what a transaction moves, if all are alike; `output` has the length of a line and the
        unit of rates.
        """
        output = output or OutputFormat()
        self._rate, self._unit = output.rate, output.rate_unit
        self._is_shown = output.interval_s > 0
        self._digits = 3 if 0 < output.interval_s < SHORT_LINE_S else 2
        self._each = transaction_bytes
        self._is_datagrams = factors.get("transport") == "udp" and transaction_bytes is None
        self._receiver = receiver(factors)
        self._per_line = max(1, round((output.interval_s or DEFAULT_INTERVAL_S) * 1000 / int(factors["interval_ms"])))
        self._write = write
        self._open: dict[str, Span] = {}
        self._closed: dict[str, list[Span]] = {"near": [], "far": []}
        self._retransmitted = 0
        self._first_ns: int | None = None
        #: Payload and time of the lines of each phase, of the receiver.
        self._moved: dict[str, tuple[int, float]] = {}
        #: The printed lines of phase `measure`.
        self.measured: list[PrintedLine] = []
        self._lock = threading.Lock()

    def on_progress(self, host: str, progress: ReplyProgress) -> None:
        """Adds an interval of one side (Progress in crates/schema/src/message.rs)."""
        with self._lock:
            span = self._open.get(host)
            if span is not None and span.phase != progress["phase"]:
                self._close(host)
                span = None
            if span is None:
                start_ns = progress["start_mono_ns"]
                span = self._open[host] = Span(progress["phase"], start_ns, start_ns, 0, 0, 0, progress)
            span.end_ns = progress["end_mono_ns"]
            span.payload_bytes += progress["payload_bytes"]
            span.load_cpu_ns += progress["load_cpu_ns"]
            span.intervals += 1
            span.last = progress
            if span.intervals >= self._per_line:
                self._close(host)
            self._flush()

    def on_end(self) -> None:
        """The load ended: what is begun becomes a line."""
        with self._lock:
            for host in list(self._open):
                self._close(host)
            self._flush()

    @property
    def so_far(self) -> str:
        """The rate of the lines so far, for a trial that has no result; empty before the first.

        They are those of the measurement; before it those of the warm-up, which is said.
        """
        phase = next((phase for phase in ("measure", "warmup") if phase in self._moved), None)
        if phase is None:
            return ""
        octets, seconds = self._moved[phase]
        rate = octets / seconds
        text = f"{significant(rate / self._each, 4)}/s" if self._each is not None else self._rate(rate * BITS_PER_BYTE)
        return f"{text} over {seconds:.2f} s{'' if phase == 'measure' else ' of the warm-up'}"

    @property
    def counts_payload(self) -> bool:
        """True where rates are of payload, not of transactions."""
        return self._each is None

    def _close(self, host: str) -> None:
        self._closed[host].append(self._open.pop(host))

    def _flush(self) -> None:
        while self._closed["near"] and self._closed["far"]:
            ends = {host: spans.pop(0) for host, spans in self._closed.items()}
            to = self._receiver
            if self._first_ns is None and self._is_shown:
                self._write(self._aligned((*HEADINGS[:2], self._rate_heading, *self._transport_headings, HEADINGS[-1])))
            line = self._line(ends["near" if to == "far" else "far"], ends[to])
            if self._is_shown:
                self._write(line)

    def _line(self, sender: Span, receiver_span: Span) -> str:
        if self._first_ns is None:
            self._first_ns = receiver_span.start_ns
        start = (receiver_span.start_ns - self._first_ns) / NS_PER_S
        end = start + receiver_span.seconds
        seconds = receiver_span.seconds or 1.0
        octets, before_s = self._moved.get(receiver_span.phase, (0, 0.0))
        if receiver_span.seconds:
            self._moved[receiver_span.phase] = (
                octets + receiver_span.payload_bytes,
                before_s + receiver_span.seconds,
            )
        again = sender.last["retransmitted_segments"] - self._retransmitted
        self._retransmitted = sender.last["retransmitted_segments"]
        columns = [
            f"{start:.{self._digits}f}-{end:.{self._digits}f}",
            si(receiver_span.payload_bytes, "B"),
            self._rate_text(receiver_span.payload_bytes / seconds),
            *(
                [_arrived(sender, receiver_span)]
                if self._is_datagrams
                else [str(again), f"{sender.last['cwnd_segments']:,}", _window(sender, receiver_span)]
            ),
            f"{_cpu(sender)}/{_cpu(receiver_span)} %",
        ]
        text = self._aligned(columns)
        if receiver_span.phase != "measure":
            return f"{text} {receiver_span.phase}"
        if self._is_shown:
            self.measured.append(PrintedLine(start, end, text))
        return text

    @property
    def _transport_headings(self) -> tuple[str, ...]:
        return (ARRIVED_HEADING,) if self._is_datagrams else HEADINGS[3:-1]

    def _aligned(self, columns: Sequence[str]) -> str:
        widths = (*WIDTHS[:3], ARRIVED_WIDTH, WIDTHS[-1]) if self._is_datagrams else WIDTHS
        return " ".join(column.rjust(width) for column, width in zip(columns, widths, strict=True))

    @property
    def _rate_heading(self) -> str:
        """The unit too, where it is the same in all lines: the numbers may be long."""
        if self._each is not None:
            return "Trans/s"
        return HEADINGS[2] if self._unit is None else self._rate(0.0).partition(" ")[2]

    def _rate_text(self, octets_per_s: float) -> str:
        if self._each is not None:
            return significant(octets_per_s / self._each, 4)
        rate = self._rate(octets_per_s * BITS_PER_BYTE)
        return rate if self._unit is None else rate.partition(" ")[0]


def _arrived(sender: Span, receiver_span: Span) -> str:
    """Arrivals in the time of a line over what was sent in it; what a queue holds at its end comes in the next."""
    return percent(receiver_span.payload_bytes / sender.payload_bytes) if sender.payload_bytes else "-"


def _window(sender: Span, receiver_span: Span) -> str:
    """The advertised window: as the receiver reports it, else as the sender saw it."""
    announced = receiver_span.last["announced_window_bytes"] or sender.last["announced_window_bytes"]
    return f"{announced:,}" if announced else "-"


def _cpu(span: Span) -> str:
    """CPU time of whyperf's own threads in percent of one CPU."""
    return percent(span.load_cpu_ns / NS_PER_S / span.seconds).removesuffix(" %") if span.seconds else "-"
