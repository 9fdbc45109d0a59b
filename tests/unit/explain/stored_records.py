"""What explain makes of stored records and trials: explanations, facts, budgets and patterns.

`tests/records` has the records. `trials.tar.xz` has trials of 0.6 s with a segment log, each with an injected cause.
Each is read at five levels of evidence. `explained.json.xz` has what was made of them when it was written.
`python -m tests.unit.explain.stored_records` writes it again, and prints what changed.
"""

import json
import lzma
import os
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from tests.unit.explain.situations import FACTS, differences, rounded
from tests.unit.records.golden import KINDS, unpack
from whyperf.analyze import summarize
from whyperf.analyze.flow import at_levels, open_trial
from whyperf.explain.budget import budgets_of
from whyperf.explain.experiment import explain_experiment
from whyperf.explain.gather import by_payload, gather_facts
from whyperf.explain.pattern import patterns_of
from whyperf.explain.segment_log import read_logs
from whyperf.explain.verify.candidates import Attempt, attempts_of
from whyperf.explain.verify.kept import with_verifications
from whyperf.explain.verify.obstacles import Obstacle, refuse_untriable
from whyperf.explain.verify.question import plan_of, question_of
from whyperf.profile import ProfileError, parse
from whyperf.record import Experiment
from whyperf.truth.levels import View

FILE = Path(__file__).with_name("explained.json.xz")
TRIALS = FILE.with_name("trials.tar.xz")
VIEWS = (View.SEGMENTS, View.SENDER_SEGMENTS, View.RECEIVER_SEGMENTS, View.COUNTERS, View.USER)
RECORDS = tuple(kind for kind in KINDS if kind != "schedule")
"""Records that are explained within a second or two."""
NAMES = (
    *("connection-for-each-question", "nagle-delayed-ack", "pacing-rate", "questions-behind-uploads"),
    *("quic-over-slow-link", "random-loss", "reordering", "slow-reader", "slow-writer", "small-queue", "udt-and-loss"),
)
"""The trials of `trials.tar.xz`, by what was injected."""


@cache
def stored() -> dict[str, Any]:
    """What was stored, by the name of the record."""
    found: dict[str, Any] = json.loads(lzma.decompress(FILE.read_bytes()))
    return found


def explained(kind: str, folder: Path) -> Any:
    """The explanation of a record and what would verify it; it is in `folder/results`."""
    experiment = Experiment.open(folder / "results" / kind)
    summary = summarize(experiment)
    rates = {cell.id: cell.goodput_bps.median for cell in summary.cells}
    whole = explain_experiment(experiment, rates=rates, summary=summary)
    verified = with_verifications(whole, experiment)
    questions = [question(experiment, attempt) for cell in whole.cells for attempt in attempts_of(cell)]
    # None of the stored records is one of a fleet.
    return rounded({"explanation": verified.model_dump(mode="json", exclude={"fleet"}), "questions": questions})


def question(experiment: Experiment, attempt: Attempt) -> Any:
    """The profile and the plan that would verify a verdict, or why none can."""
    plan, change = experiment.plan, attempt.verdict.change
    try:
        refuse_untriable(attempt.verdict, attempt.number, attempt.cell.verdicts)
        asked = parse(experiment.profile_text, name=plan.profile, where=plan.profile)
        factors = {} if change is None else change.factors
        found = question_of(asked, plan, plan.cell(attempt.cell.cell), factors, 6)
        cells = [[cell.id, cell.sweep, dict(cell.factors)] for cell in plan_of(found, plan).cells]
    except (Obstacle, ProfileError) as obstacle:
        return [attempt.name, str(obstacle)]
    return [attempt.name, found.text, cells]


def unpack_trial(name: str, folder: Path) -> Path:
    """The folder of a trial of `trials.tar.xz`, put into `folder`."""
    with tarfile.open(TRIALS) as archive:
        members = [member for member in archive if member.name.startswith(f"./{name}/")]
        archive.extractall(folder, members, filter="data")
    return folder / name


def trial_facts(folder: Path, view: View) -> Any:
    """Facts, budgets and patterns of a trial as they are at a level of evidence."""
    seen = at_levels(by_payload(open_trial(folder)), view.levels)
    logs = read_logs(seen)
    budgets = budgets_of(seen, logs)
    facts = FACTS.dump_python(gather_facts(seen, logs, budgets, one_machine=True), mode="json", exclude_defaults=True)
    connections = sorted({budget.connection for budget in budgets.budgets})
    patterns = [pattern.model_dump(mode="json") for pattern in patterns_of(seen, logs, connections)]
    return rounded({"facts": facts, "patterns": patterns})


def _write() -> None:
    before = stored() if FILE.exists() else {}
    now = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = f"{folder}/state"
        for kind in RECORDS:
            unpack(kind, Path(folder))
            now[kind] = explained(kind, Path(folder))
        for name in NAMES:
            unpacked = unpack_trial(name, Path(folder))
            now |= {f"{name} {view.value}": trial_facts(unpacked, view) for view in VIEWS}
    for name, document in now.items():
        for line in differences(before.get(name), document):
            print(name, line)
    FILE.write_bytes(lzma.compress(json.dumps(now, separators=(",", ":")).encode(), preset=9))


if __name__ == "__main__":
    _write()
