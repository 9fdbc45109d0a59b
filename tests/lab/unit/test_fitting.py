"""Fitting the weights of the decision."""

import dataclasses
import lzma
import math
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from lab.app import main
from lab.situations import evidence
from lab.situations.evidence import (
    JUDGED,
    SUFFIX,
    WATCHED,
    Evidence,
    Weighed,
    evidence_in,
    keep,
    limits_undisturbed,
    stored,
    weighed,
    weighed_in,
)
from lab.situations.fitting import fit, left_out, log_likelihood, outcome, predicted
from lab.truth.levels import View
from lab.truth.one_sided import WatchedView
from lab.truth.watched.catalog import load_watched
from lab.truth.watched.grade import ViewGrade, WatchedRun
from tests.unit.explain.situations import situations
from whyperf.cli.exits import UsageError
from whyperf.explain.causes import ANOTHER, Cause
from whyperf.explain.decide import Candidate
from whyperf.explain.host_facts import HostFacts, Processors
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import Facts

NUMBER = 300


def row(
    number: int, share: float, right: str, *, other: float | None = None, cause: Cause = Cause.RANDOM_LOSS
) -> Weighed:
    """A trial of which a cause takes `share`, and a bottleneck `other`, which is the rest unless it is said."""
    found = (Candidate(cause, share, 2.0), Candidate(Cause.BOTTLENECK, 1 - share if other is None else other, 2.0))
    return Weighed(f"s{number}", "user", "user", found, frozenset({right}), is_undisturbed=False, today="wrong")


def rows_of(seed: int) -> list[Weighed]:
    """Trials of which what takes more is right."""
    rng = Random(seed)
    shares = [rng.uniform(0.05, 0.95) for _ in range(NUMBER)]
    return [row(number, share, "random_loss" if share > 0.5 else "bottleneck") for number, share in enumerate(shares)]


def test_what_takes_more_is_more_probable() -> None:
    weights = fit(rows_of(1))
    assert predicted(row(0, 0.9, ""), weights)["random_loss"] > 0.9
    assert predicted(row(0, 0.1, ""), weights)["bottleneck"] > 0.9
    # Of causes that no trial was about, too: all have the weights of figures in common.
    assert predicted(row(0, 0.9, "", cause=Cause.POLICER), weights)["policer"] > 0.5


def test_a_cause_whose_limit_takes_too_little_has_weights_of_its_own() -> None:
    low = [row(number, 0.3, "random_loss", other=0.6) for number in range(40)]
    high = [row(number, 0.3, "bottleneck", other=0.6, cause=Cause.POLICER) for number in range(40, 80)]
    weights = fit(low + high)
    assert predicted(low[0], weights)["random_loss"] > 0.9
    assert predicted(high[0], weights)["bottleneck"] > 0.9


def test_a_level_has_weights_of_its_own() -> None:
    user = [row(number, 0.5, "random_loss") for number in range(40)]
    log = [dataclasses.replace(row(number, 0.5, "bottleneck"), level="segments") for number in range(40, 80)]
    weights = fit(user + log)
    assert predicted(user[0], weights)["random_loss"] > 0.7
    assert predicted(log[0], weights)["bottleneck"] > 0.7


def test_situations_left_out_are_judged_as_well() -> None:
    rows = rows_of(2)
    probable = left_out(rows)
    worth = Counter(outcome(each, found, 0.5) for each, found in zip(rows, probable, strict=True))
    assert worth["right"] > 0.9 * len(rows)
    assert log_likelihood(rows, probable) > math.log(1 / 2)


def test_stored_situations_have_what_was_injected() -> None:
    rows = {(row.situation, row.view): row for row in stored()}
    tiny = rows["stored-tiny-writes", View.SEGMENTS]
    assert (set(tiny.right), tiny.is_undisturbed) == ({"tiny_writes"}, False)
    assert Cause.TINY_WRITES in {candidate.cause for candidate in tiny.found}
    clean = [row for row in rows.values() if row.is_undisturbed]
    assert clean
    assert all(ANOTHER in row.right for row in clean)


def test_a_watched_result_is_fitted_on_where_its_runs_were_kept(tmp_path: Path) -> None:
    case = load_watched().case[0]
    grade = ViewGrade(
        view=WatchedView.BOTH_USER, outcome="right", named=("x",), confidence="", closed_ratio=None, headline=""
    )
    without = WatchedRun(case=case.name, dose=0, block=1, rate_bps=1e9)
    too_weak = WatchedRun(case=case.name, dose=1, block=1, rate_bps=0.95e9, grades=(grade,))
    counts = WatchedRun(case=case.name, dose=1, block=1, rate_bps=0.5e9, grades=(grade,))
    runs = tmp_path / WATCHED
    runs.write_text(f"{without.model_dump_json()}\n{too_weak.model_dump_json()}\n")
    assert list(weighed_in(tmp_path)) == []
    runs.write_text(f"{without.model_dump_json()}\n{counts.model_dump_json()}\n")
    with pytest.raises(UsageError, match=f"lacks runs of {case.name}; fit on a result that kept all runs"):
        list(weighed_in(tmp_path))


