"""Goodput of one recorded trial, for the stop rule; as the analysis defines it."""

from whyperf.record import Damaged, Experiment, read_table


def trial_goodput(experiment: Experiment, trial: str) -> float | None:
    """Goodput in bit/s; None where the trial failed or has none."""
    # Imported here: a plan with a fixed number of trials does not need it before the end.
    from whyperf.analyze.assemble import assemble  # noqa: PLC0415
    from whyperf.analyze.goodput import measure  # noqa: PLC0415

    manifest = experiment.trial(trial)
    if isinstance(manifest, Damaged) or manifest.status == "failed":
        return None
    tables = {name: read_table(experiment, name, trials=[trial]).frame for name in ("flows", "intervals")}
    inputs = assemble(experiment.plan.model_dump(), [manifest.model_dump()], tables)
    found = measure(inputs.trials, inputs.flows, inputs.intervals)["goodput_bps"].to_list()
    return found[0] if found else None
