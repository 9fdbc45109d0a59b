"""The segment flow of a host in lines, each a label and a text, for the terminal and for the page."""

from collections.abc import Iterator

from whyperf.analyze.text import count, octets, percent, significant
from whyperf.report.flow.about import size_text
from whyperf.report.flow.summary import HostFlow
from whyperf.report.flow.terms import ACK_REASON_TEXT, CONTEXT_TEXT, RETRANSMISSION_TEXT

Row = tuple[str, str]
Ratio = tuple[str, float]

FEW = 4
"""A host that sent at most this many packets, or ACKs, per connection only made the handshake: it has no shares."""

FREQUENT = 5
MIN_RATIO = 0.0005
"""A smaller ratio would be shown as 0.0 %."""


def host_rows(flow: HostFlow) -> list[Row]:
    """All known facts of a host, in the order they are shown."""
    return [("Log", log_text(flow)), *((label, text) for label, text in _facts(flow) if text)]


def log_text(flow: HostFlow) -> str:
    """Says whether the log of this host is complete, or why there is none."""
    if flow.log is not None:
        rows = count(flow.log.rows_count, "row")
        return f"{flow.log.summary}, {rows}" + (f". {flow.log.reason}" if flow.log.reason else "")
    evidence = flow.end.evidence
    why = f": {evidence.reason}" if evidence.reason else ""
    return f"none{why}" if evidence.asked == "segments" else f"none requested{why}"


def _facts(flow: HostFlow) -> Iterator[tuple[str, str]]:
    sends = flow.end.role == "sender"
    yield "Sent" if sends else "Received", _transferred(flow)
    yield "Average", _average(flow)
    yield "Most frequent", _frequent(flow)
    yield (
        "Sequence",
        flow.payloads.words if flow.payloads is not None and _sent(flow) > FEW * flow.connections_count else "",
    )
    yield "Unacknowledged", _largest(flow, "unacked_bytes_max")
    yield "Window", _window(flow)
    yield "ACKs received" if sends else "ACKs sent", _acks(flow)
    yield "ACK reasons", _reasons(flow)
    yield "Send context", _contexts(flow) if _sent(flow) > FEW * flow.connections_count else ""
    yield "Retransmitted", _retransmitted(flow)
    yield "Out of order", _out_of_order(flow)
    # In the other direction there is little more than the preamble.
    yield (
        ("Send call", _mean(flow, "write_size_bytes_mean"))
        if sends
        else (
            "Receive call",
            _mean(flow, "read_size_bytes_mean"),
        )
    )


def _transferred(flow: HostFlow) -> str:
    segments, octet_count, packets = (flow.value(name) for name in ("data_segments", "data_bytes", "data_packets"))
    parts = [count(round(segments), "segment")] if segments is not None else []
    parts += [octets(octet_count)] if octet_count is not None else []
    parts += [f"in {count(round(packets), 'packet')}"] if packets is not None and packets != segments else []
    return _leveled(flow, ", ".join(parts), "data_segments")


def _average(flow: HostFlow) -> str:
    segment, packet = flow.value("segment_bytes_mean"), flow.value("packet_bytes_mean")
    parts = [f"{mean_text(segment)} bytes per segment"] if segment is not None else []
    if packet is not None and segment and packet > 1.005 * segment:
        parts.append(f"{mean_text(packet)} bytes per super-segment ({significant(packet / segment)} segments)")
    return _leveled(flow, ", ".join(parts), "segment_bytes_mean")


def _frequent(flow: HostFlow) -> str:
    """The most frequent payload sizes that the host sent."""
    if flow.sizes is None or _sent(flow) <= FEW * flow.connections_count:
        return ""
    if flow.payloads is not None:
        frequent = flow.payloads.frequent[:FREQUENT]
        return ", ".join(f"{octets(size)} ({percent(ratio)})" for size, ratio in frequent if ratio >= MIN_RATIO)
    sizes = flow.sizes.sizes.sort("count", descending=True).head(FREQUENT)
    columns = sizes.select("size_bytes", "last_bytes", "count_ratio").iter_rows()
    text = ", ".join(f"{size_text(low, high)} ({percent(ratio)})" for low, high, ratio in columns if ratio >= MIN_RATIO)
    return text if flow.sizes.level == "segments" else f"{text} [{flow.sizes.level}, {flow.sizes.of}]"


def _sent(flow: HostFlow) -> int:
    return 0 if flow.sizes is None else int(flow.sizes.sizes["count"].sum())


def _largest(flow: HostFlow, name: str) -> str:
    value = flow.value(name)
    return "" if value is None else _leveled(flow, f"at most {octets(value)}", name)


