"""The result as a table for people, as Markdown for docs/background/performance.md, and as JSON."""

import json
from collections.abc import Iterator
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from lab.bench.plan import WHYPERF, Cell, Setting
from lab.bench.ratio import Ratio
from lab.bench.sample import Sample
from lab.bench.summary import CellSummary

HEADINGS = (
    *("Load, connections × size", "Peer"),
    *("whyperf", "Peer's", "Ratio"),
    *("whyperf CPU", "Peer's CPU", "CPU ratio", "Busy ratio"),
)


def ratio_text(ratio: Ratio) -> str:
    """`1.04 (1.01–1.06)`: the median and its 95 % interval."""
    return f"{ratio.median:.2f} ({ratio.low:.2f}–{ratio.high:.2f})"


def rate_text(cell: Cell, rate: float) -> str:
    """`35.6 Gbit/s`, `82,000 /s`."""
    return f"{rate:,.0f} /s" if cell.counts_transactions else f"{rate / 1e9:.3g} Gbit/s"


def cpu_text(cell: Cell, cpu_ns: float) -> str:
    """`331 ns/KB`, `12,400 ns each`."""
    return f"{cpu_ns:,.0f} ns each" if cell.counts_transactions else f"{cpu_ns:,.0f} ns/KB"


def rows(summaries: list[CellSummary]) -> Iterator[tuple[str, ...]]:
    """One row a cell and peer, in the order of [`HEADINGS`]; one without a peer where none can do it."""
    for summary in summaries:
        cell = summary.cell
        ours = summary.tools.get(WHYPERF)
        if ours is None:
            continue
        own = rate_text(cell, ours.rate), cpu_text(cell, ours.cpu_ns_per_unit)
        if not summary.against:
            yield cell.name, "none", own[0], "", "", own[1], "", "", ""
        for peer, comparison in summary.against.items():
            theirs = summary.tools[peer]
            yield (
                *(cell.name, peer, own[0], rate_text(cell, theirs.rate), ratio_text(comparison.rate)),
                *(own[1], cpu_text(cell, theirs.cpu_ns_per_unit)),
                *(ratio_text(comparison.cpu), ratio_text(comparison.busy)),
            )


def print_table(summaries: list[CellSummary], console: Console) -> None:
    """Prints the comparison."""
    table = Table(title="whyperf over its peers: medians of pairs, 95 % intervals")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "Peer" else "right")
    for row in rows(summaries):
        table.add_row(*row)
    console.print(table)


def markdown(summaries: list[CellSummary], setting: Setting, machine: dict[str, str]) -> str:
    """The fragment for docs/background/performance.md."""
    pairs = max((comparison.rate.pairs for summary in summaries for comparison in summary.against.values()), default=0)
    window = f"{setting.window_bytes} bytes" if setting.window_bytes else "the kernel's default"
    facts = [
        *(f"{name} {value}" for name, value in machine.items()),
        f"sender on CPU {setting.sender_cpu}, receiver on CPU {setting.receiver_cpu}",
        f"congestion control {setting.congestion_control}, window {window}",
        f"{pairs} pairs of {setting.measure_s} s after {setting.warmup_s} s of warm-up",
    ]
    lines = [
        "; ".join(facts) + ".",
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|" + " ---: |" * len(HEADINGS),
        *("| " + " | ".join(row) + " |" for row in rows(summaries)),
    ]
    return "\n".join(lines) + "\n"


def document(
    samples: list[Sample], summaries: list[CellSummary], setting: Setting, machine: dict[str, str], seed: int
) -> str:
    """Every sample as JSON, so that any other summary can be made later."""
    content = {
        "seed": seed,
        "machine": machine,
        "setting": asdict(setting),
        "samples": [asdict(sample) for sample in samples],
        "cells": [asdict(summary) for summary in summaries],
    }
    return json.dumps(content, indent=1) + "\n"
