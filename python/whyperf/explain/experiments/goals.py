"""The figures that experiments are to make better: the rate of a load, or a percentile of its transactions' latency.

They compare speeds, of which more is better: the rate itself, or one over the latency.

Also which changes can be tried at all, and from this host.
"""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

from whyperf.explain.causes import Cause
from whyperf.explain.experiments.outcomes import PRIOR_SPREAD
from whyperf.explain.explanation import Value, Verdict
from whyperf.explain.wording.catalog import change_text, render
from whyperf.foreign import foreign_owner
from whyperf.plan import LOCAL, Plan
from whyperf.profile import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from whyperf.analyze.read.inputs import Inputs
    from whyperf.explain.explanation import CellExplanation

#: The facts that make two hosts the same one.
SAME = ("hostname", "cpu_model")


class Obstacle(Exception):  # noqa: N818 - a sentence for the user, not a failure of ours
    """Why nothing can be tried: its code in the catalog and its values; as text what to do instead, too."""

    def __init__(self, code: str, **values: Value | None) -> None:
        """`code` is one of the catalog's obstacles."""
        self.code, self.values = code, values
        super().__init__(render("obstacle", code, values))


def refuse_untriable(verdict: Verdict, number: int, verdicts: Sequence[Verdict] = ()) -> None:
    """Refuses a verdict whose change no plan can make; `verdicts` are all of its cell.

    Raises:
        Obstacle: saying what to do instead.
    """
    change = verdict.change
    if change is not None and change.factors:
        return
    named = {"number": number, "cause": verdict.cause.value}
    if change is None or not change.by_hand:
        has_others = any(each.change is not None and each.change.factors for each in verdicts)
        code = "capacity" if verdict.cause is Cause.CAPACITY else "no_change"
        raise Obstacle(code, other=render("obstacle", "other_verdict", {}) if has_others else None, **named)
    raise Obstacle("by_hand", by_hand=change.by_hand.rstrip("."), **named)


def refuse_unwritable(explained: Path) -> None:
    """Refuses a result next to which nothing can be stored; `explained` is its folder.

    Nobody named the folder of the experiments, so another user could prepare it for root.

    Raises:
        Obstacle: naming the folder.
    """
    parent = explained.absolute().parent
    if not os.access(parent, os.W_OK):
        raise Obstacle("unwritable", folder=str(parent))
    if (owner := foreign_owner(parent.stat())) is not None:
        raise Obstacle("foreign", folder=str(parent), owner=str(owner))


def refuse_other_path(verdict: Verdict, plan: Plan) -> None:
    """Refuses a change to what only the embedded testbed has in its hands, where the path is another.

    A plan sets options of its own sockets on both hosts, near and far, and no path's or host's settings.

    Raises:
        Obstacle: naming the change, and what to do by hand.
    """
    if plan.testbed.kind not in {"network", "loopback"} or verdict.change is None:
        return
    beyond = {
        name: level for name, level in verdict.change.factors.items() if name in BY_NAME and BY_NAME[name].testbed
    }
    if not beyond:
        return
    place = "the loopback" if plan.testbed.kind == "loopback" else f"the path to {plan.target}"
    raise Obstacle(
        "other_path", change=change_text(beyond), place=place, by_hand=verdict.change.by_hand.rstrip(".") or None
    )


def refuse_other_host(plan: Plan, kept: Mapping[str, Any] | None, here: Mapping[str, Any]) -> None:
    """Refuses what has to be measured on another host: `kept` are the record's facts of the near host, `here` ours.

    Raises:
        Obstacle: naming the host.
    """
    if plan.testbed.kind == "model" or LOCAL not in plan.near or not kept:
        return
    if any(kept.get(name) != here.get(name) for name in SAME):
        host = f"{kept.get('hostname')} ({kept.get('cpu_model')})"
        raise Obstacle("other_host", host=host)


Kind = Literal["rate", "latency"]
Speeds = dict[str, float | None]
"""By trial; None where it has none."""

