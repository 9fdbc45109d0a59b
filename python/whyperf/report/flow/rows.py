"""What is told of an end in lines: a label and a text, for the terminal and for the page."""

from collections.abc import Iterator

from whyperf.analyze.text import count, octets, percent, significant
from whyperf.report.flow.about import size_words
from whyperf.report.flow.summary import EndTold
from whyperf.report.flow.terms import ACK_REASON_WORDS, CONTEXT_WORDS, RETRANSMISSION_WORDS

Row = tuple[str, str]
Ratio = tuple[str, float]

FEW = 4
"""An end that sent no more packets, or ACKs, than this on a connection only shook hands: it has no shares."""

FREQUENT = 5
LEAST_RATIO = 0.0005
"""Below this a percentage would read 0.0."""


def end_rows(told: EndTold) -> list[Row]:
    """Everything that is known of an end, in the order it is told."""
    return [("Log", log_text(told)), *((label, text) for label, text in _facts(told) if text)]


def log_text(told: EndTold) -> str:
    """Whether this end's log is complete, or why there is none."""
    if told.log is not None:
        rows = count(told.log.rows_count, "row")
        return f"{told.log.words}, {rows}" + (f". {told.log.reason}" if told.log.reason else "")
    evidence = told.end.evidence
    why = f": {evidence.reason}" if evidence.reason else ""
    return f"none{why}" if evidence.asked == "segments" else f"none was asked for{why}"


def _facts(told: EndTold) -> Iterator[tuple[str, str]]:
    sends = told.end.role == "sender"
    yield "Sent" if sends else "Arrived", _moved(told)
    yield "Average", _average(told)
    yield "Most frequent", _frequent(told)
    yield (
        "Sequence",
        told.payloads.words if told.payloads is not None and _sent(told) > FEW * told.connections_count else "",
    )
    yield "Unacknowledged", _most(told, "unacked_bytes_max")
    yield "Window", _window(told)
    yield "ACKs arrived" if sends else "ACKs sent", _acks(told)
    yield "ACK reasons", _reasons(told)
    yield "Sent from", _contexts(told) if _sent(told) > FEW * told.connections_count else ""
    yield "Sent again", _again(told)
    yield "Disorder", _disorder(told)
    # The other way there is little more than the preamble.
    yield (
        ("Send call", _mean(told, "write_size_bytes_mean"))
        if sends
        else (
            "Receive call",
            _mean(told, "read_size_bytes_mean"),
        )
    )


def _moved(told: EndTold) -> str:
    segments, moved, packets = (told.value(name) for name in ("data_segments", "data_bytes", "data_packets"))
    parts = [count(round(segments), "segment")] if segments is not None else []
    parts += [octets(moved)] if moved is not None else []
    parts += [f"in {count(round(packets), 'packet')}"] if packets is not None and packets != segments else []
    return _leveled(told, ", ".join(parts), "data_segments")


def _average(told: EndTold) -> str:
    segment, packet = told.value("segment_bytes_mean"), told.value("packet_bytes_mean")
    parts = [f"{mean_words(segment)} bytes a segment"] if segment is not None else []
    if packet is not None and segment and packet > 1.005 * segment:
        parts.append(f"{mean_words(packet)} bytes a super-segment ({significant(packet / segment)} segments)")
    return _leveled(told, ", ".join(parts), "segment_bytes_mean")


def _frequent(told: EndTold) -> str:
    """The most frequent payloads of what the end sent."""
    if told.sizes is None or _sent(told) <= FEW * told.connections_count:
        return ""
    if told.payloads is not None:
        frequent = told.payloads.frequent[:FREQUENT]
        return ", ".join(f"{octets(size)} ({percent(ratio)})" for size, ratio in frequent if ratio >= LEAST_RATIO)
    sizes = told.sizes.sizes.sort("count", descending=True).head(FREQUENT)
    columns = sizes.select("size_bytes", "last_bytes", "count_ratio").iter_rows()
    words = ", ".join(
        f"{size_words(low, high)} ({percent(ratio)})" for low, high, ratio in columns if ratio >= LEAST_RATIO
    )
    return words if told.sizes.level == "segments" else f"{words} [{told.sizes.level}, {told.sizes.of}]"


