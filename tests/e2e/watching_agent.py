"""An agent whose watch follows a script: `python watching_agent.py SCENARIO AGENT …`; all else the real agent answers.

The scenario is a JSON object; `Scenario` has its keys. Frames are those of docs/reference/protocol.md.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

MESSAGE, TABLE = 1, 2
SECOND_NS = 1_000_000_000
COLUMNS = Path(__file__).parents[2] / "python/whyperf/record/columns.json"
TYPES: dict[str, Any] = {"u32": pl.UInt32, "u64": pl.UInt64, "bool": pl.Boolean, "text": pl.String}


@dataclass
class Scenario:
    """What the agent does when it is asked to watch."""

    #: Connections: what of a snapshot differs from an idle one. `rate` is bytes acknowledged in a second.
    connections: list[dict[str, Any]] = field(default_factory=list)
    #: The error that answers instead: `fault` and `text`.
    refuse: dict[str, str] | None = None
    #: Reports before the first connection is there.
    empty_reports: int = 0
    #: Ends without a word after so many reports.
    dies_after: int | None = None
    #: What the processes have instead of connections.
    instead: dict[str, int] | None = None
    #: Never answers `end_watch`.
    is_deaf: bool = False
    level: str = "user"
    reason: str | None = None
    #: A file that is made when the watch begins; the request is its content.
    mark: str | None = None


def framed(number: int, kind: int, payload: bytes) -> bytes:
    """A frame."""
    header = struct.pack(">2sBBIII", b"WP", 3, kind, len(payload), number, zlib.crc32(payload))
    return header + struct.pack(">I", zlib.crc32(header)) + payload + b"\n"


class Conversation:
    """The pipe to the controller."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.frames_count = 0

    def send(self, kind: int, payload: bytes) -> None:
        with self._lock:
            sys.stdout.buffer.write(framed(self.frames_count, kind, payload))
            self.frames_count += 1
            sys.stdout.buffer.flush()

    def say(self, identifier: int, **body: Any) -> None:
        self.send(MESSAGE, json.dumps({"id": identifier, "body": body}).encode())


def read(stream: BinaryIO) -> tuple[int, bytes] | None:
    """A frame, or None at the end."""
    header = stream.read(20)
    if len(header) < 20:
        return None
    payload = stream.read(int.from_bytes(header[4:8], "big"))
    stream.read(1)
    return header[3], payload


