"""Compares the figures of published studies with the measurement, side by side.

The figures of the studies are in `studies/`: a CSV file per table, with its source in the first line. They are from
other hosts, networks and decades, so only the shape is comparable.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from whyperf.analyze.summary import CellResult, Summary
from whyperf.analyze.text import percent, significant
from whyperf.report.charts.blocks import Section, StudyTable
from whyperf.report.table import Column, Entry, Table

Row = Mapping[str, str]
Get = Callable[[Row, CellResult | None], Entry]

FOLDER = Path(__file__).parent
STUDY, HERE = "study", "here"


@dataclass(frozen=True)
class Comparison:
    """A table of a study, and the measured cells that its rows are compared with."""

    file: str
    heading: str
    note: str
    #: Levels of the cell that a row is compared with.
    match: Callable[[Row], Mapping[str, object]]
    columns: tuple[tuple[Column, "Get | _Other"], ...]
    #: Rows of the study that the profile repeats.
    keep: Callable[[Row], bool] = lambda _: True


def study_section(
    profile: str, summary: Summary, payloads: Mapping[str, str], released: Mapping[str, str] | None = None
) -> Section | None:
    """The comparison with the study of a shipped profile; None where there is no table.

    `payloads` are the payload sizes of cells with a log trial as text; `released` are those that waited for an ACK.
    """
    comparisons = COMPARISONS.get(profile)
    if comparisons is None:
        return None
    section = Section("study", "Comparison with the study")
    for comparison in comparisons:
        source, rows = read(comparison.file)
        filled = [
            _row(comparison, row, summary.cells, payloads, released or {}) for row in rows if comparison.keep(row)
        ]
        table = Table(tuple(column for column, _ in comparison.columns), tuple(filled))
        section.tables.append(StudyTable(comparison.heading, f"{comparison.note} {source}".strip(), table))
    return section


def read(name: str) -> tuple[str, list[Row]]:
    """A table of a study: its source in a sentence, and its rows."""
    lines = (FOLDER / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    comments = [line.removeprefix("#").strip() for line in lines if line.startswith("#")]
    rows: list[Row] = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    source = comments[0].partition("Source: ")[2]
    return f"Source: {source}" if source else "", rows


def _row(
    comparison: Comparison,
    row: Row,
    cells: Sequence[CellResult],
    payloads: Mapping[str, str],
    released: Mapping[str, str],
) -> tuple[Entry, ...]:
    found = _cell(cells, comparison.match(row))
    of_log = {"payloads": payloads, "released": released}
    values = {**row, **{name: texts.get(found.id, "") if found is not None else "" for name, texts in of_log.items()}}
    return tuple(get.of(row, cells) if isinstance(get, _Other) else get(values, found) for _, get in comparison.columns)


def _cell(cells: Sequence[CellResult], levels: Mapping[str, object]) -> CellResult | None:
    """The cell with all of these levels."""
    return next(
        (cell for cell in cells if all(cell.factors.get(name) == level for name, level in levels.items())), None
    )


class _Other:
    """A figure of another cell than the one of the row."""

    def __init__(self, match: Callable[[Row], Mapping[str, object]], get: Get) -> None:
        self._match = match
        self._get = get

    def of(self, row: Row, cells: Sequence[CellResult]) -> Entry:
        return self._get(row, _cell(cells, self._match(row)))


def _study(name: str, *, unit: str = "", text: Callable[[str], str] | None = None) -> Get:
    """A figure of the study, unchanged."""

    def get(row: Row, _: CellResult | None) -> Entry:
        value = row[name]
        shown = text(value) if text else f"{float(value):,.10g}{unit}"
        return Entry(shown, value)

    return get


def _here(value: Callable[[CellResult], float | None], text: Callable[[float], str]) -> Get:
    """A measured figure."""

    def get(_: Row, cell: CellResult | None) -> Entry:
        number = None if cell is None else value(cell)
        return Entry.of_number(number, text)

    return get


def _error(name: str, value: Callable[[CellResult], float | None]) -> Get:
    """The distance of a figure here from the study's, relative to the study's."""

    def get(row: Row, cell: CellResult | None) -> Entry:
        number = None if cell is None else value(cell)
        ratio = None if number is None else number / float(row[name]) - 1
        return Entry("") if ratio is None else Entry(f"{100 * ratio:+.1f} %", f"{ratio:.6g}")

    return get


class _Gain(_Other):
    """Goodput against the cell of the row with another level of a factor, as a relative difference."""

    def __init__(self, factor: str, base: int, others: Sequence[str]) -> None:
        self._factor = factor
        self._base = base
        self._others = others

    def of(self, row: Row, cells: Sequence[CellResult]) -> Entry:
        others = {name: int(row[name]) for name in self._others}
        pair = [_cell(cells, {**others, self._factor: level}) for level in (int(row[self._factor]), self._base)]
        found = [cell.goodput_bps.median for cell in pair if cell is not None]
        rates = [rate for rate in found if rate]
        if len(rates) < len(pair):
            return Entry("")
        gain = rates[0] / rates[1] - 1
        return Entry(f"{100 * gain:+.1f} %", f"{gain:.6g}")


def _rate(cell: CellResult) -> float | None:
    return cell.transactions.per_s.median if cell.transactions is not None else None


def _one_way(cell: CellResult) -> float | None:
    rate = _rate(cell)
    return None if not rate else 1e6 / rate / 2


def _goodput(cell: CellResult) -> float | None:
    return cell.goodput_bps.median


def _packets(cell: CellResult) -> float | None:
    return cell.data_segments_per_s


def _kind(*kinds: str) -> Callable[[CellResult], float | None]:
    """CPU time of the sender of these kinds, as a ratio of wall time."""

    def value(cell: CellResult) -> float | None:
        sender = cell.cpu.sender
        ratios = [getattr(sender, f"{kind}_ratio") for kind in kinds] if sender is not None else []
        known = [ratio for ratio in ratios if ratio is not None]
        return sum(known) if known else None

    return value


def _user_of_busy(cell: CellResult) -> float | None:
    sender = cell.cpu.sender
    if sender is None or not sender.busy_ratio or sender.user_ratio is None:
        return None
    return sender.user_ratio / sender.busy_ratio


def _mbps(bps: float) -> str:
    """A rate in the unit of the studies."""
    return f"{significant(bps / 1e6, 4)} Mbit/s"


def _four(value: float) -> str:
    return significant(value, 4)


def _of_log(name: str) -> Get:
    """A text from the log trial of the cell of the row."""

    def get(row: Row, _: CellResult | None) -> Entry:
        text = row.get(name, "")
        return Entry(text, text)

    return get


def _head(text: str, origin: str, *, number: bool = True) -> Column:
    return Column(f"{text}, {origin}", number=number)


def _rr(quick: bool) -> Callable[[Row], Mapping[str, object]]:
    return lambda row: {"request_size_bytes": int(row["payload_bytes"]), "quick_ack": quick}


def _small(column: str, *, no_delay: bool, quick: bool) -> Callable[[Row], Mapping[str, object]]:
    return lambda row: {"write_size_bytes": int(row[column]), "no_delay": no_delay, "quick_ack": quick}


_NODELAY = _small("payload_bytes", no_delay=True, quick=False)
_NODELAY_QUICK = _small("payload_bytes", no_delay=True, quick=True)

NAGLE_NOTE = (
    "Payloads here, and the share of each that was sent when an ACK arrived, are from the log trial. The sender of the "
    "study kept messages complete: it alternated one message with as many as fit a segment. Linux splits the stream at "
    "the segment size, independent of the messages. It sends full segments immediately. Only a smaller rest waits, and "
    "only while another small segment is not acknowledged (Minshall's variant of Nagle's algorithm: tcp_nagle_check in "
    "net/ipv4/tcp_output.c). The size of the rest depends on when the ACK arrives: a receiver that has read everything "
    "acknowledges immediately (tcp_cleanup_rbuf in net/ipv4/tcp.c), the one of the study after up to 8 segments."
)
"""The way that Linux differs from the Solaris of the study, and where."""

MISPRINT_NOTE = (
    "The study's 181.56 Mbit/s for messages of 250 bytes is a misprint: its own formula gives 158.56 Mbit/s for its "
    "packet rate."
)
"""The contradiction in the table of the study."""

MULTIPLIER = "maxpsz_multiplier"

AUTOCORKING_NOTE = (
    "Packets can carry several messages although Nagle's algorithm is off: where the window is full, and with "
    "tcp_autocorking. Linux then adds the next messages to a packet that is not full, while another of the connection "
    "waits in a queue below TCP (tcp_should_autocork in net/ipv4/tcp.c)."
)


def _transmit(row: Row) -> Mapping[str, object]:
    return {"write_size_bytes": int(row["write_bytes"]), "connections": int(row["connections"])}


def _threads(row: Row) -> Mapping[str, object]:
    return {**_transmit(row), "io_model": "blocking"}


def _events(row: Row) -> Mapping[str, object]:
    return {**_transmit(row), "io_model": "epoll"}


TRANSMIT = Comparison(
    "uperf_transmit",
    "Transmitting over many connections",
    "CPU time in the study is of 16 cores together; here it is of the sender's own CPUs.",
    _transmit,
    (
        (Column("Write (bytes)"), _study("write_bytes")),
        (Column("Connections"), _study("connections")),
        (_head("Rate", STUDY), _study("throughput_mbps", unit=" Mbit/s")),
        (_head("Rate", HERE), _here(_goodput, _mbps)),
        (_head("Cycles/KB", STUDY), _study("cycles_per_kbyte")),
        (
            _head("Cycles/KB", HERE),
            _here(lambda cell: cell.cycles_per_kbyte.sender, lambda value: f"{value:,.0f}"),
        ),
        (_head("usr", STUDY), _study("usr", unit=" %")),
        (_head("usr", HERE), _here(_kind("user"), percent)),
        (_head("sys", STUDY), _study("sys", unit=" %")),
        (_head("sys", HERE), _here(_kind("system"), percent)),
        (_head("intr", STUDY), _study("intr", unit=" %")),
        (_head("intr", HERE), _here(_kind("irq", "softirq"), percent)),
        (_head("idle", STUDY), _study("idle", unit=" %")),
        (_head("idle", HERE), _here(_kind("idle"), percent)),
    ),
)
"""The cost of transmitting over many connections."""


def _both(text: str, get: Get) -> tuple[tuple[Column, "Get | _Other"], ...]:
    """A figure with a thread for each connection, and with events."""
    return ((Column(f"{text}, threads"), get), (Column(f"{text}, events"), _Other(_events, get)))


THREADS_OR_EVENTS = Comparison(
    "uperf_transmit",
    "A thread for each connection, or events",
    "uperf has a thread for each connection. CPU time in the study is of 16 cores together; here it is of the sender's "
    "own CPUs.",
    _threads,
    (
        (Column("Write (bytes)"), _study("write_bytes")),
        (Column("Connections"), _study("connections")),
        (_head("Rate", STUDY), _study("throughput_mbps", unit=" Mbit/s")),
        *_both("Rate", _here(_goodput, _mbps)),
        (_head("Cycles/KB", STUDY), _study("cycles_per_kbyte")),
        *_both("Cycles/KB", _here(lambda cell: cell.cycles_per_kbyte.sender, lambda value: f"{value:,.0f}")),
        (_head("usr", STUDY), _study("usr", unit=" %")),
        *_both("usr", _here(_kind("user"), percent)),
        (_head("sys", STUDY), _study("sys", unit=" %")),
        *_both("sys", _here(_kind("system"), percent)),
        (_head("intr", STUDY), _study("intr", unit=" %")),
        *_both("intr", _here(_kind("irq", "softirq"), percent)),
        (_head("idle", STUDY), _study("idle", unit=" %")),
        *_both("idle", _here(_kind("idle"), percent)),
    ),
    lambda row: row["write_bytes"] == "8192" and row["connections"] in {"1", "8", "32", "100", "400", "1000"},
)
"""The same with both I/O models."""

COMPARISONS: Mapping[str, tuple[Comparison, ...]] = {
    "rr-ack": (
        Comparison(
            "gbe_tcp_rr",
            "Transactions per second, deferred ACK off and on",
            "One way is half of the time of a transaction.",
            _rr(quick=True),
            (
                (Column("Payload (bytes)"), _study("payload_bytes")),
                (_head("Off", STUDY), _study("deferred_ack_off")),
                (_head("Off", HERE), _here(_rate, _four)),
                (_head("On", STUDY), _study("deferred_ack_on")),
                (_head("On", HERE), _Other(_rr(quick=False), _here(_rate, _four))),
                (Column("One way here, off (µs)"), _here(_one_way, significant)),
                (Column("One way here, on (µs)"), _Other(_rr(quick=False), _here(_one_way, significant))),
            ),
        ),
    ),
    "small-nagle": (
        Comparison(
            "gbe_small_packets_nagle",
            "With Nagle's algorithm, ACKs deferred",
            NAGLE_NOTE,
            _small("message_bytes", no_delay=False, quick=False),
            (
                (Column("Message (bytes)"), _study("message_bytes")),
                (
                    _head("Payloads on the wire", STUDY, number=False),
                    _study("on_wire_payload_bytes", text=lambda text: text.replace(";", ", ")),
                ),
                (_head("Payloads on the wire", HERE, number=False), _of_log("payloads")),
                (_head("Waited for an ACK", HERE, number=False), _of_log("released")),
                (_head("Packets/s", STUDY), _study("packets_per_s")),
                (_head("Packets/s", HERE), _here(_packets, _four)),
                (_head("Rate", STUDY), _study("throughput_mbps", unit=" Mbit/s")),
                (_head("Rate", HERE), _here(_goodput, _mbps)),
            ),
        ),
        Comparison(
            "gbe_small_packets_nodelay",
            "Without Nagle's algorithm",
            AUTOCORKING_NOTE,
            _NODELAY,
            (
                (Column("Message (bytes)"), _study("payload_bytes")),
                (_head("Packets/s, deferred", STUDY), _study("packets_per_s_deferred_ack_on")),
                (_head("Packets/s, deferred", HERE), _here(_packets, _four)),
                (_head("Rate, deferred", STUDY), _study("mbps_deferred_ack_on", unit=" Mbit/s")),
                (_head("Rate, deferred", HERE), _here(_goodput, _mbps)),
                (_head("Packets/s, not deferred", STUDY), _study("packets_per_s_deferred_ack_off")),
                (_head("Packets/s, not deferred", HERE), _Other(_NODELAY_QUICK, _here(_packets, _four))),
                (_head("Rate, not deferred", STUDY), _study("mbps_deferred_ack_off", unit=" Mbit/s")),
                (_head("Rate, not deferred", HERE), _Other(_NODELAY_QUICK, _here(_goodput, _mbps))),
            ),
        ),
    ),
    "packet-rate": (
        Comparison(
            "gbe_cpu_share",
            "Where the sender's CPU time goes",
            "User time here is a share of the busy time. System time here includes the copy from user to kernel, which "
            "the study reports separately.",
            lambda row: {"write_size_bytes": int(row["payload_bytes"])},
            (
                (Column("Payload (bytes)"), _study("payload_bytes")),
                (_head("User", STUDY), _study("user_percent", unit=" %")),
                (_head("User", HERE), _here(_user_of_busy, percent)),
                (_head("Copy", STUDY), _study("user_to_kernel_copy_percent", unit=" %")),
                (_head("System", HERE), _here(_kind("system"), percent)),
                (_head("Soft interrupts", HERE), _here(_kind("softirq"), percent)),
                (_head("Packets/s", HERE), _here(_packets, _four)),
                (_head("Rate", HERE), _here(_goodput, _mbps)),
            ),
        ),
    ),
    "copy-steps": (
        Comparison(
            "gbe_copy_steps",
            "Gain over a multiplier of 1",
            "",
            lambda row: {name: int(row[name]) for name in ("connections", MULTIPLIER)},
            (
                (Column("Connections"), _study("connections")),
                (Column("Multiplier"), _study(MULTIPLIER)),
                (_head("Goodput", HERE), _here(_goodput, _mbps)),
                (_head("Gain", STUDY), _study("gain_percent", unit=" %")),
                (_head("Gain", HERE), _Gain(MULTIPLIER, 1, ("connections",))),
            ),
        ),
    ),
    "solaris-rr": (
        Comparison(
            "gbe_tcp_rr",
            "Transactions per second, deferred ACK off and on",
            "",
            _rr(quick=True),
            (
                (Column("Payload (bytes)"), _study("payload_bytes")),
                (_head("Off", STUDY), _study("deferred_ack_off")),
                (_head("Off", HERE), _here(_rate, _four)),
                (Column("Error, off"), _error("deferred_ack_off", _rate)),
                (_head("On", STUDY), _study("deferred_ack_on")),
                (_head("On", HERE), _Other(_rr(quick=False), _here(_rate, _four))),
                (Column("Error, on"), _Other(_rr(quick=False), _error("deferred_ack_on", _rate))),
            ),
        ),
    ),
    "solaris-small-messages": (
        Comparison(
            "gbe_small_packets_nagle",
            "With Nagle's algorithm, ACKs deferred",
            MISPRINT_NOTE,
            _small("message_bytes", no_delay=False, quick=False),
            (
                (Column("Message (bytes)"), _study("message_bytes")),
                (
                    _head("Payloads on the wire", STUDY, number=False),
                    _study("on_wire_payload_bytes", text=lambda text: text.replace(";", ", ")),
                ),
                (_head("Payloads on the wire", HERE, number=False), _of_log("payloads")),
                (_head("Packets/s", STUDY), _study("packets_per_s")),
                (_head("Packets/s", HERE), _here(_packets, _four)),
                (Column("Error"), _error("packets_per_s", _packets)),
                (_head("Rate", STUDY), _study("throughput_mbps", unit=" Mbit/s")),
                (_head("Rate", HERE), _here(_goodput, _mbps)),
            ),
        ),
        Comparison(
            "gbe_small_packets_nodelay",
            "Without Nagle's algorithm",
            "",
            _NODELAY,
            (
                (Column("Message (bytes)"), _study("payload_bytes")),
                (_head("Packets/s, deferred", STUDY), _study("packets_per_s_deferred_ack_on")),
                (_head("Packets/s, deferred", HERE), _here(_packets, _four)),
                (Column("Error, deferred"), _error("packets_per_s_deferred_ack_on", _packets)),
                (_head("Packets/s, not deferred", STUDY), _study("packets_per_s_deferred_ack_off")),
                (_head("Packets/s, not deferred", HERE), _Other(_NODELAY_QUICK, _here(_packets, _four))),
                (
                    Column("Error, not deferred"),
                    _Other(_NODELAY_QUICK, _error("packets_per_s_deferred_ack_off", _packets)),
                ),
                (_head("Rate, deferred", STUDY), _study("mbps_deferred_ack_on", unit=" Mbit/s")),
                (_head("Rate, deferred", HERE), _here(_goodput, _mbps)),
            ),
        ),
    ),
    "connections": (TRANSMIT,),
    "transmit-cost": (replace(TRANSMIT, keep=lambda row: row["connections"] in {"1", "100", "1000", "4000"}),),
    "threads-or-events": (THREADS_OR_EVENTS,),
}
"""The tables of the studies by the shipped profile that repeats them."""
