"""Verdicts from a folder of documents: same, different and why, cannot be measured, not measured."""

import json
from pathlib import Path
from typing import Any

import pytest

from whyperf.studies.catalog import Chosen, Source, Study, StudyEntry, StudyRun
from whyperf.studies.documents import as_text, at_path, measured_series
from whyperf.studies.folder import DOCUMENTS, StudyResults, document_path, here
from whyperf.studies.judge import Shape, judged, tally
from whyperf.studies.page import figure_rows, page_text, verdict_text

CELLS = {
    "cells": [
        {
            "id": f"c{window}",
            "trials": 4,
            "factors": {"near_cpus": str(window), "window_bytes": window, "no_delay": window > 2, "hosts": "old"},
            "goodput_bps": {
                "median": 1e6 * rate,
                "low": 1e6 * rate - 1e5,
                "high": 1e6 * rate + 1e5,
                "mean": 1e6 * rate,
                "stdev": 2e5,
            },
            "cycles_per_kbyte": {"sender": 10.0 * rate, "sender_low": 9.0 * rate, "sender_high": 11.0 * rate},
        }
        for window, rate in ((1, 10.0), (2, 20.0), (4, 21.0))
    ]
}
GOODPUT = {"run": "r", "x": "factors.window_bytes", "y": "goodput_bps.median", "scale": 1e-6}
CLAIM: dict[str, Any] = {
    "id": "more-window",
    "kind": "claim",
    "says": "More window brings more until 2.",
    "study": {"study": {"values": {"1": 12, "2": 24, "4": 24}}},
    "ours": {"ours": GOODPUT},
    "check": [{"kind": "ratio", "top": "ours@2", "bottom": "ours@1", "at_least": 1.5}],
    "why": "The window is not the limit.",
}


def folder_of(path: Path, *, code: int = 0, **documents: object) -> StudyResults:
    (path / DOCUMENTS).mkdir(exist_ok=True)
    status = here("simulate demo", code, "the host lacks it" if code else "", 2.0, documents=tuple(documents))
    (path / DOCUMENTS / "r.status.json").write_text(status.model_dump_json())
    for kind, document in documents.items():
        document_path(path, "r", kind).write_text(json.dumps(document))
    return StudyResults(path)


def entry(**changed: object) -> StudyEntry:
    return StudyEntry.model_validate(CLAIM | changed)


def test_the_same_shape_has_the_figures_of_both(tmp_path: Path) -> None:
    verdict = judged(entry(), folder_of(tmp_path, show=CELLS))
    assert verdict.shape is Shape.SAME
    assert verdict.reason == ""
    assert verdict.ours == {"ours": [(1.0, 10.0), (2.0, 20.0), (4.0, 21.0)]}
    assert list(figure_rows(verdict)) == [("", [("1", "12.0", "10.0"), ("2", "24.0", "20.0"), ("4", "24.0", "21.0")])]


def test_another_shape_has_the_reason(tmp_path: Path) -> None:
    check = [*CLAIM["check"], {"kind": "ratio", "top": "ours@4", "bottom": "ours@2", "at_least": 1.5}]
    verdict = judged(entry(check=check), folder_of(tmp_path, show=CELLS))
    assert (verdict.shape, verdict.reason) == (Shape.DIFFERENT, "The window is not the limit.")
    assert [outcome.holds for outcome in verdict.outcomes] == [True, False]


def test_certainty_is_the_share_of_draws_with_the_same_verdict(tmp_path: Path) -> None:
    results = folder_of(tmp_path, show=CELLS)
    sure = judged(entry(), results)
    close = judged(entry(check=[{"kind": "ratio", "top": "ours@2", "bottom": "ours@1", "at_least": 1.999}]), results)
    assert sure.certainty == 1
    assert close.shape is Shape.SAME
    assert close.certainty is not None
    assert 0.4 < close.certainty < 0.65
    assert verdict_text(sure) == "same shape"
    assert verdict_text(close).startswith("same shape, in ")
    without = {"cells": [cell | {"goodput_bps": {"median": 1e7}} for cell in CELLS["cells"]]}
    assert judged(entry(check=[{"kind": "spans", "at_most": 2}]), folder_of(tmp_path, show=without)).certainty is None


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"ours": {"ours": GOODPUT | {"y": "goodput_bps.best"}}}, "the result of r lacks goodput_bps.best"),
        ({"ours": {"ours": GOODPUT | {"where": {"factors.hosts": "new"}}}}, "has nothing with factors.hosts new"),
        ({"check": [{"kind": "ratio", "top": "ours@8", "bottom": "ours@1", "at_least": 1}]}, "no figure at 8"),
        ({"ours": {"ours": GOODPUT | {"document": "explain"}}}, "r has no document explain"),
        ({"ours": {"ours": GOODPUT | {"run": "other"}}}, "other was not run"),
    ],
)
def test_a_figure_that_is_missing_is_named(tmp_path: Path, changed: dict[str, object], reason: str) -> None:
    verdict = judged(entry(**changed), folder_of(tmp_path, show=CELLS))
    assert verdict.shape is Shape.NOT_MEASURED
    assert reason in verdict.reason


