"""`whyperf explain` on results that lack something: explained as far as the evidence goes, what is missing first."""

import errno
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.unit.analyze.flow import traces
from tests.unit.explain.experiment_samples import keep_next_to, why
from tests.unit.record.record_samples import PROFILE_TEXT, manifest, sample_plan
from whyperf.cli.app import main
from whyperf.explain.causes import Cause
from whyperf.explain.experiment import explain_experiment
from whyperf.explain.explanation import CauseProbability
from whyperf.explain.store import read_explanation, write_explanation
from whyperf.record import Experiment

SECOND = 1_000 * traces.MS


def tables(host: str, *, limited_ns: int) -> dict[str, pl.DataFrame]:
    """An end of a second's load; TCP says that the window limited it for so long."""
    start = traces.START_NS
    role = pl.lit("sender" if host == "near" else "receiver").alias("role")
    flows = traces.flows({0: 10_000_000}).with_columns(
        role,
        pl.lit(start, pl.UInt64).alias("first_call_mono_ns"),
        pl.lit(start + SECOND, pl.UInt64).alias("last_call_mono_ns"),
    )
    names = ("busy_ns", "rwnd_limited_ns", "send_buffer_limited_ns")
    samples = [
        {"sample_mono_ns": start, **dict.fromkeys(names, 0)},
        {"sample_mono_ns": start + SECOND, **dict(zip(names, (SECOND, limited_ns, 0), strict=True))},
    ]
    info = pl.DataFrame(samples).with_columns(
        pl.lit(0, pl.UInt32).alias("connection"),
        pl.lit(16_384, pl.UInt32).alias("peer_window_bytes"),
        pl.lit(10 * traces.MS, pl.UInt64).alias("rtt_ns"),
        pl.lit(host).alias("host"),
    )
    return {"flows": flows, "intervals": traces.intervals(), "tcp_info": info}


def write_trial(
    experiment: Experiment, trial: str, status: str = "complete", limited_ns: int = int(0.9 * SECOND), **changed: Any
) -> None:
    with experiment.begin_trial(trial) as writer:
        for host in ("near", "far"):
            for name, frame in tables(host, limited_ns=limited_ns).items():
                with writer.open_table(name, host) as file:
                    file.write(_parquet(frame.with_columns(host=pl.lit(host))))
        found = manifest(experiment.plan, trial, status)
        for end in found["hosts"].values():
            end["clock"]["offset_ns"] = 0
        writer.commit(found | changed)


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    plan = sample_plan()
    with Experiment.create(tmp_path / "result", plan, PROFILE_TEXT) as created:
        write_trial(created, "001-c0001")
        write_trial(created, "001-c0002", "failed")
    return Experiment.open(tmp_path / "result")


def explain(experiment: Experiment, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str, str]:
    code = main(["explain", str(experiment.folder), *more])
    streams = capsys.readouterr()
    return code, streams.out, streams.err


