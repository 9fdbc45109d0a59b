"""Two agents that execute a workload over the loopback, and what they report of it."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from tests.protocol.pipe_talk import PATIENCE_S, Body, Talk, trial

MS = 1_000_000
StartTalk = Callable[..., Talk]


def fixed(size: int) -> Body:
    """Always so many bytes."""
    return {"by": "fixed", "bytes": size}


def step(operation: str, count: int = 1, can_fail: bool = False, **fields: Any) -> Body:
    """A step of a transaction."""
    return {"operation": {"operation": operation} | fields, "count": count, "can_fail": can_fail}


def write(size: Body | int, connection: int = 0, call_bytes: int | None = None, count: int = 1) -> Body:
    """A write."""
    sized = fixed(size) if isinstance(size, int) else size
    return step("write", count, connection=connection, size=sized, call_bytes=call_bytes)


def read(size: Body | int, connection: int = 0, timeout_ns: int | None = None, count: int = 1) -> Body:
    """A read."""
    sized = fixed(size) if isinstance(size, int) else size
    return step("read", count, connection=connection, size=sized, call_bytes=None, timeout_ns=timeout_ns)


def think(duration_ns: int, is_busy: bool = False, is_mirrored: bool = False) -> Body:
    """A pause."""
    return step("think", duration_ns=duration_ns, is_busy=is_busy, is_mirrored=is_mirrored)


def iterations(count: int) -> Body:
    """So often."""
    return {"by": "iterations", "count": count}


TRIAL: Body = {"by": "trial"}
CLOSED: Body = {"by": "closed"}


def transaction(
    *steps: Body, name: str = "main", repeat: Body = TRIAL, arrivals: Body = CLOSED, outstanding_count: int = 1
) -> Body:
    """A transaction."""
    return {
        "name": name,
        "repeat": repeat,
        "arrivals": arrivals,
        "outstanding_count": outstanding_count,
        "steps": list(steps),
    }


def group(*transactions: Body, name: str = "all", strands: int = 1, connected: bool = True) -> Body:
    """A group."""
    return {"name": name, "strands_count": strands, "is_connected": connected, "transactions": list(transactions)}


def workload(*groups: Body, seed: int = 1) -> Body:
    """A workload."""
    return {"name": "test", "seed": seed, "groups": list(groups)}


def phases(measure_ms: int, warmup_ms: int = 0, cooldown_ms: int = 0) -> Body:
    """A timed trial."""
    return {
        "by": "duration",
        "warmup_ns": warmup_ms * MS,
        "measure_ns": measure_ms * MS,
        "cooldown_ns": cooldown_ms * MS,
    }


@dataclass
class End:
    """What one side reported."""

    finished: Body
    tables: dict[str, pl.DataFrame]

    def total(self, column: str, group: str | None = None, transaction: str | None = None) -> int:
        """The sum of a column of the transactions."""
        rows = self.tables["transactions"]
        if group is not None:
            rows = rows.filter(pl.col("group") == group)
        if transaction is not None:
            rows = rows.filter(pl.col("transaction") == transaction)
        return int(rows[column].sum())

    def latencies(self, kind: str, phase: str = "measure") -> pl.DataFrame:
        """A histogram."""
        rows = self.tables["latencies"]
        return rows.filter((pl.col("kind") == kind) & (pl.col("phase") == phase))

    @property
    def outcome(self) -> str:
        """How it ended."""
        return str(self.finished["outcome"]["ended"])


def end_of(finished: Body, tables: dict[str, bytes]) -> End:
    """Reads the tables."""
    return End(finished, {name: pl.read_parquet(io.BytesIO(data)) for name, data in tables.items()})


def specs(load: Body, stop: Body, **changes: Any) -> tuple[Body, Body]:
    """What far and near are asked."""
    count = sum(group["strands_count"] for group in load["groups"])
    common: Body = {"workload": load, "stop": stop, "connections_count": count, "io_model": "epoll"} | changes
    return trial(**common), trial("connect", "sender", **common)


def prepare(talk: StartTalk, load: Body, stop: Body, **changes: Any) -> tuple[Talk, Talk]:
    """Far and near side, connected."""
    far, near = talk().hello(), talk().hello()
    far_spec, near_spec = specs(load, stop, **changes)
    prepared = far.ask("prepare", **far_spec)
    assert prepared["reply"] == "prepared", prepared
    ready = near.ask("prepare", **near_spec)
    assert ready["reply"] == "prepared", ready
    connected = near.reply_to(near.send("connect", address="127.0.0.1", port=prepared["port"]), PATIENCE_S)
    assert connected["reply"] == "connected", connected
    return far, near


def finish(far: Talk, near: Talk, within_s: float = PATIENCE_S) -> tuple[End, End]:
    """Starts both sides and reads what they report: far, near."""
    started = [(agent, agent.send("start", at_mono_ns=0)) for agent in (far, near)]
    far_side, near_side = (end_of(*agent.finish(identifier, within_s)) for agent, identifier in started)
    return far_side, near_side


def execute(talk: StartTalk, load: Body, stop: Body, **changes: Any) -> tuple[End, End]:
    """Executes a workload to its end: far, near."""
    return finish(*prepare(talk, load, stop, **changes))


def connect(connection: int = 0, can_fail: bool = False) -> Body:
    """Opens."""
    return step("connect", can_fail=can_fail, connection=connection)


def accept(connection: int = 0) -> Body:
    """Lets the far side open."""
    return step("accept", connection=connection)


def disconnect(connection: int = 0) -> Body:
    """Closes."""
    return step("disconnect", connection=connection)


def crr(request: int = 1, reply: int = 1, repeat: Body = TRIAL) -> Body:
    """Connects, asks, is answered, closes."""
    return transaction(connect(), write(request), read(reply), disconnect(), repeat=repeat)


def assert_exact(ends: tuple[End, End], executions: int, sent: int, received: int) -> tuple[End, End]:
    """Both sides ended in good order and count the same, as seen from the near one; returns them."""
    far, near = ends
    assert [far.outcome, near.outcome] == ["complete", "complete"], (far.finished, near.finished)
    assert near.total("transactions_count") == far.total("transactions_count") == executions
    assert near.total("sent_bytes") == far.total("received_bytes") == sent
    assert near.total("received_bytes") == far.total("sent_bytes") == received
    return ends


def assert_same(ends: tuple[End, End], transaction: str | None = None) -> tuple[End, End]:
    """Both sides ended in good order and count the same, whatever it is; returns them."""
    columns = ("transactions_count", "sent_bytes", "received_bytes")
    executions, sent, received = (ends[1].total(column, transaction=transaction) for column in columns)
    far, near = ends
    assert [far.outcome, near.outcome] == ["complete", "complete"], (far.finished, near.finished)
    assert executions == far.total("transactions_count", transaction=transaction) > 0
    assert (received, sent) == tuple(far.total(column, transaction=transaction) for column in columns[1:])
    return ends
