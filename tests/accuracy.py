"""How often the diagnosis is right on what is stored, cause by cause and level by level: `tests/accuracy.txt`.

`python -m tests.accuracy` writes the file anew (`make accuracy`). The facts of the stored situations and the tables of
the stored trials were measured with injected causes; the truth catalogs say which. Kept sets are drawn situations, and
their causes were measured (`whyperf-lab keep`). A change of the file needs its reason in the commit.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from lab.situations.evidence import SETS, SUFFIX, evidence_in
from lab.situations.judge import OUTCOMES, all_named, outcome_of
from lab.truth import FILES, Catalog, load_catalog
from lab.truth.levels import View, with_path_loss
from lab.truth.one_sided import WatchedView
from tests.unit.explain.situations import situations
from tests.unit.explain.stored_trials import NAMES, VIEWS, facts_at
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Verdict
from whyperf.explain.limits.judge import judged

FILE = Path(__file__).with_suffix(".txt")
Answer = Literal["right", "candidate", "not known", "wrong"]
ANSWERS: tuple[Answer, ...] = get_args(Answer)
LEVELS = (View.SEGMENTS, View.COUNTERS, View.USER)
HEADER = """\
# What the first verdict says of what is stored (made by `make accuracy`).
# right: it names an injected cause; without one, a limit that may be named, or "not known"
# candidate: it is "not known", and an injected cause is among its candidates
# not known: the same without an injected cause among the candidates
# wrong: it names another cause
# Of kept sets the causes are those whose removal raised the rate.
"""


class Injected(NamedTuple):
    """`label` is the cause that the situation is listed under; `accepted` are the causes that are right to name."""

    label: str
    accepted: tuple[str, ...]
    is_undisturbed: bool = False


def answer(injected: Injected, view: View | WatchedView, verdicts: Sequence[Verdict]) -> Answer:
    """What the verdicts on a situation are worth."""
    accepted = with_path_loss(injected.accepted, view, verdicts)
    first = verdicts[0].cause if verdicts else Cause.NOT_KNOWN
    if first in accepted or (first is Cause.NOT_KNOWN and injected.is_undisturbed):
        return "right"
    if first is not Cause.NOT_KNOWN:
        return "wrong"
    return "candidate" if any(verdict.cause in accepted for verdict in verdicts) else "not known"


@cache
def injected() -> dict[str, Injected]:
    """What each experiment of the truth catalogs injects, by its name."""
    found: dict[str, Injected] = {}
    for file in FILES.values():
        found |= dict(_of_catalog(load_catalog(file)))
    return found


def _of_catalog(catalog: Catalog) -> Iterator[tuple[str, Injected]]:
    for name, clean in [*catalog.baseline.items(), *((run.name, run) for run in catalog.undisturbed)]:
        yield name, Injected("undisturbed", tuple(map(str, clean.limits)), is_undisturbed=True)
    for injection in catalog.injections:
        yield injection.name, Injected(str(injection.causes[0]), tuple(map(str, injection.causes)))
    for situation in catalog.situation:
        causes = dict.fromkeys(cause for ingredient in situation.ingredient for cause in ingredient.causes)
        yield situation.name, Injected(situation.ingredient[0].causes[0], tuple(causes))


def lines() -> Iterator[str]:
    """The lines of the file."""
    yield from HEADER.splitlines()
    yield ""
    found: Counter[tuple[str, View, Answer]] = Counter()
    for situation in situations():
        truth = injected()[situation.experiment]
        verdicts = judged(situation.facts, situation.setup).verdicts
        found[truth.label, situation.view, answer(truth, situation.view, verdicts)] += 1
    yield from _table(found)
    yield ""
    yield f"{'stored trial':<32}{''.join(f'{view.value:<19}' for view in VIEWS)}".rstrip()
    yield from trial_lines()
    for file in sorted(SETS.glob(f"*{SUFFIX}")):
        yield ""
        yield from set_lines(file)


def _table(found: Counter[tuple[str, View, Answer]]) -> Iterator[str]:
    labels = sorted({label for label, _, _ in found})
    yield f"{'':<24}{''.join(f'{view.value:^28}' for view in LEVELS)}".rstrip()
    yield f"{'injected first':<24}{' right cand. n.k. wrong     ' * len(LEVELS)}".rstrip()
    for label in (*labels, "all"):
        members = labels if label == "all" else [label]
        cells = (_counts(found, members, view) for view in LEVELS)
        yield f"{label:<24}{''.join(cells)}".rstrip()


def _counts(found: Counter[tuple[str, View, Answer]], labels: Iterable[str], view: View) -> str:
    counts = [sum(found[label, view, kind] for label in labels) for kind in ANSWERS]
    return "".join(f"{count or '.':>6}" for count in counts) + "    "


def trial_lines() -> Iterator[str]:
    """A line for each stored trial: the answer and the first cause at each level."""
    for name in NAMES:
        truth = injected()[name]
        answers = [answer(truth, view, judged(facts_at(name, view)).verdicts) for view in VIEWS]
        yield f"{name:<32}{''.join(f'{found:<19}' for found in answers)}".rstrip()


def set_lines(file: Path) -> Iterator[str]:
    """The counts of the trials of a kept set, a line for each level of evidence."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in evidence_in(file):
        verdicts = judged(row.facts, row.setup).verdicts
        view = WatchedView(row.view) if row.facts.is_watched else View(row.view)
        accepted = set(with_path_loss(row.accepted, view, verdicts))
        found[row.view][outcome_of(all_named(verdicts), accepted)] += 1
    yield f"{f'trials of kept set {file.name.removesuffix(SUFFIX)}':<32}{''.join(f'{kind:>11}' for kind in OUTCOMES)}"
    for level, counts in found.items():
        yield f"{level:<32}{''.join(f'{counts[kind]:>11}' for kind in OUTCOMES)}"


if __name__ == "__main__":
    FILE.write_text("".join(f"{line}\n" for line in lines()))