def test_without_a_log_counters_show_and_the_log_is_missed_first(
    experiment: Experiment, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = explain(experiment, capsys, "001-c0001")
    assert code == 0, "nobody asked for a log"
    assert out.startswith("Missing: No segment log")
    assert "1. The receive buffer is too small" in out
    assert "--set window_bytes=default" in out
    assert re.search(r"Confidence: (high|medium|low) \(\d", out)


def test_one_screen_has_the_limit_and_names_what_else_is_possible(
    experiment: Experiment, capsys: pytest.CaptureFixture[str]
) -> None:
    explain(experiment, capsys)
    kept = read_explanation(experiment)
    assert kept is not None
    first = kept.cells[0].verdicts[0]
    many = [first.evidence[0].model_copy(update={"words": f"Figure {number}."}) for number in range(6)]
    first = first.model_copy(update={"evidence": many})
    other = first.model_copy(update={"cause": Cause.THINK_TIME, "code": "think_time", "claim": "It thinks."})
    probable = {"receive_buffer": 0.8, "think_time": 0.12, "another": 0.06, "policer": 0.02}
    weighed = [CauseProbability(cause=cause, probability=value) for cause, value in probable.items()]
    cell = kept.cells[0].model_copy(update={"verdicts": [first, other], "probabilities": weighed})
    write_explanation(experiment, kept.model_copy(update={"cells": [cell, kept.cells[1]]}))
    _, short, _ = explain(experiment, capsys, "--cell", "c0001")
    assert [line for line in short.splitlines() if "Figure" in line][-1].strip().startswith("- Figure 3.")
    assert "It thinks." not in short
    assert "Also possible: pauses of the application (12 %)." in short
    assert "Where the time went" not in short
    assert "--all shows every cause with its evidence and where the time went." in short
    assert "--try finds out by experiments whether the change helps" in short
    _, whole, _ = explain(experiment, capsys, "--cell", "c0001", "--all")
    assert "Figure 5." in whole
    assert "2. It thinks." in whole
    assert "Refuted if" in whole
    assert "Where the time went" in whole
    assert "Also possible" not in whole


def test_the_answer_of_experiments_comes_before_the_verdicts_of_their_cell(
    experiment: Experiment, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(experiment.folder.parent)
    _, json_before, _ = explain(experiment, capsys, "--json")
    keep_next_to(experiment, why())
    _, out, _ = explain(experiment, capsys, "--cell", "c0001")
    printed = " ".join(out.split())
    assert "By experiments: Small writes: proved. The rate rises from 1.00 Gbit/s to 8.00 Gbit/s" in printed
    assert printed.index("Cell c0001") < printed.index("By experiments:") < printed.index("1. The receive buffer")
    assert "\n  whyperf show result-why-1\n" in out
    _, whole, _ = explain(experiment, capsys)
    assert whole.index("c0001 (") < whole.index("By experiments:") < whole.index("c0002 (")
    assert "By experiments" not in explain(experiment, capsys, "--cell", "c0002")[1]
    assert explain(experiment, capsys, "--json")[1] == json_before


def test_what_is_not_known_comes_with_the_command_of_the_next_measurement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = sample_plan()
    with Experiment.create(tmp_path / "result", plan, PROFILE_TEXT) as created:
        write_trial(created, "001-c0001", limited_ns=0)
    _, out, _ = explain(Experiment.open(tmp_path / "result"), capsys, "001-c0001")
    assert "1. Not known" in out
    (line,) = [line for line in out.splitlines() if line.lstrip().startswith("whyperf run ")]
    assert "--evidence segments" in line
    assert f"--only sweep={plan.cells[0].sweep}" in line or len({cell.sweep for cell in plan.cells}) == 1


def test_a_log_that_was_asked_for_and_is_missing_is_doubtful(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = sample_plan(evidence="segments")
    with Experiment.create(tmp_path / "result", plan, PROFILE_TEXT) as created:
        write_trial(created, "001-c0001")
    experiment = Experiment.open(tmp_path / "result")
    assert explain(experiment, capsys, "--cell", "c0001")[0] == 3
    assert explain(experiment, capsys, "001-c0001")[0] == 0


def test_a_failed_trial_is_reported_as_such(experiment: Experiment, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = explain(experiment, capsys, "--cell", "c0002")
    assert code == 3
    assert "The exit code is 3" in err
    assert "evidence that was asked for is missing; each is a line" in err
    assert out.startswith("Missing: The trial failed")
    assert out.count("The trial ") == 1


def test_all_cells_are_kept_next_to_the_result(experiment: Experiment, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = explain(experiment, capsys, "--json")
    printed = json.loads(out)
    assert code == 3
    assert "is missing of c0002; `--cell` with one of them" in err
    assert [cell["trial"] for cell in printed["cells"]] == ["001-c0001", "001-c0002"]
    kept = read_explanation(experiment)
    assert kept is not None
    assert kept.model_dump(mode="json") == printed
    path = experiment.folder / "trials" / "001-c0001" / "manifest.json"
    path.write_text(path.read_text() + " ")
    assert read_explanation(experiment) is None, "it is of another record"
    write_explanation(experiment, kept)
    assert read_explanation(experiment) == kept


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["001-c0007"], "has no trial 001-c0007; did you mean"),
        (["--cell", "c0009"], "has no cell c0009; did you mean"),
        (["001-c0001", "--cell", "c0002"], "trial 001-c0001 is of cell c0001, not c0002"),
    ],
)
def test_a_name_that_is_not_there_is_one_sentence(
    more: list[str], says: str, experiment: Experiment, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = explain(experiment, capsys, *more)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.strip().splitlines()) == 1


def test_a_record_of_another_version_and_a_torn_table_are_left_out(
    experiment: Experiment, capsys: pytest.CaptureFixture[str]
) -> None:
    path = experiment.folder / "trials" / "001-c0001" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"record_version": 2}))
    code, out, _ = explain(experiment, capsys)
    assert code == 3
    assert " ".join(out.split()).startswith(
        "Missing: Trial 001-c0001 is left out: its record is of version 2, this is whyperf for ver"
    )
    code, out, _ = explain(experiment, capsys, "001-c0001")
    assert code == 3
    assert "Missing: The record is of version 2, this is whyperf for version 1." in " ".join(out.split())
    assert "The receive buffer is too small" in " ".join(out.split())
    torn = experiment.folder / "trials" / "001-c0002" / "tcp_info.near.parquet"
    torn.write_bytes(torn.read_bytes()[:-8])
    code, out, _ = explain(experiment, capsys, "001-c0002")
    assert code == 3
    assert "Trial 001-c0002 is damaged: its table tcp_info.near.parquet has" in " ".join(out.split())


