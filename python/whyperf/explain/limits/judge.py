"""Weighs every limit, names one or says that it is not known, and says what comes next."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from whyperf.analyze.text import percent
from whyperf.explain.causes import ANOTHER, Cause
from whyperf.explain.changes.own_load import change_for
from whyperf.explain.decide import NAMED_FROM, as_named, candidates_of, confidence_in, ranked_causes
from whyperf.explain.explanation import CauseProbability, JointGain, Value, Verdict
from whyperf.explain.host_facts import HALF_DUPLEX
from whyperf.explain.limits.every import found_in
from whyperf.explain.limits.gain import UPPER_BOUNDS, Gain, bounded
from whyperf.explain.limits.joint import UNSEEN_LINK, calibrated, joint_gains
from whyperf.explain.limits.limit import LIMIT_FROM, WINDOWS, Limit, clipped, figure, looked_up, or_zero, samples, sides
from whyperf.explain.limits.next_limit import ceilings, without
from whyperf.explain.limits.path import SENT_AS_ASKED, asked_rate
from whyperf.explain.limits.stages import refined
from whyperf.explain.setup import Setup
from whyperf.explain.states import NAMES
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts, Population
from whyperf.explain.wording.catalog import known, render, statement, template, uncapitalized

FULL_RATIO = 0.97
"""Part of the load's time from which on a part is the limit. A transfer's start and end leave it idle for some percent.
A part that waits for another, such as a receiver's bus behind a full one, is at most as busy as that."""
TABLES = {HALF_DUPLEX: "tcp_info"}
"""The table that a part's use is from, if not `host_counters`."""


def settled(facts: Facts) -> Limit | None:
    """The limit that leaves nothing to be weighed: what reaches the rate that it was asked for has no other one."""
    if (found := idle(facts) or full_part(facts)) is not None:
        return found
    asked, rate = asked_rate(facts), facts.goodput_bps or facts.rate_bps or 0.0
    if asked is None or rate < SENT_AS_ASKED * (facts.asked.bps or 0.0):
        # A write that is not due yet may be why it is below that, or not.
        return None
    return replace(asked, probability=REACHED)


REACHED = 0.97
"""The probability that a reached rate is the limit: by what the words mean, but for a rate that was measured wrong. So
it was of both drawn loads that reached theirs, at each level (seeds 20261401 and 20261501)."""


def full_part(facts: Facts) -> Limit | None:
    """A part that all connections of a host of the model share, busy nearly all the time: its bus, its adapter's
    processor, a link of half duplex. A live host's bus has no counter that whyperf reads.
    """
    busy = [(ratio, role, part, end) for role, end in sides(facts) for part, ratio in end.limits.parts.items()]
    # Of a bus at both hosts the sender's is named: what the other moves has crossed it.
    ratio, role, part, end = max(busy, key=lambda found: round(found[0], 2), default=(0.0, "", "", facts.sender))
    if ratio < FULL_RATIO:
        return None
    count = end.limits.adapters_count
    most = max((rate for rate in (facts.rate_bps, facts.goodput_bps) if rate is not None), default=None)
    return Limit(
        Cause.CAPACITY,
        1.0,
        (figure(f"{part}_busy", TABLES.get(part, "host_counters"), end, busy_ratio=ratio, role=role),),
        variant=part,
        values={"role": role, "busy_ratio": ratio, "max_bps": most, "adapters_count": count if count > 1 else None},
        probability=FULL_RATIO,
    )


MAX_MOVED_SEGMENTS, MIN_WATCHED_NS = 10, 1_000_000_000
"""Segments with payload in both directions, and how long it was watched at least: a short transfer has few as well."""
IDLE_STATES = (S.NOT_WRITING, S.UNKNOWN)


