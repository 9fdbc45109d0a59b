"""Segment logs written as traces, and the trials that hold them.

    0.0  > S  0:0
    0.1  < S. 0:0    ack 1
    0.2  > .  1:1449 ack 1   gso=1448 unacked=1448

A line is: milliseconds after the start of the load, the way (`>` sent, `<` arrived), the flags
(S SYN, F FIN, R RST, P PSH, a dot ACK), first and one past the last octet in relative numbers, and
what else is known. The numbers are made raw by adding `ISN`.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from whyperf.analyze.flow import FlowTrial, open_trial

MS = 1_000_000
START_NS = 7_000_000_000
FAR_OFFSET_NS = -3_000_000_000
ISN = {">": 4_294_967_290, "<": 17}
"""Initial sequence numbers by way; the first wraps after six octets."""

FLAGS = {"F": 1, "S": 2, "R": 4, "P": 8, ".": 16}
WORDS = ("direction", "context", "retransmission", "ack_reason")
U32, WORD = pl.UInt32(), pl.Categorical()
SCHEMA: Mapping[str, pl.DataType] = {
    "host": WORD,
    "connection": U32,
    "role": WORD,
    "direction": WORD,
    "segment_mono_ns": pl.UInt64(),
    **dict.fromkeys(("sequence", "acknowledgment", "payload_bytes", "gso_size_bytes", "wire_segments"), U32),
    **dict.fromkeys(("flags", "window_field", "window_bytes", "unacked_bytes", "cwnd_segments"), U32),
    "context": WORD,
    "ksoftirqd": pl.Boolean(),
    "cpu": U32,
    "retransmission": WORD,
    "ack_reason": WORD,
}


def trace(text: str, host: str = "near", role: str = "sender") -> pl.DataFrame:
    """The table `segments` of a trace, in the order of its lines."""
    offset = FAR_OFFSET_NS if host == "far" else 0
    rows = [_row(line.split(), offset) for line in text.strip().splitlines()]
    return pl.DataFrame([{"host": host, "role": role, **row} for row in rows], schema=dict(SCHEMA))


def _row(parts: list[str], offset_ns: int) -> dict[str, Any]:
    at, way, flags, octets, *rest = parts
    first, last = (int(number) for number in octets.split(":"))
    known = dict(word.split("=") for word in rest if "=" in word)
    answered = int(rest[rest.index("ack") + 1]) if "ack" in rest else None
    other = "<" if way == ">" else ">"
    size, gso = last - first, int(known.get("gso", 0))
    window = int(known.get("win", 65536))
    return {
        "connection": int(known.get("conn", 0)),
        "direction": "out" if way == ">" else "in",
        "segment_mono_ns": START_NS + offset_ns + round(float(at) * MS),
        "sequence": (first + ISN[way]) % (1 << 32),
        "acknowledgment": 0 if answered is None else (answered + ISN[other]) % (1 << 32),
        "payload_bytes": size,
        "gso_size_bytes": gso,
        "wire_segments": -(-size // gso) if gso else 1,
        "flags": sum(FLAGS[letter] for letter in flags),
        "window_field": window,
        "window_bytes": window,
        "unacked_bytes": int(known["unacked"]) if "unacked" in known else None,
        "cwnd_segments": int(known["cwnd"]) if "cwnd" in known else None,
        "context": known.get("ctx", "process"),
        "ksoftirqd": "ksoftirqd" in rest,
        "cpu": int(known.get("cpu", 0)),
        "retransmission": known.get("again"),
        "ack_reason": known.get("why"),
    }


OPENING = """
  -9.0 > S  0:0
  -8.9 < S. 0:0  ack 1
  -8.8 > .  1:1  ack 1
  -8.7 > P. 1:41 ack 1  unacked=40
  -8.6 < .  1:1  ack 41 unacked=0
  -8.5 < P. 1:41 ack 41
  -8.4 > .  41:41 ack 41
"""
"""Handshake, preamble and welcome of 40 bytes, as the near side sees them."""


def evidence(log: pl.DataFrame | None, **changed: Any) -> dict[str, Any]:
    """An EvidenceReport of an end with this log."""
    level = "user" if log is None else "segments"
    rows = 0 if log is None else log.height
    report: dict[str, Any] = {"asked": level, "got": level, "reason": None, "missing": [], "logged_events_count": rows}
    return {**report, "lost_events_count": [], "missed_runs_count": 0, "broken_off": None, **changed}


def flows(moved: Mapping[int, int], ended: str = "complete") -> pl.DataFrame:
    """The table `flows` with the payload each connection moved."""
    rows = [{"connection": number, "payload_bytes": size, "ended": ended} for number, size in moved.items()]
    kinds = {"connection": pl.UInt32(), "payload_bytes": pl.UInt64(), "ended": pl.String()}
    return pl.DataFrame(rows, schema=kinds)


def intervals(offset_ns: int = 0, length_ms: int = 1000, phase: str = "measure") -> pl.DataFrame:
    """One interval from the start of the load."""
    start = START_NS + offset_ns
    row = {"connection": 0, "phase": phase, "start_mono_ns": start, "end_mono_ns": start + length_ms * MS}
    kinds = {"connection": pl.UInt32(), "phase": pl.String(), "start_mono_ns": pl.UInt64(), "end_mono_ns": pl.UInt64()}
    return pl.DataFrame([row], schema=kinds)


def write(
    folder: Path,
    near: pl.DataFrame | None = None,
    far: pl.DataFrame | None = None,
    *,
    near_sends: bool = True,
    near_evidence: Mapping[str, Any] | None = None,
    tables: Mapping[str, pl.DataFrame] | None = None,
) -> FlowTrial:
    """A trial of these logs. `tables` are others by file, such as "flows.near"."""
    folder.mkdir(parents=True, exist_ok=True)
    roles = ("sender", "receiver") if near_sends else ("receiver", "sender")
    ends = {}
    for host, role, log, offset in (("near", roles[0], near, 0), ("far", roles[1], far, FAR_OFFSET_NS)):
        report = near_evidence if host == "near" and near_evidence else evidence(log)
        clock = {"offset_ns": offset, "uncertainty_ns": 1000, "pairs": []}
        ends[host] = {"role": role, "clock": clock, "evidence": report}
        if log is not None:
            log.write_parquet(folder / f"segments.{host}.parquet")
    defaults = {"intervals.near": intervals(), "intervals.far": intervals(FAR_OFFSET_NS)}
    for name, table in {**defaults, **(tables or {})}.items():
        table.write_parquet(folder / f"{name}.parquet")
    manifest = {"trial": folder.name, "cell": "c0001", "block": 1, "status": "complete", "hosts": ends}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return open_trial(folder)
