"""All that the stage times of a trial show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whyperf.analyze.flow.trial import FlowTrial
from whyperf.analyze.stages.copies import with_copies_apart
from whyperf.analyze.stages.messages import Messages, lives_of, messages
from whyperf.analyze.stages.of_host import HostStages, read_stages
from whyperf.analyze.stages.sizes import SizePoint, by_size
from whyperf.analyze.stages.totals import DirectionTotals, totals
from whyperf.analyze.stages.waterfall import Waterfall, waterfalls


@dataclass(frozen=True)
class TrialStages:
    """The stage times of a trial: `hosts` that have some, the sender first; `totals` and `sizes` of each direction at
    each host; `messages` that one host wrote and the other read, with the `waterfalls` of single ones.
    `uncertainty_ns` is how far the clocks of both hosts may differ; 0 where they are one clock.
    """

    trial: str
    cell: str
    hosts: Sequence[HostStages]
    totals: Sequence[DirectionTotals]
    sizes: Sequence[SizePoint]
    messages: Sequence[Messages]
    waterfalls: Sequence[Sequence[Waterfall]]
    uncertainty_ns: float = 0.0

    def host(self, name: str) -> HostStages:
        """The host of that side."""
        return next(host for host in self.hosts if host.host == name)


def hosts_of(trial: FlowTrial, usual_probe_ns: Mapping[str, int]) -> list[HostStages]:
    """The hosts of a trial that have stage times, the sender first, with copies where the kernel makes them.

    `usual_probe_ns` is the cost of a probe at each host in all trials of the result.

    Raises:
        RecordError: a table cannot be read.
    """
    ends = [end for role in ("sender", "receiver") if (end := trial.end(role)) is not None]
    return [host for end in ends if (host := read_stages(trial, end.host, usual_probe_ns.get(end.host))) is not None]


def trial_stages(
    trial: FlowTrial, connection: int | None = None, usual_probe_ns: Mapping[str, int] | None = None
) -> TrialStages | None:
    """Analyzes the stage times of a trial, or of one of its connections; None where no host has any.

    `usual_probe_ns` is the cost of a probe at each host in all trials of the result (`probe_cost.costs_by_host`).

    Raises:
        RecordError: a table cannot be read.
    """
    hosts = [with_copies_apart(host) for host in hosts_of(trial, usual_probe_ns or {})]
    if not hosts:
        return None
    own = hosts if connection is None else [host.of(connection) for host in hosts]
    return analyzed(trial.trial, trial.cell, own, sum(end.uncertainty_ns for end in trial.ends.values()))


def analyzed(trial: str, cell: str, hosts: Sequence[HostStages], uncertainty_ns: float) -> TrialStages:
    """Analyzes the stage times of these hosts, whose clocks may be off by `uncertainty_ns`."""
    pairs = [(writer, reader) for writer in hosts for reader in hosts if writer is not reader]
    lives = [
        (writer, reader, found)
        for writer, reader in pairs
        if (found := lives_of(writer, reader, uncertainty_ns)) is not None
    ]
    return TrialStages(
        trial=trial,
        cell=cell,
        hosts=hosts,
        totals=[total for host in hosts for total in totals(host)],
        sizes=[point for host in hosts for point in by_size(host)],
        messages=[messages(found) for _, _, found in lives],
        waterfalls=[waterfalls(*found) for found in lives],
        uncertainty_ns=uncertainty_ns,
    )
