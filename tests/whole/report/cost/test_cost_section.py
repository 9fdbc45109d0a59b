"""The section on cost of the report."""

import re
from pathlib import Path

import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.cost.sampled_results import add_samples
from tests.unit.analyze.workload_samples import Exchange, in_blocks
from tests.unit.analyze.workload_samples import write as write_exchanges
from tests.whole.report.test_page import page
from whyperf.analyze.cost.classes import classes
from whyperf.analyze.cost.stored_budget import read_cost
from whyperf.record import Experiment
from whyperf.report.cost.section import MAX_BARS, MAX_CELLS, CostSection, cost_section
from whyperf.report.cost.styles import in_order, look_of


def section(experiment: Experiment) -> CostSection:
    found = cost_section(experiment, experiment.trials())
    assert found is not None
    return found


def part_of(text: str) -> str:
    """The section of a page."""
    (found,) = re.findall(r'<section id="cost">.*?</section>', text, re.DOTALL)
    return str(found)


def test_each_class_has_a_look_of_its_own() -> None:
    names = [entry.name for entry in classes()]
    looks = [look_of(name) for name in names]
    assert len({(look.paint, look.texture) for look in looks}) == len(looks)
    assert [look.state for look in looks if look.texture == "hollow"] == ["not_attributed"]
    assert in_order({"not_attributed", "copy", "application"}) == ["application", "copy", "not_attributed"]


def test_bars_and_tables_have_the_classes_of_both_sides(tmp_path: Path) -> None:
    experiment = add_samples(made.write(tmp_path / "stream", made.blocks_of(made.Trial(duration_s=2), [1e9, 2e9])))
    found = section(experiment)
    (cell,) = read_cost(experiment).cells
    (bars,) = found.bars
    assert [bar.role for bar in bars.bars] == ["Sender", "Receiver"]
    sender, receiver = cell.sides
    assert [bar.width for bar in bars.bars] == pytest.approx([1, receiver.total.mean / sender.total.mean])
    for bar in bars.bars:
        assert sum(part.ratio for part in bar.parts) == pytest.approx(1)
    (detail,) = found.cells
    assert detail.setting == ""
    names = [row.name for row in detail.sides[0].rows if row.look is not None]
    assert names[0] == "Copying payload"
    assert "_copy_from_iter" in [row.name for row in detail.sides[0].rows if row.look is None]
    assert detail.sides[0].interval == "range"
    text = part_of(page(experiment.folder))
    assert text.count("<table") == 2
    assert text.count("class='flame'") == 2
    assert "Cycles/<wbr>KB<" in text
    assert "_copy_to_iter" in text


def test_costs_are_per_transaction_where_the_rate_is(tmp_path: Path) -> None:
    folder = write_exchanges(tmp_path / "rr", in_blocks(Exchange(made.Trial(duration_s=2)), (1000.0,)))
    found = section(add_samples(folder))
    assert found.about == "TSC reference cycles per transaction, by what the host did."
    (cell,) = found.cells
    assert [side.column for side in cell.sides] == ["transaction"] * 2
    (total,) = [bar.total for bar in found.bars[0].bars if bar.role == "Sender"]
    flame = cell.sides[0].flame
    assert flame is not None
    assert f"<b>sender <i>{total.partition(' ')[0]} · 100 %</i>" in flame.html


def test_of_many_cells_those_with_the_highest_cost_are_drawn_in_full(tmp_path: Path) -> None:
    trials = [
        made.Trial(cell=f"c{number:04d}", duration_s=1, rate_bps=1e9 / number, write_size_bytes=1024 * number)
        for number in range(1, MAX_BARS + 2)
    ]
    found = section(add_samples(made.write(tmp_path / "sweep", trials)))
    assert len(found.bars) == MAX_BARS
    # The same CPU time for the lowest rate.
    assert [cell.id for cell in found.cells] == [f"c{MAX_BARS + 1 - place:04d}" for place in range(MAX_CELLS)]
    assert found.cells[0].setting == f"write size {1024 * (MAX_BARS + 1):,} bytes"
    of_cells = [note for note in found.notes if "24 of 25 cells" in note or "4 cells" in note]
    # Some of the samples were lost, which is said first.
    assert of_cells == [note for note in found.notes if "samples" not in note]
    text = part_of(page(tmp_path / "sweep"))
    assert text.count("<details") == text.count("</details>") == MAX_CELLS


def test_what_could_not_be_sampled_is_a_note(tmp_path: Path) -> None:
    folder = made.write(tmp_path / "stream", [made.Trial(duration_s=2)])
    add_samples(folder)
    for manifest in folder.glob("trials/*/manifest.json"):
        text = manifest.read_text()
        before, _, after = text.rpartition('"event": "cpu_clock", "reason": null')
        manifest.write_text(f'{before}"event": null, "reason": "no BPF <here>"{after}')
    text = part_of(page(folder))
    assert "The far side could not be sampled: no BPF &lt;here&gt;." in text
    assert text.count("<table") == 1
