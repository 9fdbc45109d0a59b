"""Asks every rule, ranks what they found, and says what is not known."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from whyperf.analyze.text import percent
from whyperf.explain.causes import ANOTHER, LOSS_KINDS, Cause
from whyperf.explain.decide import KEPT_FROM, NAMED_FROM, Candidate, confidence_in, ranked_causes
from whyperf.explain.explanation import CauseProbability, Evidence, JointGain, Value, Verdict
from whyperf.explain.predicted import MIN_GAIN
from whyperf.explain.rules import (
    acks,
    application,
    asked_rate,
    buffers,
    costs,
    cpu,
    datagrams,
    host_limits,
    losses,
    pacing,
    packets,
    path,
    repairs,
    transfers,
    transports,
)
from whyperf.explain.rules.application import BUSY_RATIO
from whyperf.explain.rules.capacity import capacity, exchange_evidence
from whyperf.explain.rules.changes import change_for
from whyperf.explain.rules.finding import (
    MIN_CERTAINTY,
    UNDECIDED,
    WINDOWS,
    Finding,
    Rule,
    clipped,
    looked_up,
)
from whyperf.explain.rules.gain import UPPER_BOUNDS, Gain, bounded
from whyperf.explain.rules.intervals import UNSEEN_LINK, calibrated
from whyperf.explain.rules.joint import joint_gains
from whyperf.explain.rules.limits import ceilings, without
from whyperf.explain.rules.populations import of_populations
from whyperf.explain.rules.shared_parts import full_part
from whyperf.explain.rules.stages import refined
from whyperf.explain.rules.watched.choice import once_each, rules_for, without_path
from whyperf.explain.rules.watched.idle import idle
from whyperf.explain.setup import Setup
from whyperf.explain.states import NAMES
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import ExchangeFacts, Facts
from whyperf.explain.wording.catalog import known, render, statement, template, uncapitalized

RULES: tuple[Rule, ...] = (
    buffers.receive_buffer,
    buffers.send_buffer,
    buffers.write_window_mismatch,
    buffers.delayed_ack,
    buffers.nagle_delayed_ack,
    application.slow_writer,
    application.think_time,
    application.round_trip,
    application.slow_reader,
    application.tiny_writes,
    application.tiny_reads,
    application.huge_reads,
    path.bottleneck,
    path.shared_bottleneck,
    path.policer,
    losses.small_queue,
    losses.random_loss,
    losses.burst_loss,
    losses.possible_policer,
    repairs.repairs,
    losses.reordering,
    losses.outage,
    acks.ack_thinning,
    acks.ack_path,
    transfers.slow_start,
    pacing.pacing_rate,
    cpu.computing_sender,
    cpu.computing_receiver,
    packets.costly_packets,
    cpu.shared_cpu,
    cpu.other_load,
    cpu.many_connections,
    cpu.small_mtu,
    cpu.offloads_off,
    cpu.receive_offload_off,
    cpu.quick_ack,
    cpu.receiver_loss,
    costs.packet_filters,
    costs.other_bpf,
    costs.call_checks,
    costs.software_checksums,
    costs.memory_pressure,
    costs.lock_contention,
    costs.mitigations,
    datagrams.socket_loss,
    datagrams.path_full,
    datagrams.path_loss,
    datagrams.asked_rate,
    transfers.connection_setup,
    transfers.short_transfer,
    transports.own_bottleneck,
    transports.own_window,
    transports.own_flow_control,
    transports.own_full_path,
    transports.own_random_loss,
    transports.own_small_queue,
    asked_rate.asked_stream,
    asked_rate.asked_transactions,
    host_limits.cpu_quota,
    host_limits.pause,
    host_limits.short_load,
    host_limits.memory_limit,
    host_limits.local_queue,
    host_limits.window_scaling,
)
"""All rules. Their order says nothing: what they find is ranked by strength."""

MAX_CANDIDATES = 3
"""Causes that are named where none is certain: what somebody can look at one after the other."""
MIN_STRENGTH = 0.12
"""Weaker findings are left out: that little is within what repeating a trial changes."""


class Judgement(NamedTuple):
    """The verdicts on a trial, the strongest first; joint gains; and how probable each cause is by itself."""

    verdicts: list[Verdict]
    joint: list[JointGain]
    probabilities: list[CauseProbability]


def judge(facts: Facts, setup: Setup | None = None, *, on_fault: Callable[[str], None] | None = None) -> list[Verdict]:
    """Judges a trial by the rules alone, before causes are weighed: the strongest verdict first, never none."""
    return judged(facts, setup, on_fault=on_fault, weighs=False).verdicts


def judged(
    facts: Facts,
    setup: Setup | None = None,
    *,
    on_fault: Callable[[str], None] | None = None,
    weighs: bool = True,
) -> Judgement:
    """The verdicts on a trial, what is said of it first, never none; and joint gains.

    Args:
        facts: what the rules look at.
        setup: what the trial was set up with, to name what to change and to bound gains; no verdict depends on it.
        on_fault: gets a sentence about a rule that fails; the other rules are applied nevertheless. Without it the
            error is raised, as in tests.
        weighs: whether causes are weighed; without, the verdicts are in the order of the rules.
    """
    if (alone := settled(facts)) is not None:
        return Judgement([_verdict(alone, facts, _Predicting([alone], facts, setup or Setup()), {})], [], [])
    found = found_in(facts, on_fault)
    probabilities = _probabilities(found, facts, setup or Setup(), on_fault) if weighs else []
    probable = _of_named(probabilities)
    # A load that reaches the rate that it was asked for is at no other limit.
    found = [finding for finding in found if finding.cause is Cause.ASKED_RATE] or found
    found = host_limits.without_stopped(found, facts)
    if any(finding.cause is Cause.POLICER for finding in found):
        # What a policer drops in the receiving host, such as a firewall, its adapter has not lost.
        found = [finding for finding in found if finding.cause is not Cause.RECEIVER_LOSS]
    found = costs.without_costly(found)
    found = sorted((finding for finding in found if _counts(finding, facts)), key=lambda finding: _rank(finding, facts))
    found = sorted(found, key=lambda finding: _is_costless(finding, facts))
    found = _interruptions_first(found, facts)
    if not found or _is_costless(found[0], facts):
        # What remains costs next to nothing: it stands as a note behind what does.
        found.insert(0, capacity(facts) or _not_known(facts))
    elif found[0].certainty < MIN_CERTAINTY and found[0].cause is not Cause.NOT_KNOWN:
        found.insert(0, _open(found, facts) or capacity(facts) or _not_known(facts))
    found = _decided(found, probable, facts) if probabilities else found
    found = [refined(finding, facts) for finding in found]
    if facts.watched_sides in {"sender", "receiver"}:
        # The limit that comes next may be the other side's, which nobody saw.
        found = [replace(finding, gain=None) for finding in found]
    predicting = _Predicting(found, facts, setup or Setup())
    verdicts = [_verdict(finding, facts, predicting, probable) for finding in found]
    return Judgement(verdicts, joint_gains(found, verdicts, predicting.printed, predicting.modeled), probabilities)


def _decided(found: Sequence[Finding], probable: Mapping[Cause, float], facts: Facts) -> list[Finding]:
    """The findings with the verdict first: the first of the rules where it is not improbable, or else the most probable
    where that is probable enough; where neither is, that it is not known.
    """
    first = found[0]
    if probable.get(first.cause, 0.0) >= KEPT_FROM:
        return list(found)
    capable = capacity(facts)
    candidates = [*found, *([] if capable is None else [capable])]
    likely = max(candidates, key=lambda finding: probable.get(finding.cause, 0.0))
    if probable.get(likely.cause, 0.0) >= NAMED_FROM:
        rest = [finding for finding in found if finding is not likely and finding.cause is not Cause.NOT_KNOWN]
        return [likely, *rest]
    if first.cause is Cause.NOT_KNOWN:
        return list(found)
    rest = sorted(found, key=lambda finding: -probable.get(finding.cause, 0.0))
    return [_ranked(rest, probable, facts), *rest]


def _of_named(probabilities: Sequence[CauseProbability]) -> dict[Cause, float]:
    """Probability that a verdict of each cause is right.

    That the path loses segments is right whatever loses them; that a host can do no more is right where nothing that
    has a name limits.
    """
    each = {found.cause: found.probability for found in probabilities}
    probable = {Cause(cause): value for cause, value in each.items() if cause != ANOTHER}
    if each:
        losses_of_path = sum(probable.get(cause, 0.0) for cause in LOSS_KINDS)
        probable[Cause.PATH_LOSS] = probable.get(Cause.PATH_LOSS, 0.0) + losses_of_path
        probable[Cause.CAPACITY] = probable.get(Cause.CAPACITY, 0.0) + each.get(ANOTHER, 0.0)
    return probable


def settled(facts: Facts) -> Finding | None:
    """Finding that leaves nothing to be weighed: nothing was moved, or a part of a host was busy all the time."""
    return idle(facts) or full_part(facts)


def _probabilities(
    found: Sequence[Finding], facts: Facts, setup: Setup, on_fault: Callable[[str], None] | None
) -> list[CauseProbability]:
    """Probability of each cause; none where that fails and `on_fault` gets it.

    The rate of a path in the plan is hidden here: gains are bounded by what was seen, as on a real path.
    """
    try:
        return ranked_causes(candidates_of(found, facts, replace(setup, knows_path_rate=False)), facts)
    except Exception as error:
        if on_fault is None:
            raise
        on_fault(f"Weighing the causes failed ({type(error).__name__}: {error}). Please report it.")
        return []


def found_in(facts: Facts, on_fault: Callable[[str], None] | None = None) -> list[Finding]:
    """Findings of the rules, before anything is weighed."""
    return of_populations(facts, lambda part: _all_found(part, on_fault))


def candidates_of(found: Sequence[Finding], facts: Facts, setup: Setup) -> list[Candidate]:
    """Candidates to weigh: of each cause the strongest that rules find, a busy CPU that nothing relieves, and what is
    left open.
    """
    capable = capacity(facts)
    found = [*found, *([] if capable is None else [capable])]
    predicting = _Predicting(found, facts, setup)
    strongest = {finding.cause: finding for finding in sorted(found, key=lambda finding: finding.strength)}
    candidates: dict[Cause, Candidate] = {
        cause: _candidate(finding, predicting.modeled([finding]))
        for cause, finding in strongest.items()
        if cause is not Cause.NOT_KNOWN
    }
    for finding in found:
        for cause in _left_open(finding):
            candidates.setdefault(cause, Candidate(cause, finding.lost, finding.certainty, is_open=True))
    return list(candidates.values())


def _left_open(finding: Finding) -> list[Cause]:
    """The causes among which a finding does not decide."""
    causes = finding.values.get("causes") if finding.cause is Cause.NOT_KNOWN else None
    return [Cause(cause) for cause in causes] if isinstance(causes, list) else []


def _candidate(finding: Finding, gain: Gain | None) -> Candidate:
    return Candidate(
        finding.cause,
        finding.lost,
        finding.certainty,
        None if gain is None else gain.ratio,
        finding.is_counted,
        bool(finding.open),
    )


def _all_found(facts: Facts, on_fault: Callable[[str], None] | None) -> list[Finding]:
    asked = rules_for(facts, RULES)
    found = [finding for rule in asked if (finding := _asked(rule, facts, on_fault)) is not None]
    return once_each(without_path(found, facts)) if facts.is_watched else found


def _counts(finding: Finding, facts: Facts) -> bool:
    """True if a finding is strong enough; one of several that fit alike, by what it costs alone. Of datagrams, whether
    it lies where more of them could be gained.
    """
    if facts.datagrams is None or not datagrams.is_sender_enough(facts):
        is_open = finding.open or finding.cause is Cause.NOT_KNOWN
        return (finding.lost if is_open else finding.strength) >= MIN_STRENGTH
    is_of_datagrams = any(row.table == "datagrams" for row in finding.evidence)
    return is_of_datagrams or (finding.strength >= MIN_STRENGTH and finding.cause not in datagrams.OF_SENDER)


MIN_INTERRUPTED = 0.15
"""Share of the time that interruptions take, from which on they come before the link that is full without them."""


def _interruptions_first(found: Sequence[Finding], facts: Facts) -> list[Finding]:
    """With what stops the transfer for a part of the time before the link that the rest of the time fills, and before
    what is not certain.

    A link is always at some limit; that the transfer stops is what is unusual, and what can be removed.
    """
    stops = [
        finding
        for finding in found
        if _is_interruption(finding) and finding.lost >= MIN_INTERRUPTED and not _is_costless(finding, facts)
    ]
    if not stops or not (found[0].cause in LINK_CAUSES or found[0].certainty < MIN_CERTAINTY):
        return list(found)
    return [*stops, *(finding for finding in found if finding not in stops)]


LINK_CAUSES = frozenset({Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK})


def _is_interruption(finding: Finding) -> bool:
    if finding.cause in APPLICATION_PAUSES:
        return finding.certainty >= MIN_CERTAINTY
    return finding.cause is Cause.PAUSE or finding.variant == "outage" or finding.variant.startswith("part.")


APPLICATION_PAUSES = frozenset({Cause.SLOW_WRITER, Cause.THINK_TIME})


def _is_costless(finding: Finding, facts: Facts) -> bool:
    """True where the rate would be the same without the cause, by the finding's own prediction."""
    if finding.gain is None:
        return False
    predicted = bounded(finding.gain, facts)
    return predicted.ratio < MIN_GAIN and predicted.basis.code in _KNOWN_RATES


