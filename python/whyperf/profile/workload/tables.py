"""The structure of a workload as written: groups, transactions, steps. Values are read by `values`."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

NAME = r"^[A-Za-z0-9]([A-Za-z0-9_-]{0,38}[A-Za-z0-9])?$"

Metric = Literal["goodput", "transactions", "datagrams", "connections"]
TransportName = Literal["tcp", "mptcp", "udp", "unix", "udt", "quic", "srt", "tls", "sctp"]


class Table(BaseModel):
    """A table of the file: nothing is converted, nothing unknown passes."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class StepTable(Table):
    """One operation, `count` times. Which keys belong to it depends on `op` (`steps.OPERATIONS`)."""

    op: str
    count: Any = 1
    connection: int = Field(default=0, ge=0, le=2**16 - 1)
    can_fail: bool = False
    size: Any = None
    call: Any = None
    timeout: Any = None
    time: Any = None
    busy: bool | None = None
    mirrored: bool | None = None
    files: list[str] | None = None


class TransactionTable(Table):
    """A list of steps and how often it is executed: `iterations`, `duration`, or through the trial."""

    name: str = Field(default="main", pattern=NAME)
    iterations: Any = None
    duration: Any = None
    rate_per_s: Any = None
    arrivals: Any = None
    outstanding: Any = 1
    steps: list[StepTable] = Field(min_length=1)


class GroupTable(Table):
    """Virtual users that do the same."""

    name: str = Field(default="main", pattern=NAME)
    strands: Any = "=connections"
    connected: bool = True
    #: None for connections that are only open.
    transaction: list[TransactionTable] = []


class DatagramsTable(Table):
    """A stream of numbered datagrams instead of groups."""

    size: Any = "=datagram_size_bytes"
    batch: Any = "=datagram_batch"
    rate_bps: Any = "=write_rate_bps"
    merge: Any = "=datagram_merge"


class WorkloadTable(Table):
    """The whole workload."""

    name: str | None = Field(default=None, pattern=r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$")
    about: str = ""
    metric: Metric = "transactions"
    transports: list[TransportName] = Field(default=["tcp", "mptcp", "unix", "tls", "sctp"], min_length=1)
    defaults: dict[str, object] = {}
    group: list[GroupTable] = []
    datagrams: DatagramsTable | None = None
