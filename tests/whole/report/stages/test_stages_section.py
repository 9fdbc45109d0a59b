"""Processing times on the page, in the terminal and as JSON."""

import json
import re
from dataclasses import replace

import pytest

from tests.unit.analyze.stages.planted_stages import Planted
from tests.unit.analyze.stages.staged_results import staged
from tests.whole.report.test_page import page
from whyperf.analyze.stages import Amount, Split
from whyperf.analyze.stages.experiment import analyzed
from whyperf.calibrate import CalibratedHost
from whyperf.cli.app import main
from whyperf.cli.exits import DONE
from whyperf.record import Experiment
from whyperf.report.stages import read_staged, stages_section
from whyperf.report.stages.section import differences, lines, modeled
from whyperf.report.stages.stage_colors import all_stages, look_of
from whyperf.report.stages.texts import blocks_of, split_text


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    """Three sizes, each with a stage trial."""
    return staged(tmp_path_factory.mktemp("staged") / "made", gaps={"no_start": 7, "merged": 40})


def test_each_stage_has_a_look_of_its_own() -> None:
    looks = [look_of(stage.name) for stage in all_stages()]
    assert len({look.letters for look in looks}) == len(looks)
    processed = [look for look, stage in zip(looks, all_stages(), strict=True) if not stage.is_wait]
    assert len({(look.paint, look.texture) for look in processed}) == len(processed)
    assert {look.texture for look, stage in zip(looks, all_stages(), strict=True) if stage.is_wait} == {"hollow"}


def test_the_section_has_a_figure_bars_messages_and_lines(experiment: Experiment) -> None:
    found = stages_section(experiment.plan, read_staged(experiment, experiment.trials()))
    assert found is not None
    assert [figure.title for figure in found.figures] == ["Sending", "Receiving"]
    for figure in found.figures:
        assert sorted({mark.kind for mark in figure.marks}) == ["driver", "total"]
        total = [mark for mark in figure.marks if mark.kind == "total"]
        driver = [mark for mark in figure.marks if mark.kind == "driver"]
        assert len(total) == len(driver) == 3
        assert all(whole.bottom > part.bottom for whole, part in zip(total, driver, strict=True))
        assert all(mark.low <= mark.bottom <= mark.high for mark in figure.marks)
    assert [cell.setting for cell in found.cells] == [
        "write size 64 bytes",
        "write size 1,024 bytes",
        "write size 4,096 bytes",
    ]
    for cell in found.cells:
        assert [bar.title for bar in cell.bars] == [
            "Sending at the sender (near side)",
            "Receiving at the receiver (far side)",
        ]
        for bar in cell.bars:
            assert sum(part.ratio for part in bar.parts) == pytest.approx(1, abs=0.01)
    assert found.lines is not None
    assert ("Copy out, receiving") in {row[0] for row in found.lines.rows}
    assert any(
        re.match(r"(Near|Both)( side| sides): 7 stages \(0\.[23] % of the rows\) had no start", note)
        for note in found.notes
    )
    assert any("40 wire segments became part of a larger packet by GRO" in note for note in found.notes)


def test_the_page_has_the_section_and_the_flow_page_too(
    experiment: Experiment, capsys: pytest.CaptureFixture[str]
) -> None:
    text = page(experiment.folder)
    (part,) = re.findall(r'<section id="stages">.*?</section>', text, re.DOTALL)
    assert part.count("st-dot") >= 12
    assert 'href="#stages"' in text
    assert main(["flow", str(experiment.folder), "stages01-c0002"]) == DONE
    out = capsys.readouterr().out
    assert "Processing times, stages01-c0002" in out
    assert "Sending at the sender (near side), per packet of 1,024 bytes" in out
    assert "Sender (near side) to receiver (far side), per message of 1,024 bytes" in out
    assert re.search(r"TCP in\s+4[12]\d ns", out)
    written = (experiment.folder / "flow-stages01-c0002.html").read_text()
    assert '<section id="stages">' in written
    assert "flow-data" not in written