def _sent(told: EndTold) -> int:
    return 0 if told.sizes is None else int(told.sizes.sizes["count"].sum())


def _most(told: EndTold, name: str) -> str:
    value = told.value(name)
    return "" if value is None else _leveled(told, f"at most {octets(value)}", name)


def _mean(told: EndTold, name: str) -> str:
    value = told.value(name)
    return "" if value is None else _leveled(told, f"{mean_words(value)} bytes on average", name)


def _window(told: EndTold) -> str:
    low, high = told.value("window_bytes_min"), told.value("window_bytes_max")
    if low is None or high is None:
        return ""
    text = octets(low) if low == high else f"{low:,.0f} to {octets(high)}"
    return _leveled(told, text, "window_bytes_max")


def _acks(told: EndTold) -> str:
    acks, segments, packets = (told.value(name) for name in ("acks_count", "segments_per_ack", "packets_per_ack"))
    if acks is None:
        return ""
    parts = [f"{acks:,.0f}"]
    parts += [f"{significant(segments)} segments an ACK"] if segments is not None else []
    parts += [f"{significant(packets)} packets an ACK"] if packets is not None and packets != segments else []
    return _leveled(told, ", ".join(parts), "acks_count")


def reason_ratios(told: EndTold) -> list[Ratio]:
    """Why this end sent its pure ACKs, the commonest first; nothing where it only shook hands."""
    counts = {words: told.value(f"ack_{name}_count") or 0.0 for name, words in ACK_REASON_WORDS.items()}
    total = sum(counts.values())
    if total <= FEW * told.connections_count:
        return []
    return _ordered({words: number / total for words, number in counts.items()})


def context_ratios(told: EndTold) -> list[Ratio]:
    """Contexts in which this end sent data, the commonest first."""
    return _ordered({words: told.value(f"context_{name}_ratio") or 0.0 for name, words in CONTEXT_WORDS.items()})


def _ordered(ratios: dict[str, float]) -> list[Ratio]:
    return sorted(((words, ratio) for words, ratio in ratios.items() if ratio >= LEAST_RATIO), key=lambda one: -one[1])


def _shares(ratios: list[Ratio]) -> str:
    return ", ".join(f"{words} {percent(ratio)}" for words, ratio in ratios)


def _reasons(told: EndTold) -> str:
    return _leveled(told, _shares(reason_ratios(told)), "ack_other_count")


def _contexts(told: EndTold) -> str:
    text = _shares(context_ratios(told))
    ksoftirqd = told.value("ksoftirqd_ratio") or 0.0
    if text and ksoftirqd >= LEAST_RATIO:
        text += f"; in ksoftirqd {percent(ksoftirqd)}"
    return _leveled(told, text, "context_other_ratio")


def _again(told: EndTold) -> str:
    packets = told.value("retransmitted_packets")
    if packets is None:
        segments = told.value("retransmitted_segments")
        text = "" if segments is None else count(round(segments), "segment")
        return _leveled(told, text, "retransmitted_segments")
    kinds = {words: told.value(f"retransmitted_{name}_packets") for name, words in RETRANSMISSION_WORDS.items()}
    known = ", ".join(f"{number:,.0f} {words}" for words, number in kinds.items() if number)
    text = count(round(packets), "packet") + (f": {known}" if known else "")
    return _leveled(told, text, "retransmitted_packets")


def _disorder(told: EndTold) -> str:
    names = {"duplicate_acks_count": "duplicate ACK", "out_of_order_packets": "packet out of order"}
    plurals = {"packet out of order": "packets out of order"}
    values = [(noun, value) for name, noun in names.items() if (value := told.value(name)) is not None]
    return " and ".join(count(round(value), noun, plurals.get(noun)) for noun, value in values) + (
        " arrived" if values else ""
    )


def _leveled(told: EndTold, text: str, name: str) -> str:
    """`text` with the level it comes from, where that is not the log."""
    level = told.facts[name].level
    return f"{text} [{level}]" if text and level not in {None, "segments"} else text


def mean_words(value: float) -> str:
    """An average of bytes: whole from 100 on."""
    return f"{value:,.0f}" if value >= 99.5 else significant(value)
