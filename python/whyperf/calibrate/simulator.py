"""The model as a function: a process of `whyperf-agent simulate`, asked many trials at a time."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import IO, Any

from whyperf.calibrate.errors import CalibrationError, QuestionError
from whyperf.profile.workload import near_receives
from whyperf.run.agents.pipes import agent_binary
from whyperf.run.spec import socket_of

Document = dict[str, Any]

#: Options of sockets that the model takes, and what of a host's rules a factor is.
_OPTIONS = ("window_bytes", "send_buffer_bytes", "receive_buffer_bytes", "no_delay", "mss_bytes", "pacing_rate_bps")
_RULES = {"congestion_control": "congestion_control", "quick_ack": "quick_ack"}
Costs = Mapping[str, float]

#: Of a trial on the model, in ns: what is seen settles within a few windows, and a fit asks thousands.
WARMUP_NS = 6_000_000
MEASURE_NS = 8_000_000
#: And so many round trips more where the path has a delay: windows have to open, and payload comes in a burst each
#: round trip, of which one more or less falls into what is measured.
WARMUP_ROUND_TRIPS = 30
MEASURE_ROUND_TRIPS = 40


@dataclass(frozen=True)
class Answer:
    """The model's answer about a trial; goodput in bit/s, busy shares of sender and receiver, sizes in bytes."""

    goodput_bps: float
    busy: tuple[float, float]
    bytes_per_ack: float | None


class Model:
    """An agent that simulates. Ask it within `model()`."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        """Use `model`."""
        self._process = process

    def answers(self, questions: Sequence[Document]) -> list[Answer | None]:
        """The model's answer to each question; None where a run did not come to its end.

        Raises:
            CalibrationError: the agent ended.
        QuestionError: the model refuses a question, with its reason.
        """
        requests, replies = self._process.stdin, self._process.stdout
        assert requests is not None
        assert replies is not None
        # Written by another thread: the pipes are smaller than the requests and replies.
        writer = Thread(target=_write, args=(requests, questions), daemon=True)
        writer.start()
        answers = []
        for _ in questions:
            line = replies.readline()
            if not line:
                raise CalibrationError("the agent that simulates has ended; is it of this version?")
            answers.append(_read(json.loads(line)))
        writer.join()
        return answers


@contextmanager
def model() -> Iterator[Model]:
    """An agent that simulates, ended with the block."""
    process = subprocess.Popen(
        [str(agent_binary()), "simulate"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield Model(process)
    finally:
        process.kill()
        process.communicate()


def question(profile: str, costs: Costs, factors: Mapping[str, Any], *, seed: int = 1) -> Document:
    """A trial with these factors between two hosts of a profile, as TOML, that have these costs.

    See crates/schema/src/simulation.rs; rules and links of a Linux host are in crates/sim/hosts.
    """
    given = {name: level for name, level in factors.items() if level not in {"default", "none", None}}
    rules = {key: given[factor] for factor, key in _RULES.items() if factor in given}
    round_trip_ns = round(given.get("path_rtt_ms", 0) * 1_000_000)
    if not (given.get("tso", True) and given.get("gso", True)):
        # Only what the host cuts up can the other side merge again (crates/sim/hosts/veth.toml).
        rules |= {"tso": False, "gro": given.get("gro", True)}
    if round_trip_ns > 0:
        # What has left is on the path then, and no longer the sender's memory: else TCP's small queues would wait for
        # the far side to take it (crates/sim/hosts/veth.toml).
        rules["completion"] = "timed"
    machine = {"host": "calibrated", "profile": profile, "set": {**costs, **rules}}
    warmup_ns = WARMUP_NS + WARMUP_ROUND_TRIPS * round_trip_ns
    measure_ns = MEASURE_NS + MEASURE_ROUND_TRIPS * round_trip_ns
    return {
        "hosts": [machine, machine],
        "seed": seed,
        # In addition to the path between the processors.
        "delay_ns": round_trip_ns // 2,
        "mtu_bytes": given.get("mtu_bytes"),
        "near_role": "receiver" if near_receives(given) else "sender",
        "connections_count": given.get("connections", 1),
        "write_size_bytes": given["write_size_bytes"],
        "read_size_bytes": given.get("read_size_bytes", 131_072),
        "stop": {"by": "duration", "warmup_ns": warmup_ns, "measure_ns": measure_ns, "cooldown_ns": 0},
        "socket": socket_of({name: given[name] for name in _OPTIONS if name in given}),
    }


def _write(to: IO[str], questions: Sequence[Document]) -> None:
    try:
        for question in questions:
            to.write(json.dumps(question) + "\n")
        to.flush()
    except BrokenPipeError:
        # Whoever reads the answers sees that they end.
        return


def _read(answer: Document) -> Answer | None:
    if answer["end"] == "refused":
        _, _, problem = answer["reason"].rpartition("calibrated: ")
        raise QuestionError(f"the model cannot simulate this: {problem}")
    if answer["end"] != "complete":
        return None
    sender, receiver = answer["ends"]
    if receiver["written_bytes"] > sender["written_bytes"]:
        sender, receiver = receiver, sender
    acks = receiver["pure_acks"]
    return Answer(
        goodput_bps=answer["goodput_bps"],
        busy=(min(1.0, sum(sender["busy_share"])), min(1.0, sum(receiver["busy_share"]))),
        bytes_per_ack=receiver["read_bytes"] / acks if acks else None,
    )