_KNOWN_RATES = frozenset({"full_link", "seen_link", "deliveries", "link"})
"""Bases of predictions that are good to 5 %: a link whose rate is known. What hosts could do is not known that well."""


def _asked(rule: Rule, facts: Facts, on_fault: Callable[[str], None] | None) -> Finding | None:
    """Finding of the rule; nothing where it fails and `on_fault` gets that."""
    try:
        return rule(facts)
    except Exception as error:
        if on_fault is None:
            raise
        name, why = (
            getattr(rule, "__name__", "a cause").replace("_", " "),
            f"{type(error).__name__}: {error}".rstrip(": "),
        )
        on_fault(f"The rule for {name} failed ({why}); this cause was not checked. Please report it.")
        return None


def _rank(finding: Finding, facts: Facts) -> float:
    """The strongest first; who else wants a CPU comes after what would stay without them.

    Without a log it is not known what would: a thread that is kept from its CPU leaves the same traces as a path or an
    application that is slow. Then who has most of the CPU comes first.
    """
    if finding.cause is not Cause.OTHER_LOAD or finding.variant.startswith("part."):
        # What becomes of datagrams stands before what may keep an end from doing more.
        return -finding.strength - any(row.table == "datagrams" for row in finding.evidence)
    taken = max(facts.sender.processors.other_ratio or 0.0, facts.receiver.processors.other_ratio or 0.0)
    return -finding.lost if facts.level != "segments" and taken >= BUSY_RATIO else -0.4 * finding.strength


