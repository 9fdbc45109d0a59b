"""Log trials in a line, and their segment logs straight from the files: no test here leans on the analysis."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from tests.e2e.experiments import Record, profile_text
from tests.e2e.hidden import is_any_hidden
from whyperf.plan import PlannedTrial, build
from whyperf.profile import parse
from whyperf.record import Experiment, Manifest
from whyperf.run import Kind, Session, Target
from whyperf.run.trial import Progress, run_trial

HOSTS = ("near", "far")
FIN, SYN, RST, ACK = 1, 2, 4, 16
#: What both sides say before the payload, where the window is 64 KB or more (docs/reference/protocol.md).
PREAMBLE_BYTES = 40
#: What the receiver says behind it.
COUNT_BYTES = 8

#: How often a trial is tried whose log lacks what TCP counted. On other hosts that never happens.
ATTEMPTS = 16 if is_any_hidden() else 1

IS_DATA = pl.col("payload_bytes") > 0
#: Neither data nor a part of the handshake or the close.
IS_PURE_ACK = ~IS_DATA & (pl.col("flags") & (SYN | FIN | RST) == 0)
IS_OUT = pl.col("direction") == "out"


@dataclass(frozen=True)
class Log:
    """What one end of a log trial left."""

    host: str
    folder: Path
    manifest: Manifest

    @property
    def evidence(self) -> dict[str, Any]:
        """What the end says its evidence is worth."""
        return self.manifest.hosts[self.host].evidence

    @property
    def role(self) -> str:
        """Sender or receiver."""
        return self.manifest.hosts[self.host].role

    @property
    def segments(self) -> pl.DataFrame:
        """The log in the order of time."""
        return self.table("segments").sort("segment_mono_ns", maintain_order=True)

    def table(self, name: str) -> pl.DataFrame:
        """A table of this end."""
        return pl.read_parquet(self.folder / f"{name}.{self.host}.parquet")

    def ports(self) -> dict[int, tuple[int, int]]:
        """Own and peer's port by number of the connection."""
        port = [pl.col(f"{end}_address").str.extract(r":(\d+)$").cast(pl.Int64) for end in ("local", "remote")]
        return {number: (own, peer) for number, own, peer in self.table("flows").select("connection", *port).rows()}


Logs = tuple[Log, Log]


@contextmanager
def log_session(folder: Path, kind: Kind = Kind.VETH, **levels: Any) -> Iterator[tuple[Session, Experiment]]:
    """A session whose plan has one log trial a cell."""
    text = profile_text(congestion_control="cubic", **levels)
    target = "loopback" if kind is Kind.LOOPBACK else "testbed"
    plan = build(parse(text, name="test", where="test.toml"), target=target, evidence="segments")
    with Experiment.create(folder, plan, text) as experiment, Session(plan, Target(kind)) as opened:
        yield opened, experiment


def log_trials(experiment: Experiment) -> list[PlannedTrial]:
    """The plan's log trials."""
    return [planned for planned in experiment.plan.trials() if planned.is_log]


def run_log(
    opened: Session, experiment: Experiment, planned: PlannedTrial, on_progress: Progress = lambda *_: None
) -> Logs:
    """Makes one trial, perhaps anew; the logs of the near and the far side."""
    with experiment.begin_trial(planned.id) as writer:
        writer.commit(run_trial(opened, planned, experiment.plan.cell(planned.cell), writer, on_progress))
    folder, manifest = experiment.folder / "trials" / planned.id, Record(experiment).trials[planned.id]
    near, far = (Log(host, folder, manifest) for host in HOSTS)
    return near, far


def run_logs(opened: Session, experiment: Experiment) -> list[Logs]:
    """Makes the log trials only, none of the others; the logs are whole."""
    return [until_whole(partial(run_log, opened, experiment, planned)) for planned in log_trials(experiment)]


def until_whole(run: Callable[[], Logs]) -> Logs:
    """Runs a trial again where the kernel hid some of its segments, which only a host with hidden processes may."""
    for _ in range(ATTEMPTS):
        logs = run()
        found = [unlogged_segments(log) for log in logs]
        lacking = f"TCP counts more segments than are logged: {found}" if any(found) else acks_differ(*logs)
        if not lacking:
            return logs
        print(f"{logs[0].manifest.trial}: {lacking}")
    raise AssertionError(lacking)


def acks_differ(near: Log, far: Log) -> str | None:
    """Whether pure ACKs and FINs that one side sent are not those that the other one received: none gets lost here."""
    is_one = IS_PURE_ACK | (pl.col("flags") & FIN > 0)
    for sender, receiver in ((near, far), (far, near)):
        sent = sender.segments.filter(IS_OUT, is_one).group_by("connection").len().sort("connection")
        received = receiver.segments.filter(~IS_OUT, is_one).group_by("connection").len().sort("connection")
        if not sent.equals(received):
            return f"of the ACKs of {sender.host} {sent.rows()} are logged there, {received.rows()} at {receiver.host}"
    return None


def unlogged_segments(log: Log) -> dict[int, tuple[int, int]]:
    """What TCP counted as sent and received more than is in the log until then; connections without are left out."""
    found = {}
    segments = log.segments
    final = pl.col("final")
    columns = ("connection", "sample_mono_ns", "segments_out", "segments_in")
    for connection, until, sent, received in log.table("tcp_info").filter(final).select(columns).rows():
        mine = segments.filter(pl.col("segment_mono_ns") <= until, connection=connection)
        # A listening end answers a SYN before there is a socket that could count.
        out = mine.filter(IS_OUT & (pl.col("flags") & (SYN | ACK) != SYN | ACK))
        more = sent - int(out["wire_segments"].sum()), received - int(mine.filter(~IS_OUT)["wire_segments"].sum())
        if more != (0, 0):
            found[connection] = more
    return found


def bytes_covered(data: pl.DataFrame) -> int:
    """Octets that segments carry, each counted once: a busy host sends some twice."""
    first = int(data["sequence"][0])
    covered = reach = 0
    starts = sorted(
        ((int(row[0]) - first) % 2**32, int(row[1])) for row in data.select("sequence", "payload_bytes").rows()
    )
    for start, length in starts:
        covered += max(0, start + length - max(start, reach))
        reach = max(reach, start + length)
    return covered