def test_json_has_all_figures(experiment: Experiment, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flow", str(experiment.folder), "stages01-c0001", "--json", "--no-page"]) == DONE
    document = json.loads(capsys.readouterr().out)["stages"]
    assert document["trial"] == "stages01-c0001"
    assert [entry["direction"] for entry in document["directions"]] == ["out", "in"]
    stages = {entry["stage"]: entry for entry in document["directions"][1]["stages"]}
    assert stages["tcp_in"]["cpu_ns"]["value"] == pytest.approx(420, rel=0.05)
    assert stages["wakeup_wait"]["waiting_ns"]["value"] == pytest.approx(4000, rel=0.05)
    assert document["messages"][0]["count"] == 400
    assert document["hosts"]["near"]["gaps"] == {"merged": 40, "no_start": 7}


def test_a_model_is_drawn_next_to_the_host(experiment: Experiment) -> None:
    host = calibrated(write_call_us=0.5, output_us=1.0, transmit_us=0.5, copy_in_ns_per_byte=0.1, input_us=2.0)
    cells = read_staged(experiment, experiment.trials())
    pairs = modeled(host, [cell.found for cell in cells if cell.found is not None])
    points = lines(pairs)
    assert [point.cpu_ns for point in points["out"]] == pytest.approx([2006.4, 2102.4, 2409.6])
    assert [point.driver_ns for point in points["out"]] == pytest.approx([500] * 3)
    assert [point.cpu_ns for point in points["in"]] == pytest.approx([2000] * 3)
    apart = differences(pairs)
    assert set(apart) == {"out", "in"}
    assert all(0 < middle <= abs(most) for middle, most in apart.values())
    found = stages_section(experiment.plan, cells, host)
    assert found is not None
    assert found.has_model
    assert [kind for kind, _ in found.figures[0].paths] == ["driver", "total", "model total", "model driver"]
    assert any(re.match(r"Model, sending: .* in the median of all sizes, at most ", note) for note in found.notes)


@pytest.mark.parametrize(("answer_bytes", "handed_over"), [(64, True), (4096, False)])
def test_a_packet_behind_an_ack_is_not_handed_over_again(answer_bytes: int, handed_over: bool) -> None:
    """An answer of three segments is acknowledged at once, and that ACK has interrupted the other host's CPU."""
    request, answer = Planted([1000] * 200), Planted([answer_bytes] * 200)
    near, far = request.host("sender"), replace(answer.host("sender"), host="far")
    ((point, own),) = [
        pair
        for pair in modeled(calibrated(output_us=1.0, handover_us=8.0), [analyzed("t", "c", [near, far], 0)])
        if pair[0].host == "near"
    ]
    assert (point.direction, round(own.cpu_ns)) == ("out", 9000 if handed_over else 1000)


def calibrated(**costs: float) -> CalibratedHost:
    """A model with one set of costs."""
    return CalibratedHost("linux-6.18+veth", "", {}, (costs,), {}, {}, 0.1)


def test_times_with_one_unit_have_it_once_and_a_mean_that_is_not_split_is_empty(experiment: Experiment) -> None:
    found = stages_section(experiment.plan, read_staged(experiment, experiment.trials()))
    assert found is not None
    rows = {row[0]: row for row in found.cells[0].blocks[1].rows}
    assert re.fullmatch(r"4[12]\d–4[23]\d ns", rows["TCP in"][2])
    assert split_text(Split(10.0, Amount(0.5, 0.4, 0.6))) == "10.0 ns + 512 ns"
    assert not split_text("flat")


@pytest.mark.parametrize(
    ("uncertainty_ns", "sentence"),
    [
        (0, None),
        (100, "compared to within 100 ns. Path and the whole time are uncertain by that."),
        (5_000, "compared to within 5.00 µs. Path is shorter, so it is not known."),
    ],
)
def test_clocks_of_two_hosts_are_said_to_be_as_exact_as_they_are(uncertainty_ns: int, sentence: str | None) -> None:
    planted = Planted([1448] * 300)
    found = analyzed("t", "c", [planted.host("sender"), planted.host("receiver")], uncertainty_ns)
    notes = " ".join(blocks_of(found)[-1].notes)
    assert ("clocks of the hosts" in notes) is (sentence is not None)
    assert (sentence or "") in notes