class _Predicting:
    """Predicts gains of findings, each with what the others leave."""

    def __init__(self, found: Sequence[Finding], facts: Facts, setup: Setup) -> None:
        self._found, self._facts, self.setup = found, facts, setup
        self._ceilings = ceilings(facts, setup, found)
        self._path_bps = setup.path_bps(is_turned=facts.is_turned)

    def modeled(self, removed: Sequence[Finding]) -> Gain | None:
        """By the model of limits alone."""
        found = without(removed, self._found, self._ceilings, self._facts)
        return None if found is None else bounded(found, self._facts, self._path_bps)

    def printed(self, removed: Sequence[Finding]) -> Gain | None:
        """With the interval that the errors of such predictions ask for, and no further than a known line."""
        found = self.modeled(removed)
        if found is None:
            return None
        gain = bounded(calibrated(found, self._facts.level), self._facts, self._path_bps)
        # The plan has the rate of the path: it is no bound here.
        is_known = gain.basis.code == UNSEEN_LINK and self._path_bps is not None
        return replace(gain, basis=statement("hosts")) if is_known else gain


def _verdict(finding: Finding, facts: Facts, predicting: _Predicting, probable: Mapping[Cause, float]) -> Verdict:
    """The verdict of a finding; without any probabilities it is as right as its rule says."""
    modeled, gain = predicting.modeled([finding]), predicting.printed([finding])
    # A bound is what a gain cannot exceed, and says nothing of what it will be.
    is_bound = finding.gain is not None and finding.gain.basis.code in UPPER_BOUNDS
    expected = None if is_bound else gain
    right_ratio = clipped(probable.get(finding.cause, 0.0) if probable else finding.certainty)
    values = known({"lost_ratio": clipped(finding.lost), **finding.values})
    if "{log_shows}" in template("claim", finding.code):
        values["log_shows"] = _log_shows(facts)
    if not predicting.setup.has_linux_only:
        # A command that other systems do not have.
        values.pop("check_with", None)
    return Verdict(
        code=finding.code,
        values=values,
        cause=finding.cause,
        claim=_claim(finding, values),
        lost_ratio=round(clipped(finding.lost), 4),
        confidence=confidence_in(right_ratio),
        certainty=finding.certainty,
        right_ratio=round(right_ratio, 3),
        evidence=_evidence(finding, facts),
        refuted_by=render("refuted_by", finding.code, values),
        change=change_for(finding, facts, predicting.setup),
        model_gain=None if modeled is None else round(modeled.ratio, 3),
        predicted_gain=None if expected is None else round(expected.ratio, 3),
        predicted_low=None if expected is None else round(expected.low, 3),
        predicted_high=None if gain is None else round(gain.high, 3),
        predicted_from="" if gain is None else render("basis", gain.basis.code, gain.basis.values),
        predicted_basis=None if gain is None else gain.basis,
    )