def test_a_kept_set_has_what_limits_see_and_not_whose_hosts_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = {"near": {"hostname": "mine", "boot_id": "1", "sysctls": {"net.core.rmem_max": "212992"}}}
    seen = [
        Evidence(
            f"s{n}",
            each.view,
            ("random_loss",),
            "stream",
            "right",
            each.facts,
            dataclasses.replace(each.setup, hosts=hosts),
        )
        for n, each in enumerate(situations()[:5])
    ]
    monkeypatch.setattr(evidence, "evidence_in", lambda _: iter(seen))
    file = tmp_path / f"set{SUFFIX}"
    assert keep(tmp_path, file) == len(seen)
    monkeypatch.undo()
    kept = list(evidence_in(file))
    assert [weighed(each) for each in kept] == [weighed(each) for each in seen]
    assert all(each.setup.hosts == {"near": {"sysctls": {"net.core.rmem_max": "212992"}}} for each in kept)
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("content", [b"", b"no set", lzma.compress(b"{}")])
def test_what_is_no_kept_set_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / f"set{SUFFIX}"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=r"\.xz is no set that this version of whyperf-lab keeps: .*; keep it"):
        list(evidence_in(file))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fit", "--write"], "--write needs the sets by name"),
        (["fit", "no-such-set"], "no-such-set is no set; name a result of whyperf-lab situations"),
        (["keep", "."], "has no judged.json; name a result of whyperf-lab situations"),
        (["keep", "{result}", "--name", "../x"], "--name ../x: take letters, digits"),
    ],
)
def test_a_wrong_set_or_name_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    (tmp_path / JUDGED).write_text("{}")
    assert main([each.format(result=tmp_path) for each in arguments]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_what_shows_nothing_says_nothing() -> None:
    rng = Random(3)
    rows = [row(number, rng.random(), rng.choice(("random_loss", "bottleneck"))) for number in range(NUMBER)]
    mean = sum(found["random_loss"] for found in left_out(rows)) / len(rows)
    assert mean == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(
    ("probable", "right", "worth"),
    [
        ({"random_loss": 0.9, "policer": 0.1}, "random_loss", "right"),
        ({"bottleneck": 0.9, "random_loss": 0.1}, "random_loss", "wrong"),
        ({"bottleneck": 0.5, "random_loss": 0.4}, "random_loss", "candidate"),
        # What takes nothing is no verdict, and can be a candidate.
        ({"policer": 0.9, "random_loss": 0.1}, "policer", "candidate"),
        # To name nothing is right where nothing limits.
        ({"another": 0.8, "random_loss": 0.1}, "another", "right"),
        ({"another": 0.1, "random_loss": 0.9}, "another", "wrong"),
        ({"another": 0.4, "random_loss": 0.6}, "another", "right"),
    ],
)
def test_what_a_decision_is_worth(probable: dict[str, float], right: str, worth: str) -> None:
    weighed = dataclasses.replace(row(1, 0.5, right), is_undisturbed=right == ANOTHER)
    assert outcome(weighed, probable, 0.7) == worth


PATH = {"path_rate_bps": 1_000_000}


@pytest.mark.parametrize(
    ("group", "factors", "busy", "rate_bps", "limits"),
    [
        ("stream", PATH, 0.1, 1e5, {ANOTHER, "bottleneck"}),
        ("stream", PATH, 0.95, 1e5, {ANOTHER, "bottleneck", "capacity"}),
        ("stream", {}, 0.95, 1e5, {ANOTHER, "capacity"}),
        ("requests", PATH, 0.1, 1e5, {ANOTHER, "round_trip"}),
        # Answers that fill most of the path wait for it.
        ("requests", PATH, 0.1, 9e5, {ANOTHER, "round_trip", "bottleneck"}),
    ],
)
def test_a_load_that_nothing_disturbs_has_the_limits_of_its_situation(
    group: str, factors: dict[str, int], busy: float, rate_bps: float, limits: set[str]
) -> None:
    facts = Facts("a trial", rate_bps=rate_bps, sender=HostFacts(processors=Processors(thread_ratio=busy)))
    assert limits_undisturbed(group, Setup(factors), facts) == limits
