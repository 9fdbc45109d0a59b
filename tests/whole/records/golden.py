"""Stored records of every kind, and what whyperf prints of them.

`tests/records` has the whole JSON output of one record, and a few lines of main figures for each of them.
`python -m tests.whole.records.golden` writes both again.
"""

import contextlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whyperf.cli import main

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "tests" / "records"
TABLES = FOLDER / "tables.json"
"""The columns of the stored records: those of the day on which they were made."""
FIGURES = FOLDER / "main_figures.txt"
WHOLE = "stream-segments"
"""The record whose outputs are stored whole."""
KINDS = sorted(path.name.removesuffix(".tar.xz") for path in FOLDER.glob("*.tar.xz"))
#: `run --json` prints the document of `show --json`; it needs a host.
COMMANDS = ("show", "explain", "flow")
ROLES = ("sender", "receiver")
TRIALS = ("trials", "failed_trials", "deadline_trials")
#: Keys with sentences for readers. Their wording may change; whether there is one, and how many, may not.
TEXTS = {
    *("advice", "because", "by_hand", "cause_words", "changed_by", "claim", "gaps", "gives", "headline", "missing"),
    *("predicted_from", "prediction_words", "reason", "refuted_by", "text", "unpredicted_because", "waits", "words"),
}
TEXT = "<text>"


@dataclass(frozen=True)
class Output:
    """What a command printed and how it ended."""

    status: int
    text: str


def unpack(kind: str, folder: Path) -> None:
    """Puts a stored record into `folder/results`."""
    with tarfile.open(FOLDER / f"{kind}.tar.xz") as archive:
        archive.extractall(folder / "results", filter="data")


def output(*arguments: str) -> Output:
    """Runs a command in this process."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = main(arguments)
    return Output(status, printed.getvalue())


def without_texts(value: Any, key: str = "") -> Any:
    """The document with a mark in place of every sentence."""
    if isinstance(value, Mapping):
        return {name: without_texts(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [without_texts(part, key) for part in value]
    return TEXT if key in TEXTS and isinstance(value, str) and value else value


def documents(kind: str) -> dict[str, dict[str, Any]]:
    """What each command prints of a record, from the folder that has it in `results`."""
    found = {}
    for command in COMMANDS:
        printed = output(command, f"results/{kind}", "--json")
        found[command] = {"status": printed.status, "document": without_texts(json.loads(printed.text))}
    return found


def tables() -> dict[str, list[list[Any]]]:
    """Name, type and whether it may be null, of every column of every table, in order."""
    defined = json.loads((ROOT / "schemas" / "tables.json").read_text())["tables"]
    return {
        table["name"]: [[column["name"], column["type"], column["optional"]] for column in table["columns"]]
        for table in defined
    }


def stored() -> dict[str, dict[str, Any]]:
    """What the commands printed of `WHOLE` when it was stored."""
    found: dict[str, dict[str, Any]] = json.loads((FOLDER / f"{WHOLE}.json").read_text())
    return found


def stored_figures() -> dict[str, list[str]]:
    """The lines of `main_figures` of every record, as they were stored."""
    blocks = FIGURES.read_text().strip().split("\n\n")
    return {lines[0]: lines for lines in map(str.splitlines, blocks)}


def main_figures(kind: str, printed: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What a record is about, in lines that a person can compare: figures have 4 digits."""
    show, explain, flow = (printed[command]["document"] for command in COMMANDS)
    lines = [kind, "exit: " + ", ".join(f"{command} {printed[command]['status']}" for command in COMMANDS)]
    lines.append("warnings: " + ", ".join(warning["code"] for warning in show["warnings"]))
    for cell, explained in zip(show["cells"], explain["cells"], strict=True):
        lines.append(f"{cell['id']} {cell['workload']}: " + ", ".join(f"{key} {cell[key]}" for key in TRIALS))
        lines += [f"  {name}: {value}" for name, value in _measured(cell) if value]
        lines += [f"  {name}: {value}" for name, value in _explained(explained)]
    for connection in flow["connections"]:
        keys = ("payload_bytes", "data_packets", "data_segments", "retransmitted_packets", "acks")
        counts = ", ".join(f"{key} {connection[key]}" for key in keys)
        lines.append(f"flow {flow['trial']}/{connection['connection']} by {connection['level']}: {counts}")
    return lines


