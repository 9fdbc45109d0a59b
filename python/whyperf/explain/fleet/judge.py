"""The limit of a cell of a fleet: the slow host if there is one, otherwise the side that limits most pairs."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from whyperf.analyze.fleet.inputs import label
from whyperf.analyze.fleet.result import Fleet, FleetPair, SlowHost
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import CellExplanation, FleetDiagnosis, PairDiagnosis, SlowHostDiagnosis, Verdict
from whyperf.explain.fleet.causes import FAMILIES, LOSSES, OF_CPUS, WAITS, Place, cause_of, place_of
from whyperf.explain.fleet.wording import difference_evidence, fleet_words, rate_evidence, slow_verdict, slow_words

Confidence = Literal["high", "medium", "low"]
#: Explains a pair, from 0, whose rate is given.
Explain = Callable[[int, float | None], CellExplanation]

MAX_PAIRS = 8
"""Pairs that are explained: each takes about 0.2 s."""
MAX_SLOW = 3
"""Slow hosts that are explained."""
MIN_PART = 0.5
"""From this part of the explained pairs on, a place limits the whole."""
FULL_CPU = 0.85
"""A receiver so busy limits what its senders could send."""


def explain_fleet(
    cell: str, fleet: Fleet, explain: Explain, machines: Mapping[str, str] | None = None
) -> tuple[CellExplanation, FleetDiagnosis]:
    """The explanation of a cell, and what limits it as a fleet.

    The cell's explanation is that of one pair: of the slowest host, or else of a usual pair. With a slow host its first
    verdict names that host. `machines` are the machines that hosts are on: one with two adapters has
    a name for each.
    """
    slow = fleet.slow[:MAX_SLOW]
    leading = [host.pairs[0] for host in slow]
    taken = {pair for host in fleet.slow for pair in host.pairs}
    measured = sorted((pair for pair in fleet.pairs if _rate(pair) is not None), key=lambda pair: _rate(pair) or 0.0)
    usual = [pair for pair in measured if pair.pair not in taken] or measured or fleet.pairs[:1]
    central = usual[len(usual) // 2].pair
    chosen = list(dict.fromkeys([*leading, central, *_spread([pair.pair for pair in usual])]))[:MAX_PAIRS]
    found = {pair: explain(pair - 1, fleet.pair(pair).goodput_bps.median) for pair in chosen}
    verdicts = {pair: explained.verdicts[0] for pair, explained in found.items() if explained.verdicts}
    typical = _typical([verdicts[pair] for pair in chosen if pair in verdicts and pair not in taken])
    diagnoses = [_diagnose(host, fleet, verdicts.get(host.pairs[0]), typical) for host in slow]
    where, host, cause = _limit(fleet, diagnoses, {pair: verdicts[pair] for pair in verdicts if pair not in taken})
    claim = typical.claim if typical is not None else ""
    shared = None if slow or typical is None else _shared_by(fleet, where, typical.cause, machines or {})
    code, values, sentence = fleet_words(fleet, where, host, diagnoses, claim, shared=shared)
    diagnosis = FleetDiagnosis(
        code=code,
        values=values,
        cell=cell,
        limited_by=where,
        host=host,
        cause=cause,
        words=sentence,
        slow=diagnoses,
        pairs=[_of_pair(fleet.pair(pair), explained) for pair, explained in found.items() if explained.verdicts],
    )
    first = leading[0] if leading else central
    base = _relabeled(found[first], first - 1)
    own = [slow_verdict(found, fleet) for found in diagnoses]
    return base.model_copy(update={"verdicts": [*own, *base.verdicts], "headline": sentence}), diagnosis


def _rate(pair: FleetPair) -> float | None:
    found = pair.transactions_per_s.median
    return pair.goodput_bps.median if found is None else found


def _spread(pairs: Sequence[int]) -> list[int]:
    """Some of the pairs, evenly over their rates, the slowest and the fastest among them."""
    count = min(len(pairs), MAX_PAIRS)
    return [pairs[round(at * (len(pairs) - 1) / max(1, count - 1))] for at in range(count)]


def _typical(verdicts: Sequence[Verdict]) -> Verdict | None:
    """The verdict on usual pairs whose cause is the most frequent; what is known comes before what is not."""
    if not verdicts:
        return None
    counts = Counter(verdict.cause for verdict in verdicts)
    most = max(counts, key=lambda cause: (cause is not Cause.NOT_KNOWN, counts[cause]))
    return next(verdict for verdict in verdicts if verdict.cause is most)


def _diagnose(host: SlowHost, fleet: Fleet, verdict: Verdict | None, typical: Verdict | None) -> SlowHostDiagnosis:
    pair = fleet.pair(host.pairs[0])
    role = host.role if host.role != "pair" else _role_in(pair, host.host)
    cause, confidence = _cause(host, role, verdict, typical)
    claim = verdict.claim if verdict is not None and (verdict.cause is cause or not host.differences) else ""
    code, values, sentence, because = slow_words(host, pair, cause, role, claim)
    return SlowHostDiagnosis(
        code=code,
        values=values,
        host=host.host,
        pair=pair.pair,
        ratio=host.ratio,
        cause=cause,
        confidence=confidence,
        words=sentence,
        because=because,
        evidence=[rate_evidence(host), *(difference_evidence(found, host) for found in host.differences)],
    )


def _role_in(pair: FleetPair, host: str | None) -> str:
    return "sender" if host == pair.sender else "receiver" if host == pair.receiver else "pair"


def _cause(host: SlowHost, role: str, verdict: Verdict | None, typical: Verdict | None) -> tuple[Cause, Confidence]:
    """The cause that makes the host slow.

    A verdict that other pairs do not have names it, unless a difference between the hosts names another cause that
    looks the same. Where the verdict is open, or the same as for other pairs, the strongest difference names it. So it
    does where the verdict is about CPUs, and those of the host are no busier and no more waited for than its peers':
    what all hosts have makes none of them slow.
    """
    by_difference = [cause for found in host.differences if (cause := cause_of(found, role)) is not None]
    own = Cause.NOT_KNOWN if verdict is None else verdict.cause
    is_own = own not in {Cause.NOT_KNOWN, Cause.CAPACITY} and (typical is None or typical.cause is not own)
    if own in by_difference:
        return own, "high" if is_own else "medium"
    alike = [cause for cause in by_difference if any({own, cause} <= family for family in FAMILIES)]
    if is_own and (alike or own not in WAITS or not by_difference):
        # The kind of loss is the verdict's: it looks closer than a count of retransmissions.
        is_closer = not alike or (own in LOSSES and alike[0] in LOSSES)
        return own if is_closer else alike[0], "high" if alike else "medium"
    possible = [*_possible(verdict, by_difference), *alike, *by_difference]
    return (possible[0], "medium" if verdict is not None else "low") if possible else (own, "low")


def _possible(verdict: Verdict | None, causes: Sequence[Cause]) -> list[Cause]:
    """Those of the causes that an open verdict names."""
    listed = None if verdict is None or verdict.cause is not Cause.NOT_KNOWN else verdict.values.get("causes")
    named = {str(cause) for cause in listed} if isinstance(listed, list) else set()
    return [cause for cause in causes if cause in named or (cause in LOSSES and named & LOSSES)]


def _limit(
    fleet: Fleet, slow: Sequence[SlowHostDiagnosis], usual: Mapping[int, Verdict]
) -> tuple[Literal["slow_host", "sender", "receiver", "path", "not_known"], str | None, Cause]:
    """The limit of the whole: where, which host, and by what cause."""
    if slow:
        return "slow_host", slow[0].host, slow[0].cause
    if not usual:
        return "not_known", None, Cause.NOT_KNOWN
    places: Counter[Place] = Counter(_place(fleet.pair(pair), verdict, fleet) for pair, verdict in usual.items())
    where, count = places.most_common(1)[0]
    if count < MIN_PART * len(usual):
        where = "not_known"
    here = [(pair, verdict) for pair, verdict in usual.items() if _place(fleet.pair(pair), verdict, fleet) == where]
    cause = Counter(verdict.cause for _, verdict in here).most_common(1)[0][0] if here else Cause.NOT_KNOWN
    names: set[str] = set()
    if where == "sender":
        names = {fleet.pair(pair).sender for pair, _ in here}
    elif where == "receiver":
        names = {fleet.pair(pair).receiver for pair, _ in here}
    return where, next(iter(names)) if len(names) == 1 else None, cause


def _shared_by(fleet: Fleet, where: str, cause: Cause, machines: Mapping[str, str]) -> tuple[str, str] | None:
    """The machine whose CPUs limit all pairs although they have different hosts, and which sentence says so."""
    if cause not in OF_CPUS:
        return None
    senders, all_hosts = ({machines.get(name) for name in names} for names in (
        [pair.sender for pair in fleet.pairs], [host.host for host in fleet.hosts]
    ))  # fmt: skip
    for code, found in (("machine.shared", all_hosts), ("sender.shared", senders if where == "sender" else set())):
        if len(found) == 1 and None not in found and len({pair.sender for pair in fleet.pairs}) > 1:
            return code, str(next(iter(found)))
    return None


def _place(pair: FleetPair, verdict: Verdict, fleet: Fleet) -> Place:
    """Where the pair's limit is. A full CPU of a receiver that many load is its limit, whatever a single pair shows."""
    hosts = {host.host: host.cpu_ratio for host in fleet.hosts}
    busy, other = (hosts.get(name) or 0.0 for name in (pair.receiver, pair.sender))
    is_open = verdict.cause is Cause.NOT_KNOWN or verdict.cause in OF_CPUS
    if is_open and busy >= FULL_CPU and busy > other:
        return "receiver"
    return place_of(verdict)


def _of_pair(pair: FleetPair, found: CellExplanation) -> PairDiagnosis:
    first = found.verdicts[0]
    return PairDiagnosis(
        pair=pair.pair,
        near=pair.near,
        far=pair.far,
        trial=found.trial,
        rate_bps=pair.goodput_bps.median,
        dominant_state=found.dominant_state,
        cause=first.cause,
        confidence=first.confidence,
        claim=first.claim,
    )


def _relabeled(found: CellExplanation, pair: int) -> CellExplanation:
    """The explanation of a pair, from 0, with its ends named as in the record."""
    if pair == 0:
        return found
    names = {side: label(side, pair) for side in ("near", "far")}
    verdicts = [
        verdict.model_copy(
            update={
                "evidence": [
                    fact.model_copy(update={"host": names.get(fact.host, fact.host)}) for fact in verdict.evidence
                ]
            }
        )
        for verdict in found.verdicts
    ]
    budgets = [budget.model_copy(update={"host": names.get(budget.host, budget.host)}) for budget in found.budgets]
    return found.model_copy(update={"verdicts": verdicts, "budgets": budgets})
