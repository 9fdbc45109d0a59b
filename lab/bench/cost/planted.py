"""It is right: costs of known size are planted, and the budget must show them, in the right row, within 5 %.

All are planted in transactions whose packets do not depend on the dose: in a stream, what slows one side also changes
how many packets the other side merges, so the rest of the cost would differ, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab.bench.cost.experiment import (
    Setting,
    cells_by,
    levels_text,
    mean_difference,
    measured,
    planned,
    profile_of,
    side_costs,
    tsc_hz,
    windows_ns,
)
from lab.bench.cost.program import Programs, RunTimes
from lab.bench.row import Row, counted
from whyperf.analyze.cost.classes import APPLICATION, OTHER_BPF
from whyperf.analyze.read.record import read_inputs
from whyperf.analyze.trials import measure_trials
from whyperf.compare import Source
from whyperf.record import Experiment

MAX_ERROR = 0.05
US_PER_S = 1e6
NS_PER_S = 1e9

FIXED = """
[fixed]
duration_s = 0.8
warmup_s = 0.15
cooldown_s = 0.05
"""

SPIN_US = (50, 100, 200)

SPIN_SWEEP = """
[[sweep]]
name = "spin"
[sweep.fixed]
request_size_bytes = 65536
response_size_bytes = 65536
# Otherwise the end of a message waits for a delayed ACK.
no_delay = true
[sweep.factors]
think_us = {levels}
[workload]
name = "spin"
about = "One side spins in each transaction."
metric = "transactions"
[[workload.group]]
[[workload.group.transaction]]
name = "ask"
steps = [{steps}]
"""
WRITE = '{ op = "write", size = "=request_size_bytes" }'
READ = '{ op = "read", size = "=response_size_bytes" }'
SPIN = '{ op = "think", time = "=think_us", busy = true }'
SPIN_OF_BOTH = '{ op = "think", time = "=think_us", busy = true, mirrored = true }'


@dataclass(frozen=True)
class Spinner:
    """A side that spins, and the steps of the near side by which it does."""

    title: str
    role: str
    steps: tuple[str, ...]


SPINNERS = (
    # The writer of the request spins after the answer has come, when nothing of its connection is in progress.
    Spinner("the writer", "sender", (WRITE, READ, SPIN)),
    # The reader spins between the request and its answer, when nothing of its connection is in progress. A mirrored
    # pause is one of both sides: the writer spins meanwhile, in its own total.
    Spinner("the reader", "receiver", (WRITE, SPIN_OF_BOTH, READ)),
)

#: 64 segments in one write, then a reply. Without GRO and GSO each is a packet. What is planted at each packet is most
#: of the cost, and the far side finds the next packet waiting whatever the dose. Where each packet waits for a reply,
#: it comes to an idle CPU instead, and waking that costs differently from trial to trial.
BURST = """
[sweep.fixed]
# 64 times the payload of a segment with time stamps at MTU 1500.
request_size_bytes = 92672
response_size_bytes = 1
no_delay = true
gso = false
tso = false
gro = false
"""
BURST_WORKLOAD = """
[workload]
name = "segments-and-reply"
about = "A burst of full segments, and a reply."
metric = "transactions"
[[workload.group]]
[[workload.group.transaction]]
name = "ask"
steps = [
  { op = "write", size = "=request_size_bytes" },
  { op = "read", size = "=response_size_bytes" },
]
"""

#: Rules of nftables. Each packet that arrives is compared with all. All cells have `BASE_RULES`: more than the first
#: cache of a CPU holds, so that the rest of a packet's path finds it overwritten whatever the dose. All together
#: must fit in the second one, of 512 KB or more (about 120 bytes a rule), or the rest would cost more, too. A smaller
#: dose would have to be seen within the random differences of the exact total, by which its cost is known.
BASE_RULES = 500
RULES = (500, 1000, 2000)
RULES_SWEEP = """
[[sweep]]
name = "rules"
{burst}
[sweep.factors]
firewall_rules = {levels}
"""

#: Rounds of the program's loop, of some cycles each: from about 2 to 15 µs at each packet that arrives.
ROUNDS = (1_000, 3_000, 9_000)
#: The dose of a trial is that of its cell, and cells differ only in a deadline that no trial reaches.
DEADLINES_S = (60, 61, 62, 63)
PROGRAM_SWEEP = """
[[sweep]]
name = "program"
{burst}
[sweep.factors]
deadline_s = {levels}
"""


@dataclass(frozen=True)
class Planted:
    """A planted cost and what was found of it, in cycles per transaction."""

    name: str
    class_name: str
    planted: float
    recovered: float

    @property
    def error(self) -> float:
        """The relative error of what was found."""
        return self.recovered / self.planted - 1

    def row(self) -> Row:
        """The row that is printed."""
        return Row(
            "planted",
            f"{self.name}: {self.class_name}",
            f"{self.planted:,.0f} cycles ± {MAX_ERROR:.0%}",
            f"{self.recovered:,.0f} ({self.error:+.1%})",
            self.planted > 0 and abs(self.error) <= MAX_ERROR,
            is_bar=False,
            values={"planted": self.planted, "recovered": self.recovered},
        )


def run(setting: Setting) -> list[Row]:
    """Plants all costs: 12 doses."""
    found: list[Planted] = []
    for plant in (spins, rules, programs):
        found += plant(setting)
    rows = [entry.row() for entry in found]
    return [*rows, counted("planted", "all doses", rows, least=12)]


def spin_cycles(microseconds: float, rate_hz: float) -> float:
    """The cycles of the time stamp counter that a spin takes."""
    return microseconds * rate_hz / US_PER_S


def spins(setting: Setting) -> list[Planted]:
    """Spins of the writer and of the reader of the request: known by their time."""
    return [planted for spinner in SPINNERS for planted in _spins(setting, spinner)]


def _spins(setting: Setting, spinner: Spinner) -> list[Planted]:
    levels = levels_text((0, *SPIN_US))
    sweep = SPIN_SWEEP.format(levels=levels, steps=", ".join(spinner.steps))
    profile = profile_of(FIXED + sweep, "spin")
    plan = planned(profile, setting.of(14, 2))
    experiment = measured(plan, profile, setting.folder / f"spin-{spinner.role}")
    source = Source("A", experiment)
    rate_hz = tsc_hz(experiment)
    cells = cells_by(plan, "think_us")
    costs = {dose: side_costs(source, cells[dose], spinner.role).of_class(APPLICATION) for dose in (0, *SPIN_US)}
    return [
        Planted(
            f"{spinner.title} spins {dose} µs",
            APPLICATION,
            spin_cycles(dose, rate_hz),
            mean_difference(costs[dose], costs[0]),
        )
        for dose in SPIN_US
    ]


def rules(setting: Setting) -> list[Planted]:
    """Rules in the path of the reader: known by the total of that side, which is counted and not sampled.

    A transaction with more rules takes longer, and in it more samples are taken: their own time is left out.
    """
    levels = levels_text([BASE_RULES + dose for dose in (0, *RULES)])
    profile = profile_of(FIXED + RULES_SWEEP.format(burst=BURST, levels=levels) + BURST_WORKLOAD, "rules")
    plan = planned(profile, setting.of(24, 2))
    source = Source("A", measured(plan, profile, setting.folder / "rules"))
    cells = cells_by(plan, "firewall_rules")
    costs = {dose: side_costs(source, cells[BASE_RULES + dose], "receiver") for dose in (0, *RULES)}
    return [
        Planted(
            f"{dose:,} rules",
            "filter_rules",
            mean_difference(costs[dose].without_sampling, costs[0].without_sampling),
            mean_difference(costs[dose].of_class("filter_rules"), costs[0].of_class("filter_rules")),
        )
        for dose in RULES
    ]


def programs(setting: Setting) -> list[Planted]:
    """A BPF program at each packet that arrives, at either side: known by the time that the kernel counts for it."""
    profile = profile_of(
        FIXED + PROGRAM_SWEEP.format(burst=BURST, levels=levels_text(DEADLINES_S)) + BURST_WORKLOAD, "program"
    )
    plan = planned(profile, setting.of(24, 2))
    cells = cells_by(plan, "deadline_s")
    doses = {cells[deadline]: rounds for deadline, rounds in zip(DEADLINES_S[1:], ROUNDS, strict=True)}
    with Programs(ROUNDS, setting.folder) as loaded:
        experiment = measured(
            plan,
            profile,
            setting.folder / "program",
            on_ready=lambda cell: loaded.attach(doses[cell]) if cell in doses else None,
            on_finished=loaded.detach,
        )
        times = loaded.times
    source = Source("A", experiment)
    none = _of_both(source, cells[DEADLINES_S[0]])
    known = program_cycles(experiment, doses, times, tsc_hz(experiment))
    return [
        Planted(
            f"a program of {rounds:,} rounds", OTHER_BPF, known[cell], mean_difference(_of_both(source, cell), none)
        )
        for cell, rounds in doses.items()
    ]


def _of_both(source: Source, cell: str) -> Mapping[int, float]:
    """The cost of programs of others to both sides in each block."""
    sides = [side_costs(source, cell, role).of_class(OTHER_BPF) for role in ("sender", "receiver")]
    return {block: sides[0][block] + sides[1][block] for block in sides[0].keys() & sides[1].keys()}


def program_cycles(
    experiment: Experiment, doses: Mapping[str, int], times: Mapping[int, RunTimes], rate_hz: float
) -> dict[str, float]:
    """The cycles of the program in each transaction: its run time within the windows, by what was done in these."""
    counts = transactions(experiment)
    windows = windows_ns(experiment)
    cells = {trial: manifest.cell for trial, manifest in experiment.trials().measured.items()}
    return {
        cell: mean_cycles(
            [times[rounds].within(*windows[trial]) for trial in cells if cells[trial] == cell],
            [counts[trial] for trial in cells if cells[trial] == cell],
            rate_hz,
        )
        for cell, rounds in doses.items()
    }


def mean_cycles(run_ns: Sequence[float], counts: Sequence[float], rate_hz: float) -> float:
    """The mean over trials of the cycles in each transaction, as the mean of their costs is one over trials."""
    each = [time_ns / count for time_ns, count in zip(run_ns, counts, strict=True)]
    return sum(each) / len(each) * rate_hz / NS_PER_S


def transactions(experiment: Experiment) -> Mapping[str, float]:
    """The transactions of each trial within its window."""
    measured_trials = measure_trials(read_inputs(experiment))
    return dict(measured_trials.transactions.select("trial", "transactions_count").iter_rows())
