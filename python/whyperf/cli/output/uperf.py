"""`--format uperf`: trials in uperf's layout on standard output."""

from whyperf.cli.exits import UsageError
from whyperf.plan import Plan
from whyperf.profile.uperf import looks_like_uperf
from whyperf.profile.uperf.load import name_of
from whyperf.record import LOST, Experiment, Manifest, read_table
from whyperf.report.uperf import NS_PER_S, Run, durations, flowops_count, lines


def print_trials(experiment: Experiment, *, interval_s: float) -> None:
    """Prints every trial that has a result, one after another.

    Raises:
        UsageError: the experiment has no workload that says so.
    """
    refuse_streams(experiment.plan)
    for name, manifest in experiment.trials().measured.items():
        if manifest.status in LOST:
            continue
        run = _run(experiment, manifest)
        transactions = read_table(experiment, "transactions", trials=[name]).frame
        for line in lines(run, transactions, round(interval_s * NS_PER_S)):
            print(line)  # noqa: T201


def refuse_streams(plan: Plan) -> None:
    """uperf's layout shows transactions, which plain streams and streams of datagrams do not have.

    Raises:
        UsageError: a cell has none.
    """
    planned = [plan.workload(cell.id) for cell in plan.cells]
    if any(workload is None or workload.workload is None for workload in planned):
        raise UsageError("--format uperf needs transactions, and this measurement has none; run a uperf profile")


def _run(experiment: Experiment, manifest: Manifest) -> Run:
    planned = experiment.plan.workload(manifest.cell)
    assert planned is not None
    assert planned.workload is not None
    text = experiment.profile_text
    profile = name_of(text) if looks_like_uperf(text) else planned.name
    clock = manifest.hosts["near"].clock
    pair = clock.pairs[0] if clock is not None and clock.pairs else None
    target = experiment.plan.target
    return Run(
        profile=profile,
        strands_count=planned.strands_count or 0,
        far_host=target,
        realtime_offset_ns=0 if pair is None else pair.realtime_ns - pair.mono_ns,
        is_lossy=manifest.factors.get("transport") == "udp",
        durations_ns=durations(planned.workload),
        flowops_count=flowops_count(planned.workload),
    )
