"""`whyperf model simulate … --what-if`: what a change would bring, by every member of a calibrated host's ensemble."""

import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from whyperf.analyze.text import percent, significant
from whyperf.calibrate import (
    CalibratedHost,
    CalibrationError,
    QuestionError,
    Range,
    WhatIf,
    ask_what_if,
    changes,
    model,
    read_host,
)
from whyperf.cli.exits import DONE, UsageError, say
from whyperf.cli.inputs.question import understand
from whyperf.cli.output.calibration import PLAIN_WIDTH
from whyperf.cli.output.console import Console
from whyperf.cli.streams import print_json
from whyperf.plan import build
from whyperf.profile import Overrides

#: Beyond, a table says less than a report.
MAX_CELLS = 400


def what_if(
    question: str,
    hosts: str | None,
    change: str,
    *,
    only: Sequence[str] = (),
    overrides: Overrides | None = None,
    as_json: bool = False,
) -> int:
    """Answers a what-if for every cell of a profile; returns the exit code."""
    if hosts is None:
        raise UsageError("--what-if needs a calibrated host: --hosts my-host.toml (whyperf model calibrate makes one)")
    if not hosts.endswith(".toml"):
        raise UsageError(f"--what-if: {hosts} is not calibrated; name the file that whyperf model calibrate wrote")
    try:
        changed = changes(change)
        host = read_host(Path(hosts))
    except CalibrationError as error:
        raise UsageError(str(error)) from None
    if host.kernel != platform.release():
        say(f"Calibrated on kernel {host.kernel}; this one is {platform.release()}: calibrate here for its costs")
    cells = _cells(question, only, overrides or {}, host)
    with model() as simulator:
        try:
            answers = ask_what_if(host, simulator, cells, changed)
        except QuestionError as error:
            raise UsageError(str(error)) from None
    if as_json:
        print_json([_plain(answer) for answer in answers])
    else:
        _print(host, answers, changed)
    return DONE


def _cells(question: str, only: Sequence[str], overrides: Overrides, host: CalibratedHost) -> list[Mapping[str, Any]]:
    """The factors of the profile's cells, with a window where the profile leaves it to the kernel."""
    profile, named = understand(question, None)
    if named is not None:
        raise UsageError(f"{named} is no profile; the model needs no host but --hosts")
    plan = build(profile, only=tuple(only), overrides=overrides)
    if len(plan.cells) > MAX_CELLS:
        raise UsageError(f"{profile.name} has {len(plan.cells):,} cells; take a part of them with --only")
    largest = max((level for level in host.levels.get("window_bytes", ()) if isinstance(level, int)), default=4 << 20)
    cells: list[Mapping[str, Any]] = []
    for cell in plan.cells:
        factors = dict(cell.factors)
        if factors.get("window_bytes") == "default":
            factors["window_bytes"] = largest
        if factors.get("congestion_control") == "default":
            factors["congestion_control"] = host.fixed.get("congestion_control", "cubic")
        cells.append(factors)
    return cells


def _plain(answer: WhatIf) -> dict[str, object]:
    """In plain types: rates in bit/s, the gain as a ratio less 1."""
    return {
        "factors": dict(answer.factors),
        "changed": {name: level for name, level in answer.changed.items() if answer.factors.get(name) != level},
        "before_bps": asdict(answer.before_bps),
        "after_bps": asdict(answer.after_bps),
        "gain_ratio": asdict(answer.gain),
        "sender_busy_ratio": [asdict(answer.busy_before[0]), asdict(answer.busy_after[0])],
        "receiver_busy_ratio": [asdict(answer.busy_before[1]), asdict(answer.busy_after[1])],
        "extrapolates": list(answer.extrapolates),
    }


def _print(host: CalibratedHost, answers: Sequence[WhatIf], changed: Mapping[str, Any]) -> None:
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)
    varied = [name for name in answers[0].factors if len({str(answer.factors[name]) for answer in answers}) > 1]
    changes = ", ".join(f"{name}={level}" for name, level in changed.items())
    console.print(f"What if {changes}, by {len(host.sets)} sets of costs that fit this host about equally well:\n")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    for heading in (*varied, "Gbit/s as it is", "Changed", "Gain", "Sender CPU", "Receiver CPU", ""):
        table.add_column(heading, justify="right" if heading else "left")
    for answer in answers:
        table.add_row(
            *(f"{level:,}" if isinstance(level := answer.factors[name], int) else str(level) for name in varied),
            _rates(answer.before_bps),
            _rates(answer.after_bps),
            _gain(answer.gain),
            _shares(answer.busy_before[0], answer.busy_after[0]),
            _shares(answer.busy_before[1], answer.busy_after[1]),
            "extrapolated" if answer.extrapolates else "",
        )
    console.print(table)
    console.print(
        f"\nCalibrated on {host.kernel} ({host.measured_on.get('date')}); off by {percent(host.held_out_error_ratio)} "
        "in the median where no fit had looked. Ranges are those of the sets, and leave that error out."
    )
    for reason in dict.fromkeys(reason for answer in answers for reason in answer.extrapolates):
        console.print(f"Extrapolated: {reason}.")


def _rates(found: Range) -> str:
    low, median, high = (significant(bps / 1e9) for bps in (found.low, found.median, found.high))
    return f"{median} ({low} to {high})"


def _gain(found: Range) -> str:
    low, median, high = (f"{ratio:+.0%}".replace("%", " %") for ratio in (found.low, found.median, found.high))
    return f"{median} ({low} to {high})"


def _shares(before: Range, after: Range) -> str:
    return f"{percent(before.median)} → {percent(after.median)}"