RATE_NAME = "rate"
NS = "ns"
"""The unit of a latency; any other is one of a rate."""
MIN_ABOVE = 10
"""Transactions above a percentile: their number is binomial, so 10 ± 3. Fewer are no figure, but an accident."""
SLOWER = 2
"""As many times the transactions are planned for: an experiment that halves the load makes half as many."""
SPREAD_OF_PERCENTILES = 0.4
"""The spread taken for logarithms of percentiles before anything was repeated. Of exponential latencies with
`MIN_ABOVE` above, the binomial rank gives 0.07 for the 99th and 0.32 for the 50th."""
PAIRS_OF_PERCENTILES = 4
"""Pairs of a proof: with 2, spreads of 0.6 proved something in 12 of 100 loads that nothing limits, with 4 in 5
(test_experiments_ladder.py)."""
_PERCENTILE = re.compile(r"p([5-9]\d)(?:\.?(\d{1,3}))?", re.ASCII)


@dataclass(frozen=True)
class First:
    """The first look at a load for a goal: its value in `unit`, and how long a trial must be at least."""

    value: float | None
    unit: str
    least_s: float = 0.0


class Goal(ABC):
    """The figure that experiments are to make better.

    Attributes:
        name: as `--goal` and `why.json` have it.
        kind: what it is, for which some experiments are no help.
        tables: of the record, from which it is computed in addition to goodput.
        prior_spread: what is taken for the spread of its logarithms before anything was repeated.
        least_pairs: how often a change has to make it better at least before it is proved.
    """

    name: str
    kind: Kind
    tables: tuple[str, ...] = ()
    prior_spread: float = PRIOR_SPREAD
    least_pairs: int = 1

    @abstractmethod
    def speeds(self, plan: "Plan", inputs: "Inputs", measured: "pl.DataFrame") -> Speeds:
        """The speed of each trial of `measured`, which are rows of `goodput.measure`."""

    def value(self, speed: float) -> float:
        """A speed in the unit that a reader is shown."""
        return speed

    def refuse(self, plan: "Plan", cell: str) -> None:  # noqa: B027 - most goals suit any load
        """Refuses a load that has no such figure.

        Raises:
            Obstacle: and why.
        """

    @abstractmethod
    def first(self, plan: "Plan", inputs: "Inputs", found: "CellExplanation") -> First:
        """Reads what the first look shows, in which a cell was measured and explained.

        Raises:
            Obstacle: the load has no such figure.
        """

    def refuse_short(self, first: First, wanted_s: float, budget_s: float) -> None:  # noqa: B027 - as above
        """Refuses a budget that is shorter than what the trials of a proof take.

        Raises:
            Obstacle: and what would do.
        """


@dataclass(frozen=True)
class Rate(Goal):
    """Transactions in a second where the workload counts these, payload in a second of any other."""

    name: str = RATE_NAME
    kind: Kind = "rate"

    def speeds(self, plan: "Plan", inputs: "Inputs", measured: "pl.DataFrame") -> Speeds:
        """As of a goal."""
        workloads = [plan.workload(cell.id) for cell in plan.cells]
        column = "goodput_bps"
        if all(workload is not None and workload.metric == "transactions" for workload in workloads):
            from whyperf.analyze.measures.transactions import trial_transactions  # noqa: PLC0415 - loads polars

            measured, column = trial_transactions(inputs.transactions, measured), "transactions_per_s"
        return dict(zip(measured["trial"].to_list(), measured[column].to_list(), strict=True))

    def first(self, plan: "Plan", inputs: "Inputs", found: "CellExplanation") -> First:
        """As of a goal."""
        del plan, inputs
        if found.transactions_per_s is None:
            return First(found.rate_bps, "bit/s")
        return First(found.transactions_per_s, "transactions/s")


RATE = Rate()


