"""Asks every rule, ranks what they found, and says what is not known."""

from collections.abc import Callable, Sequence

from whyperf.analyze.text import bit_rate, percent, seconds, significant
from whyperf.explain.causes import Cause
from whyperf.explain.model import Evidence, Verdict
from whyperf.explain.rules import application, buffers, cpu, datagrams, path
from whyperf.explain.rules.application import BUSY_RATIO
from whyperf.explain.rules.changes import change_for
from whyperf.explain.rules.finding import (
    LEAST_CERTAINTY,
    UNDECIDED,
    WINDOWS,
    Finding,
    Rule,
    clipped,
    figure,
    is_on_cpu,
    looked_up,
    state_evidence,
)
from whyperf.explain.rules.gain import bounded
from whyperf.explain.setup import Setup
from whyperf.explain.states import NAMES
from whyperf.explain.states import ReceiverState as R
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import ExchangeFacts, Facts

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
    path.small_queue,
    path.random_loss,
    path.burst_loss,
    path.reordering,
    path.ack_thinning,
    path.slow_start,
    path.pacing_rate,
    cpu.computing_sender,
    cpu.computing_receiver,
    cpu.shared_cpu,
    cpu.other_load,
    cpu.many_connections,
    cpu.small_mtu,
    cpu.offloads_off,
    cpu.receive_offload_off,
    cpu.quick_ack,
    cpu.receiver_loss,
    datagrams.socket_loss,
    datagrams.path_full,
    datagrams.path_loss,
    datagrams.asked_rate,
)
"""All rules. Their order says nothing: what they find is ranked by strength."""

LEAST_STRENGTH = 0.12
"""Weaker findings are left out: that little is within what repeating a trial changes."""
_HIGH, _MEDIUM = 0.85, 0.6


def judge(facts: Facts, setup: Setup | None = None, *, on_fault: Callable[[str], None] | None = None) -> list[Verdict]:
    """The verdicts on a trial, the strongest first; never none.

    Args:
        facts: what the rules look at.
        setup: what the trial was set up with, to name what to change and to bound gains; no verdict depends on it.
        on_fault: is told of a rule that is faulty, in a sentence, and the others are asked all the same. Without it
            the fault goes up, as in tests.
    """
    found = [finding for rule in RULES if (finding := _asked(rule, facts, on_fault)) is not None]
    found = sorted((one for one in found if _counts(one, facts)), key=lambda one: _rank(one, facts))
    if not found:
        found = [_capacity(facts) or _not_known(facts)]
    elif found[0].certainty < LEAST_CERTAINTY:
        found.insert(0, _open(found) or _capacity(facts) or _not_known(facts))
    return [_verdict(finding, facts, setup or Setup()) for finding in found]


def _counts(finding: Finding, facts: Facts) -> bool:
    """Whether a finding is strong enough; of datagrams, whether it lies where more of them could be gained."""
    if facts.datagrams is None or not datagrams.is_sender_enough(facts):
        return finding.strength >= LEAST_STRENGTH
    is_of_datagrams = any(one.table == "datagrams" for one in finding.evidence)
    return is_of_datagrams or (finding.strength >= LEAST_STRENGTH and finding.cause not in datagrams.OF_SENDER)


def _asked(rule: Rule, facts: Facts, on_fault: Callable[[str], None] | None) -> Finding | None:
    """What the rule finds; nothing where it is faulty and that is told."""
    try:
        return rule(facts)
    except Exception as error:
        if on_fault is None:
            raise
        name, why = (
            getattr(rule, "__name__", "a cause").replace("_", " "),
            f"{type(error).__name__}: {error}".rstrip(": "),
        )
        on_fault(f"The rule for {name} failed ({why}), so nothing is said of that cause; please report it.")
        return None


def _rank(finding: Finding, facts: Facts) -> float:
    """The strongest first; who else wants a CPU comes after what would stay without them.

    Without a log nobody can tell what would: a thread that is kept from its CPU leaves the same traces as a path or an
    application that is slow. Then who has most of the CPU comes first.
    """
    if finding.cause is not Cause.OTHER_LOAD:
        # What becomes of datagrams stands before what may keep an end from doing more.
        return -finding.strength - any(one.table == "datagrams" for one in finding.evidence)
    taken = max(facts.sender.processors.other_ratio or 0.0, facts.receiver.processors.other_ratio or 0.0)
    return -finding.lost if facts.level != "segments" and taken >= BUSY_RATIO else -0.4 * finding.strength