def test_a_run_that_failed_gives_no_verdict(tmp_path: Path) -> None:
    verdict = judged(entry(), folder_of(tmp_path, code=2))
    assert (verdict.shape, verdict.reason) == (Shape.NOT_MEASURED, "r failed: the host lacks it")
    # A run that is done with warnings has figures.
    assert judged(entry(), folder_of(tmp_path, code=3, show=CELLS)).shape is Shape.SAME


COPIES = {"x": "factors.hosts"}


@pytest.mark.parametrize(
    ("changed", "figure"),
    [
        ({"y": "cycles_per_kbyte.sender", "scale": 1}, (2.0, 200.0, 180.0, 220.0)),
        ({"y": "goodput_bps.mean", "scale": 1}, (2.0, 2e7, 2e7 - 196e3, 2e7 + 196e3)),
        ({"over": "factors.window_bytes"}, (2.0, 10.0, 9.95, 10.05)),
        ({"y": "factors.window_bytes", "times": "factors.window_bytes", "scale": 1}, (2.0, 4.0, None, None)),
        ({"where": {"factors.window_bytes": (2, 4)}}, (2.0, 20.0, 19.9, 20.1)),
        (COPIES | {"pick": "largest"}, ("old", 21.0, 20.9, 21.1)),
        (COPIES | {"pick": "smallest"}, ("old", 10.0, 9.9, 10.1)),
        (COPIES | {"pick": "range"}, ("old", 11.0, None, None)),
        (COPIES | {"pick": "mean"}, ("old", 17.0, None, None)),
        (COPIES | {"pick": "count"}, ("old", 3.0, None, None)),
        ({"x": "factors.near_cpus"}, (2.0, 20.0, 19.9, 20.1)),
        ({"x": "factors.hosts+factors.window_bytes"}, ("old 2", 20.0, 19.9, 20.1)),
        ({"x": "", "where": {"factors.no_delay": True}}, ("all", 21.0, 20.9, 21.1)),
    ],
)
def test_series_are_read_with_their_intervals(changed: dict[str, object], figure: tuple[Any, ...]) -> None:
    x, value, *ends = figure
    found = measured_series("ours", Source.model_validate(GOODPUT | changed), CELLS).at(x)
    assert found.value == pytest.approx(value)
    assert [found.low, found.high] == [None if end is None else pytest.approx(end) for end in ends]


def test_paths_select_items_of_lists() -> None:
    document = {
        "sides": [{"role": "sender", "classes": [{"name": "copy", "share": 0.2}]}, {"role": "receiver"}],
        "a": [5, 6],
    }
    assert at_path(document, "sides[role=sender].classes[name=copy].share") == 0.2
    assert at_path(document, "sides[role=receiver].classes[name=copy].share") is None
    assert at_path(document, "a.1") == 6
    assert at_path(document, "a.2") is None
    assert at_path(document, "none.there") is None


@pytest.mark.parametrize(
    ("found", "text"),
    [
        ([[4096, 2], [512, 1]], "4096+4096+512"),
        ({"payloads": [[60, 1], [1440, 1]], "repeats": 9}, "60+1440"),
        ([{"payloads": [[4096, 1]]}, {"payloads": [[1016, 1], [3080, 1]]}], "4096 then 1016+3080"),
        ([[1448, 12]], "1448 × 12"),
        ([{"code": "a"}, {"code": "b"}], "a b"),
        (True, "true"),
    ],
)
def test_parts_of_documents_are_texts(found: object, text: str) -> None:
    assert as_text(found) == text


def test_the_page_has_each_entry_with_command_figures_and_verdict(tmp_path: Path) -> None:
    lacking = {"id": "no-host", "ours": {}, "check": [], "why": "", "cannot": "No host.", "needs": "A host."}
    study = Study(name="s", title="The study", source="A source.", entry=(entry(), entry(**lacking)))
    part = Chosen(studies=(study,), runs={"r": StudyRun(command="simulate demo", seconds=1)})
    results = folder_of(tmp_path, show=CELLS)
    verdicts = {each.id: judged(each, results) for each in part.entries}
    text = page_text(part, results, verdicts)
    assert "Same shape: 1 of 2 entries (100 % of those that can be measured here)." in text
    assert "| The study | 2 | 1 | 0 | 1 | 0 |" in text
    assert "| r | `whyperf simulate demo` | 2 | done |" in text
    assert "### more-window\n\nMore window brings more until 2.\n\n```console\n$ whyperf simulate demo\n```" in text
    assert "| 2 | 24.0 | 20.0 |" in text
    assert "- Verdict: **same shape**\n- Holds: `ours@2 / ours@1 = 2.00 (required: at least 1.5)`" in text
    assert "- Verdict: **cannot be measured here**\n- Reason: No host.\n- Needed: A host." in text
    assert tally(verdicts).ratio == 1


def test_what_cannot_be_measured_says_why(tmp_path: Path) -> None:
    lacking = {"ours": {}, "check": [], "why": "", "cannot": "No such adapter.", "needs": "An adapter."}
    verdict = judged(entry(**lacking), None)
    assert (verdict.shape, verdict.reason) == (Shape.CANNOT, "No such adapter.")
    results = folder_of(tmp_path, show=CELLS)
    verdict = judged(entry(cpus=4096), results)
    assert verdict.shape is Shape.CANNOT
    assert verdict.reason.startswith("it needs 4096 CPUs, and the host of the results has ")
    assert judged(entry(), None).shape is Shape.NOT_MEASURED