@dataclass(frozen=True)
class Percentile(Goal):
    """A percentile of the latency of transactions that ask and are answered, of all connections of a trial."""

    name: str
    part: Fraction
    kind: Kind = "latency"
    tables: tuple[str, ...] = ("latencies",)
    prior_spread: float = SPREAD_OF_PERCENTILES
    least_pairs: int = PAIRS_OF_PERCENTILES

    @property
    def needed_count(self) -> int:
        """Transactions of a trial that show it."""
        return ceil(MIN_ABOVE / (1 - self.part))

    def speeds(self, plan: "Plan", inputs: "Inputs", measured: "pl.DataFrame") -> Speeds:
        """As of a goal."""
        from whyperf.analyze.measures.latency import CLOSED, OPEN, merged, percentile  # noqa: PLC0415 - loads polars

        whole = measured.drop_nulls(["window_start_ns", "window_end_ns"]).select("trial")
        rows = _of_exchanges(plan, inputs.latencies).join(whole, on="trial", how="semi")
        histograms = merged(rows, ("trial",)).partition_by("trial", "kind", as_dict=True)
        speeds: Speeds = {}
        for trial in measured["trial"].to_list():
            histogram = histograms.get((trial, OPEN), histograms.get((trial, CLOSED)))
            is_enough = histogram is not None and int(histogram["count"].sum()) >= self.needed_count
            latency_ns = percentile(histogram, self.part) if histogram is not None and is_enough else None
            speeds[trial] = 1e9 / latency_ns if latency_ns else None
        return speeds

    def value(self, speed: float) -> float:
        """The latency in ns."""
        return 1e9 / speed

    def refuse(self, plan: "Plan", cell: str) -> None:
        """As of a goal."""
        if not exchanges_of(plan, cell):
            raise _obstacle("no_exchanges", percentile=self.name)

    def first(self, plan: "Plan", inputs: "Inputs", found: "CellExplanation") -> First:
        """As of a goal."""
        import polars as pl  # noqa: PLC0415 - loads for a second

        from whyperf.analyze.measures.goodput import measure  # noqa: PLC0415 - as above
        from whyperf.analyze.measures.transactions import trial_transactions  # noqa: PLC0415 - as above

        self.refuse(plan, found.cell)
        trials = inputs.trials.filter(pl.col("cell") == found.cell)
        measured = measure(trials, inputs.flows, inputs.intervals, inputs.transactions)
        done = trial_transactions(_of_exchanges(plan, inputs.transactions), measured)
        per_s = done["transactions_per_s"].median()
        if not isinstance(per_s, float) or per_s <= 0:
            raise _obstacle("no_transactions", percentile=self.name)
        ended = max(done["transactions_count"].to_list())
        if "duration_s" not in plan.cell(found.cell).factors and ended < self.needed_count:
            counts = {"needed_count": self.needed_count, "ended_count": round(ended)}
            raise _obstacle("load_too_short", percentile=self.name, **counts)
        known = [speed for speed in self.speeds(plan, inputs, measured).values() if speed is not None]
        value = self.value(median(known)) if known else None
        return First(value, NS, SLOWER * self.needed_count / per_s)

    def refuse_short(self, first: First, wanted_s: float, budget_s: float) -> None:
        """As of a goal."""
        if wanted_s > budget_s:
            per_s = SLOWER * self.needed_count / first.least_s
            needed = {"needed_count": self.needed_count, "made_per_s": per_s}
            raise _obstacle("budget_too_short", percentile=self.name, budget=str(ceil(wanted_s)), **needed)


def goal_of(text: str) -> Goal:
    """The goal of that name: `rate`, or a percentile from the median on, as `p99`, `p99.9` or `p999`.

    Raises:
        ValueError: there is no such goal.
    """
    if text == RATE_NAME:
        return RATE
    if (found := _PERCENTILE.fullmatch(text)) is None:
        raise ValueError(text)
    digits = found[1] + (found[2] or "")
    part = Fraction(int(digits), 10 ** len(digits))
    return Percentile(f"p{float(100 * part):g}", part)


def exchanges_of(plan: "Plan", cell: str) -> list[tuple[str, str]]:
    """The transactions of a cell that ask and are answered: group and name."""
    from whyperf.analyze.read.assemble import is_exchange  # noqa: PLC0415 - loads polars

    workload = plan.workload(cell)
    groups = () if workload is None or workload.workload is None else workload.workload["groups"]
    return [(group["name"], each["name"]) for group in groups for each in group["transactions"] if is_exchange(each)]


def _of_exchanges(plan: "Plan", rows: "pl.DataFrame") -> "pl.DataFrame":
    """The rows of such transactions: a write of bulk data next to them is none."""
    import polars as pl  # noqa: PLC0415 - loads for a second

    names: Iterable[tuple[str, str, str]] = (
        (cell.id, *exchange) for cell in plan.cells for exchange in exchanges_of(plan, cell.id)
    )
    columns = dict.fromkeys(("cell", "group", "transaction"), pl.String())
    return rows.join(pl.DataFrame(list(names), schema=columns, orient="row"), on=list(columns), how="semi")


def _obstacle(code: str, **values: str | float) -> Exception:
    from whyperf.explain.experiments.goals import Obstacle  # noqa: PLC0415 - parsing a name needs none

    return Obstacle(code, **values)