def _claim(finding: Finding, values: dict[str, Value]) -> str:
    """The sentence, after how many of the connections it is about."""
    claim = render("claim", finding.code, values)
    return render("part", "claim", {**values, "claim": uncapitalized(claim)}) if "part_count" in values else claim


def _evidence(finding: Finding, facts: Facts) -> list[Evidence]:
    """Below the log most states are not known: that nothing was seen of one is no evidence."""
    has_log = facts.level == "segments"
    rows = [row for row in finding.evidence if has_log or row.table != WINDOWS or row.value != 0]
    return [looked_up(row, facts.level) for row in rows]


def _open(found: Sequence[Finding], facts: Facts) -> Finding | None:
    """Several causes that the evidence fits alike; None where the first says nothing of another."""
    first = found[0]
    if not first.open:
        return None
    fitting = [finding for finding in found if finding.open]
    undecided = {finding.cause for finding in found if finding.certainty < MIN_CERTAINTY}
    if first.open == "counted_losses" and undecided - {Cause.POLICER, Cause.NOT_KNOWN} == LOSS_KINDS:
        of_path = losses.of_any_kind(facts, fitting)
        if of_path is not None:
            return of_path
    causes = [str(finding.cause) for finding in fitting]
    if first.open == "counted_losses" and facts.watched_sides == "sender":
        # What the receiving host drops looks the same from here.
        causes.append(str(Cause.RECEIVER_LOSS))
    if first.open in {"shared", "queue"} and facts.watched_sides == "sender":
        # ACKs that wait make round trips as long.
        causes.append(str(Cause.ACK_PATH))
    return Finding(
        Cause.NOT_KNOWN,
        max(finding.lost for finding in fitting),
        UNDECIDED,
        first.evidence,
        variant=f"open.{first.open}",
        values={**first.values, "causes": causes},
    )


