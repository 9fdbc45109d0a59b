"""The rows of a comparison of tools, for the terminal and for the page."""

from collections.abc import Iterator, Sequence

from lab.tools.reasons import times
from lab.tools.tool_runs import OWN, Ratio, ToolFigures, ToolReport, ToolsComparison, Verdict
from whyperf.analyze.text import bit_rate, count, octets, percent, seconds, significant

MARK = " *"
NONE = "-"


def setting_text(found: ToolsComparison) -> str:
    """Says what was compared, in a sentence or two."""
    load = found.load
    shape = {
        "stream": count(load.connections, "stream"),
        "rr": f"request/response ({load.request_bytes:,} and {load.response_bytes:,} bytes)",
        "udp": f"datagrams of {load.datagram_bytes:,} bytes",
    }[load.workload]
    control = found.setting.get("congestion_control")
    by = f", {control}" if control and load.workload != "udp" else ""
    return (
        f"{shape}{by}, {load.warmup_s:g} s of warm-up and {load.duration_s:g} s; "
        f"{count(found.pairs, 'block')} in random order (seed {found.seed}); {found.host}"
    )


Rows = Sequence[tuple[str, ...]]


def tables_of(found: ToolsComparison) -> Iterator[tuple[tuple[str, ...], Rows]]:
    """The headings and the rows of the figures, of the cost of the tools themselves, and of the ratios."""
    work = "transaction" if found.load.workload == "rr" else "KB"
    yield (
        ("Tool", "Runs", "Reports", "In the window", "Whole run"),
        [
            (
                f"{each.tool} {each.version}".strip(),
                str(each.runs),
                *(_rate(each, value) for value in (each.reported, each.window, each.whole)),
            )
            for each in found.figures
        ],
    )
    yield (
        ("Cost of the tool", f"CPU/{work}, sender", "User", f"CPU/{work}, receiver", "User", "Sends/s", "Bytes/send"),
        [
            (
                each.tool,
                _time(each.cpu_ns_sender),
                _share(each.user_ratio_sender),
                _time(each.cpu_ns_receiver),
                _share(each.user_ratio_receiver),
                NONE if each.calls_per_s_sender is None else f"{each.calls_per_s_sender:,.0f}",
                NONE if each.bytes_per_call_sender is None else octets(each.bytes_per_call_sender),
            )
            for each in found.figures
        ],
    )
    others = [each for each in found.figures if each.ratios]
    if others:
        yield (
            (f"Ratio to {OWN}", *(each.tool for each in others)),
            [
                (title, *(_ratio(each, name) for each in others))
                for name, title in dict.fromkeys((ratio.name, ratio.title) for each in others for ratio in each.ratios)
            ],
        )


def difference_rows(report: ToolReport) -> list[tuple[str, str, str, str]]:
    """The things that a tool does in another way: the tool, the own load, and what a test of it showed."""
    return [(each.title, each.tool, each.own, "; ".join(_outcomes(each.verdicts))) for each in report.differences]


def _outcomes(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Of which figures it is the reason; "nothing to explain" where no figure differs."""
    for outcome, text in _OUTCOMES.items():
        titles = [_SHORT.get(verdict.of, verdict.of) for verdict in verdicts if verdict.outcome == outcome]
        if titles:
            yield f"{text} {', '.join(titles)}"
    if verdicts and all(verdict.outcome == "none" for verdict in verdicts):
        yield "nothing to explain"


_OUTCOMES = {"vanishes": "the reason of:", "shrinks": "a part of:", "stays": "not the reason of:"}
_SHORT = {
    "window": "rate",
    "counting": "reported over moved",
    "cpu_sender": "sender's CPU",
    "cpu_receiver": "receiver's CPU",
}


def _rate(each: ToolFigures, value: float | None) -> str:
    if value is None:
        return NONE
    return bit_rate(value) if each.rate_unit == "bit/s" else f"{significant(value)}/s"


def _time(value: float | None) -> str:
    return NONE if value is None else seconds(value)


def _share(value: float | None) -> str:
    return NONE if value is None else percent(value)


def _ratio(each: ToolFigures, name: str) -> str:
    ratio = next((ratio for ratio in each.ratios if ratio.name == name), None)
    return NONE if ratio is None else ratio_text(ratio)


def ratio_text(ratio: Ratio) -> str:
    """A ratio with its interval, and the mark where it is significant."""
    return times(ratio) + (MARK if ratio.is_significant else "")
