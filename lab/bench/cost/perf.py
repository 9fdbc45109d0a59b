"""It agrees with another sampler: `perf record` of the same load at the same time has the same largest functions."""

import re
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from lab.bench.cost.experiment import Setting, measured, planned, profile_of, windows_ns
from lab.bench.row import Row
from whyperf.record import Experiment, read_table

PERF_HZ = 1009
"""Not whyperf's frequency: timers of one period keep their distance, so one could always expire while the other's
interrupt is handled. Both are primes."""
LARGEST = 10
MAX_POINTS = 2.0

PROFILE = """
[fixed]
duration_s = {duration_s}
warmup_s = 1
cooldown_s = 0.5
[[sweep]]
name = "stream"
[sweep.fixed]
workload = "stream"
"""

USER = "programs"
"""All functions of programs: perf and whyperf read other symbols of them."""

#: The functions that either sampler runs, and those that a CPU runs that has nothing to do.
SAMPLERS = re.compile(
    r"bpf_prog_.*|bpf_trace_run\d+|_*perf_.*|bpf_overflow_handler|__?bpf_(prog|get|map)_.*|.*_stackid|get_perf_callchain"
)
IDLE = re.compile(
    r"(pv_native|native)_(safe_)?halt|(default|arch_cpu|cpuidle|acpi|poll|mwait|intel)_?idle.*|cpuidle_.*|do_idle|cpu_idle_poll"
)
SAMPLING_PROGRAMS = {"perf", "perf-exec"}
_LINE = re.compile(
    r"^\s*(?P<program>.+?)\s+\d+\s+\[\d+\]\s+(?P<seconds>\d+)\.(?P<nanoseconds>\d{9}):\s+(?P<address>[0-9a-f]+)\s+"
    r"(?P<name>.+?)(?:\+0x[0-9a-f]+)? \((?P<object>[^()]*(?:\([^()]*\))?)\)$"
)


@dataclass(frozen=True)
class Sample:
    """A line of `perf script`: the instant of CLOCK_MONOTONIC, the program, and the innermost function."""

    instant_ns: int
    program: str
    name: str
    is_kernel: bool


def run(setting: Setting) -> list[Row]:
    """Measures once, with both samplers."""
    profile = profile_of(PROFILE.format(duration_s=setting.of(20, 3)), "perf")
    plan = planned(profile, 1)
    data = setting.folder / "perf.data"
    with _recorded(data) as start:
        experiment = measured(plan, profile, setting.folder / "perf", on_ready=lambda _: start())
    (window,) = windows_ns(experiment).values()
    theirs = perf_counts(samples_of(_script(data)), window)
    ours = our_counts(experiment)
    if not theirs or not ours:
        raise LookupError("one of the samplers has no sample of the load")
    rows = [
        Row(
            "perf",
            name,
            f"{asked:.1f} % ± {MAX_POINTS:.0f} points",
            f"{reached:.1f} %",
            abs(reached - asked) <= MAX_POINTS,
            values={"perf": asked, "whyperf": reached},
        )
        for name, asked, reached in agreement(theirs, ours)
    ]
    counts = {"perf": theirs.total(), "whyperf": ours.total()}
    return [
        *rows,
        Row("perf", "samples of each", "", f"{counts['perf']:,} and {counts['whyperf']:,}", True, False, counts),
    ]


def agreement(theirs: Counter[str], ours: Counter[str]) -> list[tuple[str, float, float]]:
    """The largest functions of perf and all of programs, with the share that each sampler has of its own samples, in
    percent.
    """
    largest = [name for name, _ in theirs.most_common() if name != USER][:LARGEST]
    return [(name, 100 * theirs[name] / theirs.total(), 100 * ours[name] / ours.total()) for name in (*largest, USER)]


def is_counted(name: str) -> bool:
    """True where a function of the kernel is neither idle nor a sampler's."""
    return SAMPLERS.fullmatch(name) is None and IDLE.fullmatch(name) is None


def samples_of(lines: Iterable[str]) -> Iterator[Sample]:
    """The samples that `perf script` printed."""
    for line in lines:
        found = _LINE.match(line)
        if found is not None:
            instant_ns = int(found["seconds"]) * 1_000_000_000 + int(found["nanoseconds"])
            # Addresses of the kernel have the highest bit set.
            yield Sample(instant_ns, found["program"], found["name"], int(found["address"], 16) >= 1 << 63)


def perf_counts(samples: Iterable[Sample], window: tuple[int, int]) -> Counter[str]:
    """Samples by function within the window, without idle CPUs and the samplers' own work."""
    return Counter(
        sample.name if sample.is_kernel else USER
        for sample in samples
        if window[0] <= sample.instant_ns < window[1]
        and sample.program not in SAMPLING_PROGRAMS
        and (not sample.is_kernel or is_counted(sample.name))
    )


def our_counts(experiment: Experiment) -> Counter[str]:
    """The same of the record's table `stacks`, of both hosts: their CPUs are those of this machine."""
    stacks = read_table(experiment, "stacks").frame
    functions = read_table(experiment, "functions").frame
    key = ("trial", "host", "function")
    innermost = (
        stacks.filter(~pl.col("program").fill_null("").is_in(list(SAMPLING_PROGRAMS)))
        .with_columns(pl.col("functions").str.split(" ").list.last().cast(pl.UInt32, strict=False).alias("function"))
        .join(functions.select(*key, "name", "kind"), on=key, how="left")
    )
    counts: Counter[str] = Counter()
    for name, kind, count in innermost.select("name", "kind", "samples_count").iter_rows():
        counts[USER if kind == "program" else our_name(name, kind)] += count
    return Counter({name: count for name, count in counts.items() if name and (name == USER or is_counted(name))})


def our_name(name: str | None, kind: str | None) -> str:
    """The name of a kernel function; nothing for this measurement's own programs."""
    return "" if name is None or kind == "own_bpf" else name


@contextmanager
def _recorded(data: Path) -> Iterator[Callable[[], None]]:
    """Gives what starts perf; at the end it is stopped, and its file is whole."""
    processes: list[subprocess.Popen[str]] = []

    def start() -> None:
        # cpu-clock, as whyperf's own sampler, and its clock, so that both have the same window.
        command = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(PERF_HZ), "-a", "-k", "CLOCK_MONOTONIC"]
        processes.append(
            subprocess.Popen([*command, "-o", str(data)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        )

    try:
        yield start
    finally:
        for process in processes:
            process.send_signal(signal.SIGINT)
            try:
                _, error = process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                _, error = process.communicate()
            if not data.exists():
                raise LookupError(f"perf record wrote nothing: {error.strip()[-300:]}")


def _script(data: Path) -> list[str]:
    fields = "comm,tid,cpu,time,ip,sym,dso"
    command = ["perf", "script", "-i", str(data), "--ns", "-F", fields]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LookupError(f"perf script failed: {done.stderr.strip()[-300:]}")
    return done.stdout.splitlines()
