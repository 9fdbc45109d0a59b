"""Verdicts as cards: claim, cost, evidence, refutation and change."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from whyperf.analyze.text import percent, seconds
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence, Verdict
from whyperf.explain.headline import alike, command_label, confidence_text, gain_line, step_label
from whyperf.profile import Level, as_set

CAPITALS = {"cpu": "CPU", "ack": "ACK", "mtu": "MTU"}

LinkOf = Callable[[Evidence], str]
RunOf = Callable[[Mapping[str, Level]], str]
"""The command that measures a cell with changed factors."""


@dataclass(frozen=True)
class EvidenceView:
    """A piece of evidence, and its place in the record."""

    text: str
    where: str
    link: str
    others: tuple[tuple[str, str], ...] = ()
    """Further places, each with its text and its link."""


@dataclass(frozen=True)
class StepView:
    """A step for another program: what it affects, what to do, and its command."""

    label: str
    text: str
    command: str


@dataclass(frozen=True)
class Card:
    """A verdict as it is shown."""

    rank: int
    title: str
    claim: str
    lost: str
    lost_percent: str
    confidence: str
    evidence: tuple[EvidenceView, ...]
    refuted_by: str
    factors: tuple[str, ...]
    run: str
    """The command that measures the cell with the changed factors; "" where no options of `whyperf run` make it."""
    by_hand: str
    command: str
    command_label: str
    steps: tuple[StepView, ...]
    gain: str
    try_it: str
    alike: tuple["Card", ...] = ()
    """Other verdicts on the same evidence at the same cost."""


def cause_title(cause: Cause) -> str:
    """`receive_buffer` -> `Receive buffer`."""
    first, *others = (CAPITALS.get(word, word) for word in cause.value.split("_"))
    return " ".join([first[:1].upper() + first[1:], *others])


def cards_of(verdicts: Sequence[Verdict], link_of: LinkOf, trying: str, run_of: RunOf = lambda _: "") -> list[Card]:
    """The cards of a cell; `trying` is the command that tries a verdict's change, without its number."""
    each = [_card(rank, verdict, link_of, trying, run_of) for rank, verdict in enumerate(verdicts, 1)]
    return [replace(each[place], alike=tuple(each[other] for other in others)) for place, *others in alike(verdicts)]


def _card(rank: int, verdict: Verdict, link_of: LinkOf, trying: str, run_of: RunOf) -> Card:
    change = verdict.change
    lost = verdict.lost_ratio
    can_try = change is not None and bool(change.factors)
    return Card(
        rank=rank,
        title=cause_title(verdict.cause),
        claim=verdict.claim,
        # A verdict without a cost has no meter.
        lost=f"{percent(lost)} of the time or rate" if lost else "",
        lost_percent=f"{100 * lost:.1f}" if lost else "",
        confidence=confidence_text(verdict),
        evidence=tuple(_evidence(evidence, link_of) for evidence in verdict.evidence),
        refuted_by=verdict.refuted_by,
        factors=tuple(as_set(change.factors)) if change else (),
        run=run_of(change.factors) if change and change.factors else "",
        by_hand=change.by_hand if change and not change.steps else "",
        command=change.command if change and not change.steps else "",
        steps=tuple(StepView(step_label(step), step.words, step.command) for step in (change and change.steps) or ()),
        command_label=command_label(change) if change else "",
        gain=gain_line(verdict).removesuffix("."),
        try_it=f"{trying} --verdict {rank}" if can_try else "",
    )


def _evidence(evidence: Evidence, link_of: LinkOf) -> EvidenceView:
    """A piece of evidence. The further spans of a state are places of their own if a page shows them."""
    others = []
    for spell in evidence.spells[1:]:
        place = {"connection": spell.connection, "from_ns": spell.from_ns, "to_ns": spell.to_ns}
        if link := link_of(evidence.model_copy(update=place)):
            others.append((f"{seconds(spell.to_ns - spell.from_ns)} from {seconds(spell.from_ns)}", link))
    return EvidenceView(evidence.words, where(evidence), link_of(evidence), tuple(others))


def where(evidence: Evidence) -> str:
    """The place of the rows as text: `table segments, near, connection 0, 200 ms to 400 ms`."""
    parts = [f"table {evidence.table}"] if evidence.table else []
    parts += [evidence.host] if evidence.host else []
    parts += [f"connection {evidence.connection}"] if evidence.connection is not None else []
    if evidence.from_ns is not None and evidence.to_ns is not None:
        start, end = seconds(evidence.from_ns), seconds(evidence.to_ns)
        parts.append(f"at {start}" if start == end else f"{start} to {end}")
    return ", ".join(parts)