def idle(facts: Facts) -> Limit | None:
    """A connection of another program that moved next to nothing: nothing waited to be sent, acknowledged or read."""
    sent, taken = samples(facts.sender), samples(facts.receiver)
    known = [seen.moved_segments for seen in (sent, taken) if seen.moved_segments is not None]
    if not known or max(known) > MAX_MOVED_SEGMENTS or facts.life_ns < MIN_WATCHED_NS:
        return None
    held = sum(facts.sender.shares.values()) - facts.sender.ratio(*IDLE_STATES)
    if max(held, or_zero(sent.waiting_ratio), or_zero(taken.unread_ratio)) > 2 * LIMIT_FROM:
        return None
    end = facts.receiver if facts.watched_sides == "receiver" else facts.sender
    moved = round(or_zero(facts.rate_bps) * facts.life_ns / 8e9)
    row = figure("moved_segments", WINDOWS, end, moved_segments=max(known))
    values = {"moved_bytes": moved, "span_ns": facts.life_ns}
    return Limit(Cause.NOT_KNOWN, 0.0, (row,), variant="watched.idle", values=values)


Ask = Callable[[Facts], Sequence[Limit]]

GLOBAL = frozenset({Cause.BOTTLENECK, Cause.ASKED_RATE})
"""Causes of all connections together, in whichever of them they show."""


def of_populations(facts: Facts, ask: Ask) -> list[Limit]:
    """The limits of each population of connections by itself.

    A limit that all of them share is that of all connections. One of a part counts for that part of the connections,
    and for what a full path leaves: on a full path other connections only share what there is.
    """
    whole = list(ask(facts))
    if not facts.populations:
        return whole
    parts = [(population, list(ask(_of(facts, population)))) for population in facts.populations]
    codes = [{limit.code for limit in found} for _, found in parts]
    shared = set.intersection(*codes)
    kept = [limit for limit in whole if limit.code in shared]
    kept += [limit for limit in whole if limit.cause in GLOBAL and limit not in kept]
    known = {limit.code for limit in kept}
    for _, found in parts:
        for limit in found:
            if limit.cause in GLOBAL and limit.code not in known:
                kept.append(limit)
                known.add(limit.code)
    left = 1 - max((_use(limit) for limit in kept if limit.cause is Cause.BOTTLENECK), default=0.0)
    for population, found in parts:
        kept += [_part(limit, population, left) for limit in found if limit.code not in known]
    return kept


def _of(facts: Facts, population: Population) -> Facts:
    sender = replace(facts.sender, shares=population.shares)
    return replace(facts, sender=sender, windows=population.windows, populations=())


def _use(limit: Limit) -> float:
    use = limit.values.get("use_ratio")
    return float(use) if isinstance(use, int | float) else 1.0


def _part(limit: Limit, population: Population, left: float) -> Limit:
    """A limit about some of the connections; how much all together would gain is not predicted."""
    values = {
        "lost_ratio": limit.share,
        **limit.values,
        "part_count": population.connections,
        "whole_count": population.of,
    }
    share = limit.share * population.connections / population.of * left
    return replace(limit, share=share, gain=None, values=values)


MAX_CANDIDATES = 3
"""Causes that are named where none is certain: what somebody can look at one after the other."""
MIN_SHOWN = 0.12
"""The share from which on a limit is shown after the verdict."""
MIN_POSSIBLE = 0.02
"""The probability below which a cause is not shown, whatever it takes."""


class Judgement(NamedTuple):
    """The verdicts on a trial, the most probable first; joint gains; and how probable each cause is."""

    verdicts: list[Verdict]
    joint: list[JointGain]
    probabilities: list[CauseProbability]


def judge(facts: Facts, setup: Setup | None = None, *, on_fault: Callable[[str], None] | None = None) -> list[Verdict]:
    """The verdicts on a trial alone; arguments as of `judged`."""
    return judged(facts, setup, on_fault=on_fault).verdicts