def _measured(cell: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and text of each figure that the cell has."""
    yield "goodput", _si(cell["goodput_bps"]["median"], "bit/s")
    if served := cell["transactions"]:
        latency = served["latency"] or {}
        yield "transactions", f"{_si(served['per_s']['median'], '/s')}, {served['count']} in all"
        yield "latency", ", ".join(f"{key} {_time(latency.get(f'{key}_ns'))}" for key in ("p50", "p90", "max"))
        yield "connect p50", _time((served["connect"] or {}).get("p50_ns"))
    if datagrams := cell["datagrams"]:
        yield "datagrams", f"{datagrams['received_count']} received, {datagrams['lost_count']} lost"
        yield "jitter", _time(datagrams["jitter_ns"])
    if connections := cell["connections"]:
        yield "fairness", _si(connections["fairness"])
    if transports := cell["transports"]:
        yield "flows", ", ".join(f"{key} {_si(transports[key]['median'])}" for key in ("stability", "fairness_min"))
        yield "RTT of flows", _time(1e9 * transports["rtt"]["mean_s"]["median"])
    if probe := cell["rtt_probe"]:
        yield "RTT probe", f"{_time(probe['load']['p50_ns'])} under load, {probe['lost_count']} lost"
    yield "retransmitted", _si(cell["retransmitted_segments"]["median"], "segments")
    yield "window", _si(cell["window"]["granted_bytes"], "B granted")
    cpu, cycles = cell["cpu"], cell["cycles_per_kbyte"]
    yield "CPU busy", ", ".join(f"{role} {_si(cpu[role]['busy_ratio']) or 'unknown'}" for role in ROLES)
    yield "cycles per kB", ", ".join(f"{role} {_si(cycles[role], 'cycles')}" for role in ROLES if cycles[role])
    yield "opening", _si((cell["setup"] or {}).get("per_s"), "/s")


def _explained(cell: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for budget in cell["budgets"]:
        states = [f"{share['state']} {100 * share['ratio']:.0f} %" for share in budget["shares"][:3]]
        yield f"{budget['host']}/{budget['connection']} {budget['role']}", ", ".join(states)
    if verdicts := cell["verdicts"]:
        first, gain = verdicts[0], verdicts[0]["predicted_gain"]
        cost = f"costs {100 * first['lost_ratio']:.4g} %" + (f", gain {gain:.4g} ×" if gain else "")
        yield "cause", f"{first['cause']}, {first['confidence']} confidence, {cost}"
        yield "other causes", ", ".join(verdict["cause"] for verdict in verdicts[1:]) or "none"


def _si(value: float | None, unit: str = "") -> str:
    """4 digits, with the prefix that keeps a number with a unit below 1,000."""
    if value is None:
        return ""
    prefixes = ["", "k", "M", "G"] if unit else [""]
    while value >= 1000 and len(prefixes) > 1:
        value, prefixes = value / 1000, prefixes[1:]
    return f"{value:.4g} {prefixes[0]}{unit}".strip()


def _time(value_ns: float | None) -> str:
    return "" if value_ns is None else f"{value_ns / 1e6:.4g} ms"


def _write_all() -> None:
    blocks = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = f"{folder}/state"
        os.chdir(folder)
        for kind in KINDS:
            unpack(kind, Path(folder))
            printed = documents(kind)
            blocks.append("\n".join(main_figures(kind, printed)))
            if kind == WHOLE:
                (FOLDER / f"{kind}.json").write_text(json.dumps(printed, indent=1) + "\n")
    FIGURES.write_text("\n\n".join(blocks) + "\n")


if __name__ == "__main__":
    _write_all()