def test_cells_without_a_trial_are_not_counted_among_those_whose_limit_is_not_known(
    experiment: Experiment, capsys: pytest.CaptureFixture[str]
) -> None:
    (experiment.folder / "trials" / "001-c0002" / "manifest.json").unlink()
    _, out, _ = explain(experiment, capsys)
    assert "1 of 1 setting is limited by the receive buffer, 1 has no trial that can be read." in " ".join(out.split())


def test_a_result_that_may_only_be_read_is_reported_and_not_kept(
    experiment: Experiment, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, _: bytes, **__: bool) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr("whyperf.record.kept.write_file", refuse)
    code, out, err = explain(experiment, capsys)
    assert code == 3
    assert "c0001" in out
    line, _ = err.strip().splitlines()
    assert line.startswith("Could not save explain.json: cannot write")
    assert line.endswith("explain.json: permission denied")
    assert not (experiment.folder / "explain.json").exists()


def test_a_result_without_trials_fails_with_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Experiment.create(tmp_path / "empty", sample_plan(), PROFILE_TEXT) as empty:
        pass
    code, out, _ = explain(empty, capsys)
    assert code == 1
    assert "Measure it with `whyperf run`" in " ".join(out.split())


def test_a_long_log_is_not_read_unasked(experiment: Experiment, tmp_path: Path) -> None:
    """Its table decides: a manifest of somebody else may have any number."""
    long = manifest(experiment.plan, "log01-c0001")
    for end in long["hosts"].values():
        end["evidence"] = {"asked": "segments", "got": "segments", "logged_events_count": 0}
    with Experiment.create(tmp_path / "result", experiment.plan, PROFILE_TEXT) as opened:
        write_trial(opened, "log01-c0001", hosts=long["hosts"])
    log = traces.trace(traces.OPENING).with_columns(cwnd_segments=10)
    log.write_parquet(experiment.folder / "trials/log01-c0001/segments.near.parquet")
    cells = {"c0001"}
    for most in (None, log.height):
        asked = explain_experiment(experiment, cells=cells, max_logged=most)
        assert [cell.trial for cell in asked.cells] == ["log01-c0001"]
    unasked = explain_experiment(experiment, cells=cells, max_logged=log.height - 1)
    assert [cell.trial for cell in unasked.cells] == ["001-c0001"]
    assert any("has 7 segments. Read it with `whyperf explain" in text for text in unasked.missing)
