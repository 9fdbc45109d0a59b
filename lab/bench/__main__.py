"""`make bench`: plan, run, summarize, print."""

import sys
from datetime import datetime
from pathlib import Path

from rich.console import Console

from lab.bench import machine, options, plan, printed, subject, summary
from lab.bench.namespaces import allowed_congestion_control, set_congestion_control
from lab.bench.sample import Sample, take
from lab.bench.tools import STARTS, ToolError
from whyperf.record import RecordError
from whyperf.run import RunError


def main(arguments: list[str]) -> int:
    """Runs the benchmark; 0 when it is done."""
    asked = options.parse(arguments)
    setting = plan.Setting(allowed_congestion_control(), asked.window, asked.warmup_seconds, asked.seconds)
    folder = asked.out / datetime.now().strftime("%Y%m%d-%H%M%S")
    found = machine.describe()
    samples = measure(asked, setting, folder / "record")
    summaries = summary.summarize(samples, asked.seed)
    (folder / "bench.json").write_text(printed.document(samples, summaries, setting, found, asked.seed))
    (folder / "bench.md").write_text(printed.markdown(summaries, setting, found))
    printed.print_table(summaries, Console(width=None if sys.stdout.isatty() else 160))
    for warning in summary.warnings(samples):
        print(f"warning: {warning}")
    print(
        f"{folder / 'bench.json'} has every sample, {folder / 'bench.md'} the table for docs/background/performance.md"
    )
    return 0


def measure(asked: options.Options, setting: plan.Setting, folder: Path) -> list[Sample]:
    """Takes all runs, in their order; those on one CPU last, on a testbed of their own."""
    progress = Console(stderr=True)
    groups = [
        tuple(cell for cell in asked.cells if cell.is_on_one_cpu == is_on_one_cpu) for is_on_one_cpu in (False, True)
    ]
    runs = [plan.runs(cells, plan.TOOLS, asked.pairs, asked.seed) for cells in groups]
    left_s = sum(map(len, runs)) * (setting.load_s + options.RUN_OVERHEAD_S)
    samples = []
    for cells, taken in zip(groups, runs, strict=True):
        if not cells:
            continue
        place = folder / ("one-cpu" if cells[0].is_on_one_cpu else "two-cpus")
        with subject.testbed(setting, cells, asked.pairs, place) as (ends, whyperf):
            set_congestion_control(ends, setting.congestion_control)
            tools = {plan.WHYPERF: whyperf.start} | STARTS
            for run in taken:
                name = f"pair {run.pair + 1} of {asked.pairs}, {run.cell.name}, {run.tool}"
                progress.print(f"{name}, about {left_s:.0f} s left", highlight=False)
                left_s -= setting.load_s + options.RUN_OVERHEAD_S
                try:
                    samples.append(take(tools[run.tool], run, ends, setting))
                except (ToolError, LookupError, TimeoutError) as error:
                    # One tool that fails once must not cost the others their samples.
                    progress.print(f"{name}: left out: {error}", highlight=False, markup=False)
    return samples


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (RunError, RecordError, ToolError, LookupError, OSError) as error:
        sys.exit(f"bench: {error}")