def judged(facts: Facts, setup: Setup | None = None, *, on_fault: Callable[[str], None] | None = None) -> Judgement:
    """The verdicts on a trial, what is said of it first, never none; and joint gains.

    Args:
        facts: what the limits look at.
        setup: what the trial was set up with, to name what to change and to bound gains; no verdict depends on it.
        on_fault: gets a sentence about a limit that fails; the others are asked nevertheless. Without it the error is
            raised, as in tests.
    """
    setup = setup or Setup()
    alone = settled(facts)
    if alone is not None and alone.cause is not Cause.ASKED_RATE:
        return Judgement([_verdict(alone, facts, _Predicting([alone], facts, setup))], [], [])
    found = of_populations(facts, lambda part: found_in(part, on_fault))
    ranked = ranked_causes(candidates_of(found), facts)
    if alone is not None:
        verdict = _verdict(alone, facts, _Predicting([alone], facts, setup))
        return Judgement([verdict], [], _next_to(alone, ranked))
    limits = _in_order(found, ranked, facts)
    limits = [refined(limit, facts) for limit in limits]
    if facts.watched_sides in {"sender", "receiver"}:
        # The limit that comes next may be the other side's, which nobody saw.
        limits = [replace(limit, gain=None) for limit in limits]
    predicting = _Predicting(limits, facts, setup)
    verdicts = [_verdict(limit, facts, predicting) for limit in limits]
    return Judgement(verdicts, joint_gains(limits, verdicts, predicting.printed, predicting.modeled), ranked)


def _next_to(alone: Limit, ranked: Sequence[CauseProbability]) -> list[CauseProbability]:
    """The probabilities where one limit is known: the others share the rest, as matters where the goal is no rate."""
    own = CauseProbability(cause=alone.cause, probability=alone.probability, is_found=True)
    rest = [each for each in ranked if each.cause != alone.cause]
    left = (1 - alone.probability) / max(1e-9, sum(each.probability for each in rest))
    return [own, *(each.model_copy(update={"probability": round(each.probability * left, 4)}) for each in rest)]


def _in_order(found: Sequence[Limit], ranked: Sequence[CauseProbability], facts: Facts) -> list[Limit]:
    """The limits with their probabilities, the verdict first: the most probable where that is probable enough, and else
    that it is not known."""
    probable = as_named(ranked)
    known_limits = [replace(limit, probability=probable.get(limit.cause, 0.0)) for limit in found]
    known_limits.sort(key=lambda limit: (-limit.probability, -limit.share))
    shown = [limit for limit in known_limits if limit.probability >= MIN_POSSIBLE and limit.share >= MIN_SHOWN]
    first = next(iter(known_limits), None)
    if first is not None and first.probability >= NAMED_FROM:
        return [first, *(limit for limit in shown if limit is not first)]
    named = _candidates(ranked)
    if not shown and not any(found.is_found for found in named):
        return [_not_known(named, facts)]
    return [_open(ranked, facts), *shown]


class _Predicting:
    """Predicts gains of removing limits, each with what the others leave."""

    def __init__(self, found: Sequence[Limit], facts: Facts, setup: Setup) -> None:
        self._found, self._facts, self.setup = found, facts, setup
        self._ceilings = ceilings(facts, setup, found)
        self._path_bps = setup.path_bps(is_turned=facts.is_turned)

    def modeled(self, removed: Sequence[Limit]) -> Gain | None:
        """By the model of limits alone."""
        found = without(removed, self._found, self._ceilings, self._facts)
        return None if found is None else bounded(found, self._facts, self._path_bps)

    def printed(self, removed: Sequence[Limit]) -> Gain | None:
        """With the interval that the errors of such predictions ask for, and no further than a known line."""
        found = self.modeled(removed)
        if found is None:
            return None
        gain = bounded(calibrated(found, self._facts.level), self._facts, self._path_bps)
        # The plan has the rate of the path: it is no bound here.
        is_known = gain.basis.code == UNSEEN_LINK and self._path_bps is not None
        return replace(gain, basis=statement("hosts")) if is_known else gain


