"""The time that a plan takes: a guess before the first trial, better with every trial done."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from whyperf.plan.plan_document import Cell, Plan
from whyperf.profile import Factors
from whyperf.profile.workload import least_seconds

#: Preparing, connecting and recording a trial, in s.
OVERHEAD_S = 0.15
#: Time each further pair of hosts adds to a trial, and each further connection of all pairs: opening it, having all
#: start at one instant, and recording its tables. And what a fleet takes before its first trial and after its last, and
#: each further pair of it: its agents start. Measured on two virtual CPUs with the hosts in namespaces: 1 to 8 pairs
#: through a pipe of one's own and through sshd, 1 to 4,000 connections.
PAIR_S = 0.04
CONNECTION_S = 7e-4
FLEET_S = 1.8
PAIR_START_S = 0.2
#: The needs of a guess about a path. A network: 1 Gbit/s and 1 ms. One machine: a time for a round
#: through both sides and for a call, as seen on two virtual CPUs; wrong by a factor of a few elsewhere.
NETWORK_BYTES_PER_S = 1.25e8
NETWORK_ROUND_S = 1e-3
LOCAL_BYTES_PER_S = 1.5e9
LOCAL_ROUND_S = 6e-5
CALL_S = 1.5e-6
#: A simulated trial of 16 MB with its share of a pack.
MODEL_S = 0.004


@dataclass(frozen=True)
class Estimate:
    """A plan's size: `trials` and `seconds` at most; `payload_bytes` without the cells that run for a time."""

    cells: int
    trials: int
    seconds: float
    payload_bytes: int


def estimate(plan: Plan) -> Estimate:
    """Before anything was measured."""
    more = len(plan.pairs) - 1
    seconds = FLEET_S + more * PAIR_START_S if more and plan.testbed.kind != "model" else 0.0
    payload = 0
    guesses = {cell.id: trial_seconds(plan, cell) for cell in plan.cells}
    transfers = {cell.id: _transfer_bytes(cell.factors) for cell in plan.cells}
    for trial in plan.trials():
        seconds += guesses[trial.cell]
        payload += transfers[trial.cell]
    return Estimate(len(plan.cells), plan.trials_count, seconds, payload)


def trial_seconds(plan: Plan, cell: Cell) -> float:
    """A guess for one trial of the cell, on all pairs of hosts, pause and overhead included."""
    if plan.testbed.kind == "model":
        return MODEL_S
    planned = plan.workload(cell.id)
    if planned is not None and planned.workload is not None and _ends_itself(cell.factors):
        load = least_seconds(planned.workload)
    else:
        load = _load_seconds(cell.factors, network=plan.testbed.kind == "network")
    pairs = len(plan.pairs)
    further = PAIR_S * (pairs - 1) + CONNECTION_S * (pairs * int(cell.factors.get("connections", 1)) - 1)
    rest = plan.pause_ms / 1000 + float(cell.factors.get("rest_s", 0.0))
    return OVERHEAD_S + further + rest + load


@dataclass
class TimeLeft:
    """Refines the guess: a cell takes as long as before; one not yet seen, as its likes in proportion."""

    plan: Plan
    _done: dict[str, list[float]] = field(default_factory=dict)

    def on_trial(self, cell: str, seconds: float) -> None:
        """A trial of the cell took this long, pause and overhead included."""
        self._done.setdefault(cell, []).append(seconds)

    def seconds(self, cells: Iterable[str]) -> float:
        """The time that trials of these cells will take, one after the other."""
        ratios = self._ratios()
        known = {cell: sum(times) / len(times) for cell, times in self._done.items()}
        left = 0.0
        for name in cells:
            if name not in known:
                cell = self.plan.cell(name)
                known[name] = trial_seconds(self.plan, cell) * ratios.get(cell.sweep, ratios.get("", 1.0))
            left += known[name]
        return left

    def _ratios(self) -> dict[str, float]:
        """Time taken over time guessed, by sweep, and over all under the empty name."""
        taken: dict[str, float] = {}
        guessed: dict[str, float] = {}
        for name, times in self._done.items():
            cell = self.plan.cell(name)
            for group in ("", cell.sweep):
                taken[group] = taken.get(group, 0.0) + sum(times)
                guessed[group] = guessed.get(group, 0.0) + trial_seconds(self.plan, cell) * len(times)
        return {group: taken[group] / guessed[group] for group in taken}


def _ends_itself(factors: Factors) -> bool:
    """True where neither a time nor a number of bytes ends the load; the workload does."""
    return "duration_s" not in factors and not isinstance(factors["transfer_bytes"], int)


def _load_seconds(factors: Factors, *, network: bool) -> float:
    if "duration_s" in factors:
        return sum(float(factors[name]) for name in ("warmup_s", "duration_s", "cooldown_s"))
    rate = NETWORK_BYTES_PER_S if network else LOCAL_BYTES_PER_S
    connections = int(factors.get("connections", 1))
    window = factors.get("window_bytes")
    if isinstance(window, int):
        rate = min(rate, connections * window / (NETWORK_ROUND_S if network else LOCAL_ROUND_S))
    rate = min(rate, connections * _transaction_bytes(factors) / CALL_S)
    return min(_transfer_bytes(factors) / rate, float(factors["deadline_s"]))


def _transaction_bytes(factors: Factors) -> int:
    """The bytes that a call or a transaction moves."""
    sizes = ("write_size_bytes", "request_size_bytes", "response_size_bytes", "datagram_size_bytes")
    return max(1, sum(int(factors[name]) for name in sizes if name in factors))


def _transfer_bytes(factors: Factors) -> int:
    transfer = factors["transfer_bytes"]
    return transfer * int(factors.get("connections", 1)) if isinstance(transfer, int) else 0