def _verdict(finding: Finding, facts: Facts, setup: Setup) -> Verdict:
    path_bps = setup.path_bps(is_turned=facts.is_turned)
    gain = None if finding.gain is None else bounded(finding.gain, facts, path_bps)
    is_sure = facts.level == "segments" or finding.is_counted
    certainty = finding.certainty if is_sure else finding.certainty - 0.25
    return Verdict(
        cause=finding.cause,
        claim=finding.claim,
        lost_ratio=round(clipped(finding.lost), 4),
        confidence="high" if certainty >= _HIGH else "medium" if certainty >= _MEDIUM else "low",
        evidence=_evidence(finding, facts),
        refuted_by=finding.refuted_by,
        change=change_for(finding, facts, setup),
        predicted_gain=None if gain is None else round(gain.ratio, 3),
        predicted_low=None if gain is None else round(gain.low, 3),
        predicted_high=None if gain is None else round(gain.high, 3),
        predicted_from="" if gain is None else gain.basis,
    )


def _evidence(finding: Finding, facts: Facts) -> list[Evidence]:
    """Below the log most states are not known: that nothing was seen of one is no evidence."""
    has_log = facts.level == "segments"
    told = [one for one in finding.evidence if has_log or one.table != WINDOWS or one.value != 0]
    return [looked_up(one, facts.level) for one in told]


def _capacity(facts: Facts) -> Finding | None:
    """An end's CPU is busy moving payload: nothing to blame."""
    busy = facts.busiest_ratio
    if busy is None or datagrams.lost_before(facts) or not (is_on_cpu(facts) or _takes_turns(facts)):
        return None
    if (withheld := _withheld(facts)) is not None:
        return withheld
    if not is_on_cpu(facts):
        return _by_turns(facts)
    ends = (("sender", facts.sender), ("receiver", facts.receiver))
    role, end = max(ends, key=lambda one: one[1].wanted_ratio or 0.0)
    told = facts.exchanges
    what = "moving payload" if told is None else "transactions"
    # Never less than what was measured, with or without the log.
    most = max((rate for rate in (facts.rate_bps, facts.goodput_bps) if rate is not None), default=None)
    rate = "" if most is None else f", and {bit_rate(most)} is what it can do"
    if told is not None:
        rate = f", and {told.per_s:,.0f} of them a second are what it can do"
    states = (S.WRITE_CALL, S.WAITS_FOR_CPU) if role == "sender" else (R.READ_CALL, R.SOFTIRQ)
    return Finding(
        Cause.CAPACITY,
        f"Nothing to blame: the {role}'s CPU is {percent(busy)} busy with {what}{rate}.",
        0.0,
        0.9,
        (
            figure(f"The {role}'s CPU was busy {percent(busy)} of the time.", "cpu", end, busy, "ratio"),
            state_evidence(end, role, *states),
        ),
        "A faster or less busy CPU at that end leaves the rate as it is"
        + (
            "."
            if facts.receiver.devices.receive_offload is not None
            else "; or the receiving device's receive offload is off (ethtool -k), which no segment tells where "
            "packets arrive large."
        ),
    )


WITHHELD_RATIO = 0.2
"""Part of the time that a thread waits for a CPU, while the load does not use it, from which on the CPU is not its own.
"""


def _withheld(facts: Facts) -> Finding | None:
    """An end's threads want a CPU and do not get it: the CPU is not at the end of what it can do, but not theirs."""
    ends = (("sender", facts.sender), ("receiver", facts.receiver))
    role, end = max(ends, key=lambda one: one[1].processors.withheld_ratio or 0.0)
    waited, others, stolen = (
        end.processors.withheld_ratio or 0.0,
        end.processors.other_ratio or 0.0,
        end.processors.steal_ratio or 0.0,
    )
    if waited < WITHHELD_RATIO:
        return None
    if stolen >= max(others, WITHHELD_RATIO / 2):
        why = f"the hypervisor gave {percent(stolen)} of that CPU to others (steal)"
    elif others >= WITHHELD_RATIO / 2:
        why = f"other programs used {percent(others)} of that CPU"
    else:
        why = "nobody else used that CPU, so a CPU quota may hold them (cgroup cpu.max, cpu.cfs_quota_us)"
    return Finding(
        Cause.OTHER_LOAD,
        f"The {role}'s threads wanted to run and got no CPU {percent(waited)} of the time: {why}.",
        waited,
        0.9,
        (
            figure(
                f"Run queue: {percent(end.processors.run_queue_ratio or 0)} of the time.",
                "threads",
                end,
                waited,
                "ratio",
            ),
            figure(f"Neither the load nor softirqs: {percent(others)} of the CPU.", "cpu", end, others, "ratio"),
            figure(f"Steal: {percent(stolen)} of the CPU.", "cpu", end, stolen, "ratio"),
        ),
        "The rate is the same when the threads need not wait for a CPU.",
        is_counted=True,
    )


