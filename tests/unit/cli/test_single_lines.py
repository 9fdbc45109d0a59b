"""What the lines of a single measurement say of figures that are not there, or that another command has, too."""

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.workload_samples import Exchange, inputs
from whyperf.analyze import summarize_inputs
from whyperf.analyze.summary import Cycles
from whyperf.cli.output.single import single_lines


def test_a_latency_that_nothing_was_measured_of_says_why() -> None:
    (cell,) = summarize_inputs(inputs(Exchange(latencies=()))).cells
    lines = single_lines(cell)
    assert "Latency         not known: no transaction ended within the measured time" in lines
    (cell,) = summarize_inputs(inputs(Exchange())).cells
    assert not any("not known" in line for line in single_lines(cell) if line.startswith("Latency"))


def test_cycles_of_threads_are_named_so_and_those_of_whole_cpus_are_not() -> None:
    (cell,) = summarize_inputs(made.inputs([made.Trial()])).cells
    said = [
        next(line for line in single_lines(cell.model_copy(update={"cycles_per_kbyte": cycles})) if "Cycles" in line)
        for cycles in (Cycles(sender=453.0, unit="TSC reference cycles"), Cycles(sender=453.0, unit="PMU cycles"))
    ]
    assert said == [
        "Cycles/KB       sender 453 (TSC reference cycles of whyperf's own threads)",
        "Cycles/KB       sender 453 (PMU cycles)",
    ]
