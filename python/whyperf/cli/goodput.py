"""Goodput of recorded trials, for the stop rule; as the analysis defines it."""

from collections.abc import Sequence

from whyperf.plan import PlannedTrial, cells_wanting
from whyperf.record import Damaged, Experiment, Manifest, Trials, read_table

#: What a goodput is made from.
TABLES = ("flows", "intervals", "transactions")


class Goodputs:
    """Goodputs by trial: those recorded before are read together, later ones when they are asked for."""

    def __init__(self, experiment: Experiment) -> None:
        """Nothing is read before it is needed: most plans have a fixed number of trials."""
        self._experiment = experiment
        self._known: dict[str, float | None] | None = None

    def of(self, trial: str) -> float | None:
        """Goodput in bit/s; None where the trial failed, is damaged or has none."""
        if self._known is None:
            self._known = self._read(self._experiment.trials())
        if trial not in self._known:
            found = self._experiment.trial(trial)
            one = Trials({}, [found]) if isinstance(found, Damaged) else Trials({trial: found}, [])
            self._known |= {trial: None} | self._read(one)
        return self._known[trial]

    def wanted(self, missing: Sequence[PlannedTrial]) -> list[PlannedTrial]:
        """The missing trials of cells that the stop rule has not ended."""
        plan = self._experiment.plan
        if plan.stop.interval_width is None:
            return list(missing)
        to_make = {trial.id for trial in missing}
        goodputs: dict[str, list[float]] = {}
        tried: dict[str, int] = {}
        for trial in plan.trials():
            if trial.is_log or trial.id in to_make:
                continue
            tried[trial.cell] = tried.get(trial.cell, 0) + 1
            goodput = self.of(trial.id)
            if goodput is not None:
                goodputs.setdefault(trial.cell, []).append(goodput)
        wanting = cells_wanting(plan, goodputs, tried)
        return [trial for trial in missing if trial.is_log or trial.cell in wanting]

    def _read(self, trials: Trials) -> dict[str, float | None]:
        # Imported here: a plan with a fixed number of trials does not need it before the end.
        from whyperf.analyze.assemble import assemble  # noqa: PLC0415
        from whyperf.analyze.goodput import measure  # noqa: PLC0415

        manifests: dict[str, Manifest] = trials.manifests
        if not manifests:
            return {}
        tables = {name: read_table(self._experiment, name, trials=manifests) for name in TABLES}
        damaged = [(entry.trial, entry.reason) for table in tables.values() for entry in table.damaged]
        documents = [manifest.model_dump() for manifest in manifests.values()]
        frames = {name: table.frame for name, table in tables.items()}
        inputs = assemble(self._experiment.plan.model_dump(), documents, frames, damaged)
        measured = measure(inputs.trials, inputs.flows, inputs.intervals, inputs.transactions)
        return dict(zip(measured["trial"].to_list(), measured["goodput_bps"].to_list(), strict=True))