def _mean(flow: HostFlow, name: str) -> str:
    value = flow.value(name)
    return "" if value is None else _leveled(flow, f"{mean_text(value)} bytes on average", name)


def _window(flow: HostFlow) -> str:
    low, high = flow.value("window_bytes_min"), flow.value("window_bytes_max")
    if low is None or high is None:
        return ""
    text = octets(low) if low == high else f"{low:,.0f} to {octets(high)}"
    return _leveled(flow, text, "window_bytes_max")


def _acks(flow: HostFlow) -> str:
    acks, segments, packets = (flow.value(name) for name in ("acks_count", "segments_per_ack", "packets_per_ack"))
    if acks is None:
        return ""
    parts = [f"{acks:,.0f}"]
    if round(acks) == 0:
        return _leveled(flow, parts[0], "acks_count")
    parts += [f"{significant(segments)} segments per ACK"] if segments is not None else []
    parts += [f"{significant(packets)} packets per ACK"] if packets is not None and packets != segments else []
    per_window = _acks_per_window(flow, acks)
    parts += [f"{significant(per_window)} ACKs per window"] if per_window is not None else []
    return _leveled(flow, ", ".join(parts), "acks_count")


MAX_ACKS_PER_WINDOW = 8
"""Of larger windows segments per ACK say more."""


def _acks_per_window(flow: HostFlow, acks: float) -> float | None:
    """ACKs per largest announced window of payload; None where it is not known, or the window holds many."""
    window, data = flow.value("window_bytes_max"), flow.value("data_bytes")
    if not window or not data:
        return None
    found = acks * window / data
    return found if found <= MAX_ACKS_PER_WINDOW else None


def reason_ratios(flow: HostFlow) -> list[Ratio]:
    """Reasons of the pure ACKs that this host sent, most frequent first; empty if it only made the handshake."""
    counts = {text: flow.value(f"ack_{name}_count") or 0.0 for name, text in ACK_REASON_TEXT.items()}
    total = sum(counts.values())
    if total <= FEW * flow.connections_count:
        return []
    return _ordered({text: number / total for text, number in counts.items()})


def context_ratios(flow: HostFlow) -> list[Ratio]:
    """Contexts in which this host sent data, most frequent first."""
    return _ordered({text: flow.value(f"context_{name}_ratio") or 0.0 for name, text in CONTEXT_TEXT.items()})


def _ordered(ratios: dict[str, float]) -> list[Ratio]:
    return sorted(((text, ratio) for text, ratio in ratios.items() if ratio >= MIN_RATIO), key=lambda share: -share[1])


def _shares(ratios: list[Ratio]) -> str:
    return ", ".join(f"{text} {percent(ratio)}" for text, ratio in ratios)


def _reasons(flow: HostFlow) -> str:
    return _leveled(flow, _shares(reason_ratios(flow)), "ack_other_count")


def _contexts(flow: HostFlow) -> str:
    text = _shares(context_ratios(flow))
    ksoftirqd = flow.value("ksoftirqd_ratio") or 0.0
    if text and ksoftirqd >= MIN_RATIO:
        text += f"; in ksoftirqd {percent(ksoftirqd)}"
    return _leveled(flow, text, "context_other_ratio")


def _retransmitted(flow: HostFlow) -> str:
    packets = flow.value("retransmitted_packets")
    if packets is None:
        segments = flow.value("retransmitted_segments")
        text = "" if segments is None else count(round(segments), "segment")
        return _leveled(flow, text, "retransmitted_segments")
    kinds = {text: flow.value(f"retransmitted_{name}_packets") for name, text in RETRANSMISSION_TEXT.items()}
    known = ", ".join(f"{number:,.0f} {text}" for text, number in kinds.items() if number)
    text = count(round(packets), "packet") + (f": {known}" if known else "")
    return _leveled(flow, text, "retransmitted_packets")


def _out_of_order(flow: HostFlow) -> str:
    names = {"duplicate_acks_count": "duplicate ACK", "out_of_order_packets": "packet out of order"}
    plurals = {"packet out of order": "packets out of order"}
    values = [(noun, value) for name, noun in names.items() if (value := flow.value(name)) is not None]
    return " and ".join(count(round(value), noun, plurals.get(noun)) for noun, value in values) + (
        " received" if values else ""
    )


def _leveled(flow: HostFlow, text: str, name: str) -> str:
    """`text` with its evidence level, where that is not the log."""
    level = flow.facts[name].level
    return f"{text} [{level}]" if text and level not in {None, "segments"} else text


def mean_text(value: float) -> str:
    """A mean number of bytes, as an integer from 100 on."""
    return f"{value:,.0f}" if value >= 99.5 else significant(value)