def _takes_turns(facts: Facts) -> bool:
    """Whether the ends work one after the other, for each other's answers, so that together they use up the time."""
    both = (facts.sender.wanted_ratio or 0.0) + (facts.receiver.wanted_ratio or 0.0)
    return ((facts.segments.data_back_packets or 0) >= 5 or facts.exchanges is not None) and both >= 0.6


def _by_turns(facts: Facts) -> Finding:
    """Nothing to blame: each exchange is the work of both ends, one after the other, and the way between them."""
    ends = (("sender", facts.sender), ("receiver", facts.receiver))
    shares = [(role, end.wanted_ratio or 0.0) for role, end in ends]
    told = facts.exchanges
    each_ns = facts.segments.cycle.cycle_ns if told is None else told.latency_ns
    each = "" if each_ns is None else f", {seconds(each_ns)} each"
    rate = "" if told is None else f", and {told.per_s:,.0f} a second are what that leaves"
    busy = " and ".join(f"the {role}'s CPU is busy {percent(share)} of the time" for role, share in shares)
    return Finding(
        Cause.CAPACITY,
        f"Nothing to blame: the ends wait for each other's answers by turns{each}; {busy}{rate}. What a transaction "
        "costs the CPUs, and the way between them, is the limit.",
        0.0,
        0.9,
        tuple(
            figure(f"The {role} wanted a CPU {percent(share)} of the time.", "cpu", end, share, "ratio")
            for (role, end), (_, share) in zip(ends, shares, strict=True)
        )
        + (() if told is None else (_exchange(facts, told),)),
        "The rate stays as it is with faster CPUs, or with less between the ends.",
    )


def _exchange(facts: Facts, told: ExchangeFacts) -> Evidence:
    """What the application counted of its transactions."""
    at_once = told.at_once
    many = "" if at_once is None else f", {significant(max(1.0, at_once), 2)} at once"
    words = f"{told.count:,} transactions were answered{many}."
    return figure(words, "transactions", facts.asker, told.per_s, "1/s")


def _open(found: Sequence[Finding]) -> Finding | None:
    """Several causes of which the evidence does not tell which it is; None where the first says nothing of another."""
    first = found[0]
    if not first.open_because:
        return None
    fitting = [one for one in found if one.open_because]
    names = [str(one.cause).replace("_", " ") for one in fitting]
    between = f"between {', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else f"whether it is {names[0]}"
    return Finding(
        Cause.NOT_KNOWN,
        f"Not known {between}: {first.open_because}.",
        max(one.lost for one in fitting),
        UNDECIDED,
        first.evidence,
        "Only one of them is left when more is measured.",
    )


def _not_known(facts: Facts) -> Finding:
    """What there is does not tell."""
    more = {
        "segments": "The states that it spent the time in are in the budgets.",
        "counters": "A trial with the segment log tells more (--evidence segments).",
        "user": "Kernel counters, and more so the segment log, tell more (--evidence segments).",
    }
    if facts.transport != "tcp":
        more = dict.fromkeys(more, "Of this transport no log tells more.")
    lost = datagrams.lost_before(facts)
    if lost:
        claim = f"Not known what limits the rate. {lost}"
        return Finding(Cause.NOT_KNOWN, claim, 0.0, 0.0, (), "")
    if facts.exchanges is not None and facts.exchanges.latency_ns is not None:
        return _slow_exchange(facts, facts.exchanges, more[facts.level])
    named = [(state, ratio) for state, ratio in facts.sender.shares.items() if ratio >= 0.1]
    told = ", ".join(f"«{NAMES[S(state)]}» {percent(ratio)}" for state, ratio in sorted(named, key=lambda one: -one[1]))
    return Finding(
        Cause.NOT_KNOWN,
        f"Not known: the evidence does not tell what limits the rate{f' (sender: {told})' if told else ''}. "
        f"{more[facts.level]}",
        0.0,
        0.0,
        (),
        "",
    )


def _slow_exchange(facts: Facts, told: ExchangeFacts, more: str) -> Finding:
    """Transactions that mostly wait, and nobody saw for what."""
    working = " and ".join(
        f"the {role}'s CPU is busy {percent(end.wanted_ratio)} of the time"
        for role, end in (("sender", facts.sender), ("receiver", facts.receiver))
        if end.wanted_ratio is not None
    )
    latency = seconds(told.latency_ns or 0.0)
    return Finding(
        Cause.NOT_KNOWN,
        f"Not known what transactions wait for: each takes {latency}{f', while {working}' if working else ''}. {more}",
        0.0,
        0.0,
        (_exchange(facts, told),),
        "",
    )
