"""Counts of the sending kernel in the trials of experiments, next to their rates."""

from whyperf.explain.experiments.beliefs import Sign
from whyperf.plan import Plan
from whyperf.record import Damaged, Experiment

TABLES = ("flows", "intervals", "transactions", "tcp_info")


class Signs:
    """The signs of trials, each read once."""

    def __init__(self, experiment: Experiment) -> None:
        """Nothing is read before it is needed."""
        self._experiment = experiment
        self._known: dict[str, Sign | None] = {}

    def by_sweep(self, plan: Plan) -> dict[int, dict[str, Sign]]:
        """Those of the trials that were made so far, by block and by the name of the cell's sweep."""
        made = self._experiment.trials().manifests
        sweeps = {cell.id: cell.sweep for cell in plan.cells}
        found: dict[int, dict[str, Sign]] = {}
        for trial in plan.trials():
            if trial.id not in made:
                continue
            if trial.id not in self._known:
                self._known[trial.id] = self._read(trial.id)
            sign = self._known[trial.id]
            if sign is not None:
                found.setdefault(trial.block, {})[sweeps[trial.cell]] = sign
        return found

    def _read(self, name: str) -> Sign | None:
        # Imported here: help and completion need none of it.
        from whyperf.analyze.measures.goodput import measure  # noqa: PLC0415
        from whyperf.analyze.measures.segments import trial_segments  # noqa: PLC0415
        from whyperf.analyze.measures.streams import trial_rtts  # noqa: PLC0415
        from whyperf.analyze.read.assemble import assemble  # noqa: PLC0415
        from whyperf.record import read_table  # noqa: PLC0415

        trial = self._experiment.trial(name)
        if isinstance(trial, Damaged):
            return None
        tables = {of: read_table(self._experiment, of, trials={name: trial}).frame for of in TABLES}
        inputs = assemble(self._experiment.plan.model_dump(), [trial.model_dump()], tables)
        measured = measure(inputs.trials, inputs.flows, inputs.intervals, inputs.transactions)
        counts = trial_segments(inputs.tcp_info, inputs.transport_info, measured)
        if counts.is_empty():
            return None
        again, sent = counts.row(0, named=True)["retransmitted_segments"], counts.row(0, named=True)["data_segments"]
        found = trial_rtts(inputs, measured).get(name)
        if found is None:
            return Sign(again, sent, None)
        return Sign(again, sent, found.rtt_ns / 1e9, None if found.rtt_ns_min is None else found.rtt_ns_min / 1e9)
