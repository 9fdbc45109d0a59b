"""Counts of the sending kernel in the trials of experiments, next to their rates."""

from collections.abc import Collection, Mapping

from whyperf.explain.experiments.beliefs import Sign
from whyperf.plan import Plan
from whyperf.record import Experiment, Manifest

TABLES = ("flows", "intervals", "transactions", "tcp_info")


class Signs:
    """The signs of trials, each read once."""

    def __init__(self, experiment: Experiment) -> None:
        """Nothing is read before it is needed."""
        self._experiment = experiment
        self._known: dict[str, Sign | None] = {}

    def by_sweep(self, plan: Plan, wanted: Collection[str]) -> dict[int, dict[str, Sign]]:
        """Those of the trials that were made so far, by block and by the name of the cell's sweep; of the `wanted`
        ones."""
        made = self._experiment.trials().manifests
        sweeps = {cell.id: cell.sweep for cell in plan.cells}
        trials = [trial for trial in plan.trials() if trial.id in made and sweeps[trial.cell] in wanted]
        if new := {trial.id: made[trial.id] for trial in trials if trial.id not in self._known}:
            self._known |= dict.fromkeys(new) | self._read(new)
        found: dict[int, dict[str, Sign]] = {}
        for trial in trials:
            sign = self._known[trial.id]
            if sign is not None:
                found.setdefault(trial.block, {})[sweeps[trial.cell]] = sign
        return found

    def _read(self, trials: Mapping[str, Manifest]) -> dict[str, Sign | None]:
        # Imported here: help and completion need none of it.
        from whyperf.analyze.measures.goodput import measure  # noqa: PLC0415
        from whyperf.analyze.measures.segments import trial_segments  # noqa: PLC0415
        from whyperf.analyze.measures.streams import trial_rtts  # noqa: PLC0415
        from whyperf.analyze.read.assemble import assemble  # noqa: PLC0415
        from whyperf.record import read_table  # noqa: PLC0415

        tables = {of: read_table(self._experiment, of, trials=trials).frame for of in TABLES}
        documents = [manifest.model_dump() for manifest in trials.values()]
        inputs = assemble(self._experiment.plan.model_dump(), documents, tables)
        measured = measure(inputs.trials, inputs.flows, inputs.intervals, inputs.transactions)
        trips = trial_rtts(inputs, measured)
        found: dict[str, Sign | None] = {}
        for row in trial_segments(inputs.tcp_info, inputs.transport_info, measured).iter_rows(named=True):
            trip = trips.get(row["trial"])
            least_ns = None if trip is None else trip.rtt_ns_min
            found[row["trial"]] = Sign(
                row["retransmitted_segments"],
                row["data_segments"],
                None if trip is None else trip.rtt_ns / 1e9,
                None if least_ns is None else least_ns / 1e9,
            )
        return found