def _ranked(found: Sequence[Finding], probable: Mapping[Cause, float], facts: Facts) -> Finding:
    """No finding, the most probable of which is the first, is probable enough to be named: the candidates are the most
    probable causes, found or not.
    """
    first = found[0]
    each = {cause: value for cause, value in probable.items() if cause not in {Cause.PATH_LOSS, Cause.CAPACITY}}
    causes = sorted(each, key=lambda cause: -each[cause])[:MAX_CANDIDATES]
    values: dict[str, Value | None] = {
        "causes": [str(cause) for cause in causes],
        "right_ratio": round(each[causes[0]], 3),
        "next": render("next", _next(facts), {}),
    }
    return Finding(Cause.NOT_KNOWN, first.lost, UNDECIDED, first.evidence, variant="ranked", values=values)


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


def _not_known(facts: Facts) -> Finding:
    """The evidence does not show it."""
    more = render("more", facts.level if facts.transport == "tcp" else "transport", {})
    if facts.watched_sides in {"sender", "receiver"}:
        more = render("more", f"watched_{facts.watched_sides}.{facts.level}", {})
    if (missed := datagrams.missed_ratio(facts)) is not None:
        return Finding(Cause.NOT_KNOWN, 0.0, 0.0, (), variant="missed_datagrams", values={"missed_ratio": missed})
    if facts.exchanges is not None and facts.exchanges.latency_ns is not None:
        return _slow_exchange(facts, facts.exchanges, more)
    named = sorted(
        ((state, ratio) for state, ratio in facts.sender.shares.items() if ratio >= 0.1), key=lambda item: -item[1]
    )
    shares = ", ".join(f"{uncapitalized(NAMES[S(state)])} {percent(ratio)}" for state, ratio in named)
    return Finding(Cause.NOT_KNOWN, 0.0, 0.0, (), values={"shares": shares or None, "more": more})


def _slow_exchange(facts: Facts, exchanges: ExchangeFacts, more: str) -> Finding:
    """Transactions that mostly wait, and the evidence does not show for what."""
    working = " and ".join(
        f"the {role}'s CPU is busy {percent(end.wanted_ratio)} of the time"
        for role, end in (("sender", facts.sender), ("receiver", facts.receiver))
        if end.wanted_ratio is not None
    )
    return Finding(
        Cause.NOT_KNOWN,
        0.0,
        0.0,
        (exchange_evidence(facts, exchanges),),
        variant="slow_exchange",
        values={"latency_ns": exchanges.latency_ns, "working": working or None, "more": more},
    )