def _verdict(limit: Limit, facts: Facts, predicting: _Predicting) -> Verdict:
    """The verdict on a limit, with its texts, its change and its gain."""
    modeled, gain = predicting.modeled([limit]), predicting.printed([limit])
    # A bound is what a gain cannot exceed, and says nothing of what it will be.
    is_bound = limit.gain is not None and limit.gain.basis.code in UPPER_BOUNDS
    expected = None if is_bound else gain
    share, right_ratio = clipped(limit.share), clipped(limit.probability)
    values = known({"lost_ratio": share, **limit.values})
    if "{log_shows}" in template("claim", limit.code):
        values["log_shows"] = _log_shows(facts)
    if not predicting.setup.has_linux_only:
        # A command that other systems do not have.
        values.pop("check_with", None)
    return Verdict(
        code=limit.code,
        values=values,
        cause=limit.cause,
        claim=_claim(limit, values),
        lost_ratio=round(share, 4),
        confidence=confidence_in(right_ratio),
        certainty=round(right_ratio, 3),
        right_ratio=round(right_ratio, 3),
        evidence=[looked_up(row, facts.level) for row in limit.evidence],
        refuted_by=render("refuted_by", limit.code, values),
        change=change_for(limit, facts, predicting.setup),
        model_gain=None if modeled is None else round(modeled.ratio, 3),
        predicted_gain=None if expected is None else round(expected.ratio, 3),
        predicted_low=None if expected is None else round(expected.low, 3),
        predicted_high=None if gain is None else round(gain.high, 3),
        predicted_from="" if gain is None else render("basis", gain.basis.code, gain.basis.values),
        predicted_basis=None if gain is None else gain.basis,
    )


def _claim(limit: Limit, values: Mapping[str, Value]) -> str:
    """The sentence, after how many of the connections it is about."""
    claim = render("claim", limit.code, values)
    return render("part", "claim", {**values, "claim": uncapitalized(claim)}) if "part_count" in values else claim


def _open(ranked: Sequence[CauseProbability], facts: Facts) -> Limit:
    """No limit is probable enough to be named: the candidates are the most probable causes."""
    named = _candidates(ranked)
    values: dict[str, Value | None] = {
        "causes": [found.cause for found in named],
        "right_ratio": round(named[0].probability, 3) if named else 0.0,
        "next": render("next", _next(facts), {}),
    }
    return Limit(Cause.NOT_KNOWN, 0.0, variant="ranked", values=values)


def _candidates(ranked: Sequence[CauseProbability]) -> list[CauseProbability]:
    """The causes that are named where none is certain."""
    return [found for found in ranked if found.cause != ANOTHER][:MAX_CANDIDATES]


def _log_shows(facts: Facts) -> str:
    """Which log there is none of yet shows more."""
    if facts.level != "segments":
        return render("log_shows", "none", {})
    return render("log_shows", "one_host" if facts.watched_sides in {"", "both"} else "watched_host", {})


def _next(facts: Facts) -> str:
    """Which sentence says what shows more."""
    if facts.is_watched:
        return "watched"
    return facts.level if facts.transport == "tcp" else "transport"


def _not_known(named: Sequence[CauseProbability], facts: Facts) -> Limit:
    """The evidence shows no limit; `named` are those that are most probable nevertheless."""
    more = render("more", facts.level if facts.transport == "tcp" else "transport", {})
    if facts.watched_sides in {"sender", "receiver"}:
        more = render("more", f"watched_{facts.watched_sides}.{facts.level}", {})
    states = sorted(
        ((state, ratio) for state, ratio in facts.sender.shares.items() if ratio >= MIN_SHOWN),
        key=lambda item: -item[1],
    )
    shares = ", ".join(f"{uncapitalized(NAMES[S(state)])} {percent(ratio)}" for state, ratio in states)
    causes = [found.cause for found in named if not found.is_found]
    return Limit(Cause.NOT_KNOWN, 0.0, values={"shares": shares or None, "causes": causes or None, "more": more})
