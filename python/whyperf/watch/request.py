"""The request of a watch, and what one side of it answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from whyperf.plan import Level
from whyperf.run.agents.agent import Clock
from whyperf.wire import HostFacts, ReplyFinished


@dataclass(frozen=True)
class WatchQuestion:
    """The question of the user."""

    #: The command as it was given, such as `whyperf watch :443 --time 10s`.
    command_line: str
    #: The selection that the agent of the near side was asked for (Selection in crates/schema/src/watch.rs).
    selection: Mapping[str, object]
    #: The level of evidence asked for; each side says which it took.
    evidence: Level
    #: When it began, by the controller's clock: ISO 8601 with the zone.
    started_realtime: str
    #: The name of what is watched in a word or two, such as `:443`, `iperf3` or `busiest`.
    name: str
    #: Stack samples of each CPU in a second; None: none were asked for.
    profile_hz: int | None = None
    #: The host that was watched, as it was named to ssh; None: this one.
    host: str | None = None
    #: The host of the other side that was asked for with `--far`; None: it was not.
    far_host: str | None = None


@dataclass(frozen=True)
class WatchedSide:
    """Output of one agent. `tables` are Parquet files by the name of their table; `keep_watched` leaves them there."""

    host: Literal["near", "far"]
    facts: HostFacts
    #: The agent's clock against the controller's, compared before the watch; None: both are the same clock.
    clock: Clock | None
    finished: ReplyFinished
    tables: Mapping[str, Path]
    #: The same comparison after the watch; None: there was none.
    clock_after: Clock | None = None
    #: Tables for which the disk had no room.
    lost: Sequence[str] = ()