class Watch:
    """One watch, in a thread of its own."""

    def __init__(self, scenario: Scenario, talk: Conversation, identifier: int, asked: dict[str, Any]) -> None:
        self._scenario, self._talk, self._identifier, self._asked = scenario, talk, identifier, asked
        self.ended = threading.Event()
        self._first_ns = time.monotonic_ns()

    def run(self) -> None:
        scenario, asked = self._scenario, self._asked
        if scenario.mark is not None:
            Path(scenario.mark).write_text(json.dumps(asked) + "\n")
        if scenario.refuse is not None:
            self._talk.say(self._identifier, reply="error", **scenario.refuse)
            return
        reports = 0
        while True:
            self._report(reports)
            reports += 1
            if reports == scenario.dies_after:
                os._exit(3)
            if self._waits_in_vain():
                break
        self._finish(reports)

    def _waits_in_vain(self) -> bool:
        """Waits for the next report; whether the watch is over instead."""
        end_ns = time.monotonic_ns() + self._asked["report_ns"]
        if self._asked.get("duration_ns") is not None:
            end_ns = min(end_ns, self._first_ns + self._asked["duration_ns"])
        while time.monotonic_ns() < end_ns:
            if self.ended.wait(0.01) or not self._is_process_there():
                return True
        duration_ns = self._asked.get("duration_ns")
        return duration_ns is not None and time.monotonic_ns() >= self._first_ns + duration_ns

    def _is_process_there(self) -> bool:
        pid = self._asked.get("ends_with_process")
        if pid is None:
            return True
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    def _snapshots(self, reports: int) -> list[dict[str, Any]]:
        if reports < self._scenario.empty_reports:
            return []
        passed_s = (time.monotonic_ns() - self._first_ns) / SECOND_NS
        return [snapshot(number, passed_s, changed) for number, changed in enumerate(self._scenario.connections)]

    def _report(self, reports: int) -> None:
        self._talk.say(
            self._identifier,
            reply="watched",
            mono_ns=time.monotonic_ns(),
            level=self._scenario.level,
            reason=self._scenario.reason,
            connections=self._snapshots(reports),
            others_count=5,
            beyond_limit_count=0,
            unknown_owner_count=0,
            look_ns=1000,
            sample_ns=self._asked["sample_ns"],
            instead=self._scenario.instead,
        )

    def _finish(self, reports: int) -> None:
        level = self._scenario.level
        evidence = {
            "asked": self._asked["evidence"],
            "broken_off": None,
            "got": level,
            "logged_calls_count": 0,
            "logged_events_count": 0,
            "lost_calls_count": [],
            "lost_events_count": [],
            "missed_runs_count": 0,
            "missing": [],
            "profile": None,
            "stages": None,
            "reason": self._scenario.reason,
            "unseen_segments_count": 0,
        }
        outcome = {"ended": "complete"}
        self._talk.say(
            self._identifier, reply="finished", evidence=evidence, notes=[], outcome=outcome, payload_bytes=0
        )
        for name, rows in self._tables(self._snapshots(reports)).items():
            data = parquet(name, rows)
            self._talk.say(self._identifier, reply="table", name=name, bytes=len(data))
            self._talk.send(TABLE, data)
        self._talk.say(self._identifier, reply="done")

    def _tables(self, last: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
        now_ns, host = time.monotonic_ns(), self._asked["host"]
        if not last:
            return {}
        watched = [
            {
                "host": host,
                "connection": each["connection"],
                "local_address": each["endpoints"]["local"],
                "remote_address": each["endpoints"]["remote"],
                "cookie": each["connection"] + 1,
                "program": each["program"],
                "process": each["process"],
                "whole": each["is_whole"],
                "first_mono_ns": self._first_ns,
                "last_mono_ns": now_ns,
            }
            for each in last
        ]
        samples = [
            {
                "host": host,
                "connection": each["connection"],
                "sample_mono_ns": at_ns,
                "state": 1,
                "bytes_acked": acked,
                "bytes_received": each["received_bytes"],
            }
            for each in last
            for at_ns, acked in ((self._first_ns, 0), (now_ns, each["acked_bytes"]))
        ]
        return {"watched": watched, "tcp_info": samples}


def snapshot(number: int, passed_s: float, changed: dict[str, Any]) -> dict[str, Any]:
    """A connection as it is so many seconds after the beginning."""
    rest = dict(changed)
    acked = round(rest.pop("rate", 0) * passed_s)
    return {
        "connection": number,
        "endpoints": {"local": f"127.0.0.1:{40_000 + number}", "remote": "127.0.0.1:5201"},
        "program": "scripted",
        "process": 4711,
        "state": 1,
        "is_whole": True,
        "acked_bytes": acked,
        "received_bytes": 0,
        "retransmitted_segments": 0,
        "data_segments_out": acked // 1448,
        "rtt_ns": 1_000_000,
        "cwnd_segments": 10,
        "mss_bytes": 1448,
        "peer_window_bytes": 65_536,
        "own_window_bytes": None,
        "unsent_bytes": 0,
        "send_queue_bytes": 0,
        "receive_queue_bytes": 0,
        "busy_ns": round(passed_s * SECOND_NS) if acked else 0,
        "rwnd_limited_ns": 0,
        "send_buffer_limited_ns": 0,
        **rest,
    }


def parquet(name: str, rows: list[dict[str, Any]]) -> bytes:
    """A table with all its columns; those that the rows lack are 0 or empty."""
    kinds = json.loads(COLUMNS.read_text())[name]
    blank = {"u32": 0, "u64": 0, "bool": False, "text": ""}
    columns = {}
    for column, kind in kinds.items():
        # A list has the words of a column of texts.
        own = kind if isinstance(kind, str) else "text"
        default = blank[own] if isinstance(kind, str) else kind[0]
        columns[column] = pl.Series(column, [row.get(column, default) for row in rows], dtype=TYPES[own])
    with tempfile.TemporaryFile() as file:
        pl.DataFrame(columns).write_parquet(file, compression="uncompressed")
        file.seek(0)
        return file.read()


def main(scenario: Scenario, argv: list[str]) -> int:
    """Talks until the controller closes the pipe."""
    talk, watch = Conversation(), None
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        answers = agent.stdout

        def pass_back() -> None:
            while (frame := read(answers)) is not None:  # type: ignore[arg-type]
                talk.send(*frame)

        numbers = count()

        threading.Thread(target=pass_back, daemon=True).start()
        while (frame := read(sys.stdin.buffer)) is not None:
            message = json.loads(frame[1])
            body = message["body"]
            if body["request"] == "watch":
                watch = Watch(scenario, talk, message["id"], body)
                threading.Thread(target=watch.run, daemon=True).start()
            elif body["request"] == "end_watch":
                if watch is not None and not scenario.is_deaf:
                    watch.ended.set()
                talk.say(message["id"], reply="done")
            elif body["request"] == "goodbye":
                # The agent has not got all frames that came, and the other way round.
                talk.say(message["id"], reply="goodbye", frames_count=talk.frames_count)
                break
            else:
                agent.stdin.write(framed(next(numbers), MESSAGE, frame[1]))
                agent.stdin.flush()
        agent.stdin.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(Scenario(**json.loads(sys.argv[1])), sys.argv[2:]))
