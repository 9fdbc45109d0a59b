"""Verdicts as cards: the claim, what it costs, its evidence, what would refute it, what to change, and the proof."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from whyperf.analyze.quantity import percent, seconds
from whyperf.explain.causes import Cause
from whyperf.explain.headline import gain_told
from whyperf.explain.model import Evidence, Verdict
from whyperf.profile import as_set

BADGES = {"confirmed": "✓", "refuted": "✗", "undecided": "?"}
CAPITALS = {"cpu": "CPU", "ack": "ACK", "mtu": "MTU"}

LinkOf = Callable[[Evidence], str]


@dataclass(frozen=True)
class EvidenceView:
    """A fact with the place to look it up."""

    words: str
    where: str
    link: str
    others: tuple[tuple[str, str], ...] = ()
    """Further places, each with its words and its link."""


@dataclass(frozen=True)
class Badge:
    """What came of trying the change."""

    outcome: str
    sign: str
    words: str
    experiment: str


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
    by_hand: str
    command: str
    gain: str
    badge: Badge | None
    try_it: str

    @property
    def is_refuted(self) -> bool:
        """Whether it was tried and is wrong."""
        return self.badge is not None and self.badge.outcome == "refuted"


def cause_title(cause: Cause) -> str:
    """`receive_buffer` -> `Receive buffer`."""
    words = [CAPITALS.get(word, word) for word in cause.value.split("_")]
    return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]])


def cards_of(verdicts: Sequence[Verdict], link_of: LinkOf, verify: str) -> list[Card]:
    """The cards of a cell; `verify` is the command that tries a verdict, to which its number is added."""
    return [_card(rank, verdict, link_of, verify) for rank, verdict in enumerate(verdicts, 1)]


def _card(rank: int, verdict: Verdict, link_of: LinkOf, verify: str) -> Card:
    change, tried = verdict.change, verdict.verification
    lost = verdict.lost_ratio
    can_try = change is not None and bool(change.factors)
    return Card(
        rank=rank,
        title=cause_title(verdict.cause),
        claim=verdict.claim,
        # What blames nothing costs nothing, and an empty meter says no more.
        lost=f"{percent(lost)} of the time or rate" if lost else "",
        lost_percent=f"{100 * lost:.1f}" if lost else "",
        confidence=verdict.confidence,
        evidence=tuple(_evidence(one, link_of) for one in verdict.evidence),
        refuted_by=verdict.refuted_by,
        factors=tuple(as_set(change.factors)) if change else (),
        by_hand=change.by_hand if change else "",
        command=change.command if change else "",
        gain=_gain(verdict),
        badge=Badge(tried.outcome, BADGES[tried.outcome], tried.words, tried.experiment) if tried else None,
        try_it=f"{verify} --verdict {rank}" if can_try and tried is None else "",
    )


def _evidence(evidence: Evidence, link_of: LinkOf) -> EvidenceView:
    """A fact; of a state the second longest spans and on are places of their own, where a page shows them."""
    others = []
    for spell in evidence.spells[1:]:
        place = {"connection": spell.connection, "from_ns": spell.from_ns, "to_ns": spell.to_ns}
        if link := link_of(evidence.model_copy(update=place)):
            others.append((f"{seconds(spell.to_ns - spell.from_ns)} from {seconds(spell.from_ns)} on", link))
    return EvidenceView(evidence.words, where(evidence), link_of(evidence), tuple(others))


def _gain(verdict: Verdict) -> str:
    """The predicted gain, and by what it is; "" without one."""
    if verdict.predicted_gain is None:
        return ""
    return f"Predicted: {gain_told(verdict)}" + (f", by {verdict.predicted_from}" if verdict.predicted_from else "")


def where(evidence: Evidence) -> str:
    """The rows in words: `table segments, near, connection 0, 200 ms to 400 ms`; the figure is in its words."""
    parts = [f"table {evidence.table}"] if evidence.table else []
    parts += [evidence.host] if evidence.host else []
    parts += [f"connection {evidence.connection}"] if evidence.connection is not None else []
    if evidence.from_ns is not None and evidence.to_ns is not None:
        begin, end = seconds(evidence.from_ns), seconds(evidence.to_ns)
        parts.append(f"at {begin}" if begin == end else f"{begin} to {end}")
    return ", ".join(parts)
