"""The limit of a cell of a fleet: the slow host if there is one, otherwise the side that limits most pairs."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from whyperf.analyze.fleet.inputs import label
from whyperf.analyze.fleet.result import Fleet, FleetPair, HostDifference, SlowHost
from whyperf.explain.causes import LOSS_KINDS, Cause
from whyperf.explain.explanation import (
    CellExplanation,
    Change,
    Evidence,
    FleetDiagnosis,
    PairDiagnosis,
    SlowHostDiagnosis,
    Value,
    Verdict,
)
from whyperf.explain.wording.catalog import known, render, templates

Place = Literal["sender", "receiver", "path", "not_known"]

_SENDER: tuple[Cause, ...] = (
    *(Cause.SEND_BUFFER, Cause.SLOW_WRITER, Cause.THINK_TIME, Cause.TINY_WRITES, Cause.NAGLE_DELAYED_ACK),
    *(Cause.WRITE_WINDOW_MISMATCH, Cause.PACING_RATE, Cause.SENDER_CPU, Cause.LOCAL_QUEUE, Cause.ASKED_RATE),
    *(Cause.SLOW_START, Cause.CONNECTION_SETUP),
)
_RECEIVER: tuple[Cause, ...] = (
    *(Cause.RECEIVE_BUFFER, Cause.SLOW_READER, Cause.READ_SIZE, Cause.RECEIVER_CPU, Cause.RECEIVER_LOSS),
    *(Cause.DELAYED_ACK, Cause.QUICK_ACK),
)
_PATH: tuple[Cause, ...] = (
    *(Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK, Cause.POLICER, Cause.PATH_LOSS, *LOSS_KINDS),
    *(Cause.REORDERING, Cause.ACK_THINNING, Cause.ACK_PATH, Cause.ROUND_TRIP),
)
_PLACES: Mapping[Cause, Place] = {
    **dict.fromkeys(_SENDER, "sender"),
    **dict.fromkeys(_RECEIVER, "receiver"),
    **dict.fromkeys(_PATH, "path"),
}

LOSSES = frozenset({Cause.PATH_LOSS, Cause.POLICER, *LOSS_KINDS})
"""Counters alone do not separate these."""
OF_CPUS = frozenset({
    *(Cause.CAPACITY, Cause.SENDER_CPU, Cause.RECEIVER_CPU, Cause.SHARED_CPU, Cause.MANY_CONNECTIONS),
    *(Cause.OFFLOADS_OFF, Cause.SMALL_MTU, Cause.TINY_WRITES, Cause.READ_SIZE, Cause.OTHER_LOAD),
})  # fmt: skip
"""A CPU is the limit, whatever makes its work expensive."""
WAITS = frozenset({Cause.SENDER_CPU, Cause.RECEIVER_CPU, Cause.SHARED_CPU, Cause.OTHER_LOAD})
"""A thread waits for a CPU, or uses all of one. Hosts that share CPUs all do."""
FAMILIES = (
    LOSSES,
    OF_CPUS,
    frozenset({Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK, Cause.LOCAL_QUEUE, Cause.PACING_RATE, Cause.SMALL_QUEUE}),
    frozenset({Cause.OTHER_LOAD, Cause.CPU_QUOTA, Cause.PAUSE, *OF_CPUS}),
)
"""Causes that look alike from the rate and the states of one pair; what differs between hosts separates them."""


def place_of(verdict: Verdict) -> Place:
    """Where the cause of a verdict is; that of a CPU is where the verdict says."""
    role = verdict.values.get("role")
    if role == "sender":
        return "sender"
    if role == "receiver":
        return "receiver"
    return _PLACES.get(verdict.cause, "not_known")


def cause_of(difference: HostDifference, role: str) -> Cause | None:
    """The cause by which such a difference slows a host with this role; None where it explains nothing by itself."""
    if difference.code == "sysctl":
        return _of_buffer(difference, role)
    cause = _CAUSES.get(difference.code)
    if cause is None or not _is_worse(difference):
        return None
    return Cause.BOTTLENECK if cause is Cause.LOCAL_QUEUE and role == "receiver" else cause


_CAUSES: Mapping[str, Cause] = {
    "mtu": Cause.SMALL_MTU,
    "segment_size": Cause.SMALL_MTU,
    "qdisc_rate": Cause.LOCAL_QUEUE,
    "link_speed": Cause.BOTTLENECK,
    **dict.fromkeys(("tso", "gso", "gro"), Cause.OFFLOADS_OFF),
    "cpu_quota": Cause.CPU_QUOTA,
    **dict.fromkeys(("other_programs", "waited_ratio"), Cause.OTHER_LOAD),
    "retransmitted_ratio": Cause.PATH_LOSS,
    "rtt_ns_min": Cause.ROUND_TRIP,
}


def _is_worse(difference: HostDifference) -> bool:
    """True where the host has less of it, or has what limits it and not its peers."""
    if difference.code in {"mtu", "segment_size", "link_speed"}:
        return difference.ratio is not None and difference.ratio < 1
    if difference.code in {"qdisc_rate", "cpu_quota"}:
        return difference.host != "none"
    if difference.code in {"tso", "gso", "gro"}:
        return difference.host == "off"
    return True


def _of_buffer(difference: HostDifference, role: str) -> Cause | None:
    """A smaller bound of buffers, where that side's buffer holds payload."""
    name = difference.detail
    cause = Cause.SEND_BUFFER if "wmem" in name else Cause.RECEIVE_BUFFER if "rmem" in name else None
    is_its_side = role == "pair" or (role == "sender") == (cause is Cause.SEND_BUFFER)
    if cause is None or not is_its_side:
        return None
    own, others = (_largest(text) for text in (difference.host, difference.others))
    return cause if own is not None and others is not None and own < others else None


def _largest(text: str) -> int | None:
    """The last number of a setting: the largest size that the kernel chooses."""
    numbers = text.split()
    return int(numbers[-1]) if numbers and numbers[-1].isdecimal() else None


NAMED_DIFFERENCES = 2
"""Differences in the sentence about a slow host; the others are evidence."""
Worded = tuple[str, dict[str, Value], str]


def slow_words(
    host: SlowHost, pair: FleetPair, cause: Cause, role: str, claim: str
) -> tuple[str, dict[str, Value], str, str]:
    """Code, values and words about a slow host, and why it is slow."""
    code = "slow_host.pair" if host.host is None else f"slow_host.{role}"
    values = known(
        {
            "host": host.host,
            "sender": pair.sender,
            "receiver": pair.receiver,
            "rate_ratio": host.ratio,
            "limit": render("limit", cause, {}) if cause is not Cause.NOT_KNOWN else None,
        }
    )
    sentence = render("fleet", code, values)
    if cause is not Cause.NOT_KNOWN:
        sentence = f"{sentence} {render('fleet', 'cause', values)}"
    shown = [difference_text(found) for found in host.differences[:NAMED_DIFFERENCES]]
    because = " ".join([*([claim] if claim else []), *shown])
    return code, values, sentence, because


def fleet_words(
    fleet: Fleet,
    where: str,
    host: str | None,
    slow: Sequence[SlowHostDiagnosis],
    claim: str,
    *,
    shared: tuple[str, str] | None = None,
) -> Worded:
    """Code, values and words about the whole; `shared` is the code and the machine whose CPUs limit all pairs."""
    if slow:
        first, *others = slow
        text = f"{first.words} {first.because}".strip()
        if others:
            names = [found.host or render("fleet", "pair_name", found.values) for found in others]
            text = f"{text} {render('fleet', 'also_slow', {'hosts': names})}"
        return first.code, first.values, text
    code = f"{where}.one" if host is not None else where
    if shared is not None:
        code, host = shared
    values = known({"host": host, "pairs_count": len(fleet.pairs)})
    compared = render("fleet", "none_slow" if fleet.compared else "not_compared", values)
    return code, values, " ".join(part for part in (compared, render("fleet", code, values), claim) if part)


def rate_evidence(host: SlowHost) -> Evidence:
    """The comparison of rates."""
    values = known(
        {
            "rate_ratio": host.ratio,
            "probability": f"{host.p_value:.2g}",
            "slower_count": host.slower_trials,
        }
    )
    return Evidence(
        code="fleet.rate", values=values, words=render("fleet", "rate", values), value=host.ratio, unit="ratio"
    )


def difference_evidence(found: HostDifference, host: SlowHost) -> Evidence:
    """A difference from the other hosts, as a fact to look up."""
    tables = {
        "retransmitted_ratio": "tcp_info",
        "rtt_ns_min": "tcp_info",
        "queue_ns": "tcp_info",
        "cpu_ratio": "cpu",
        "waited_ratio": "threads",
    }
    tables |= {"timeouts": "host_counters", "qdisc_rate": "host_counters", "cpu_quota": "host_counters"}
    return Evidence(
        code=f"fleet.{found.code}",
        values=_values(found),
        words=difference_text(found),
        table=tables.get(found.code, "hosts"),
        host=host.host or "",
    )


def difference_text(found: HostDifference) -> str:
    """A difference in a sentence."""
    code = found.code if found.code in templates()["host_difference"] else "other"
    return render("host_difference", code, _values(found))


def _values(found: HostDifference) -> dict[str, Value]:
    return known(
        {
            "own": found.host,
            "others": found.others,
            "of": found.of,
            "detail": found.detail or None,
            "name": found.code.replace("_", " "),
        }
    )


def slow_verdict(found: SlowHostDiagnosis, fleet: Fleet) -> Verdict:
    """The slow host as the first verdict on the cell."""
    difference = next((host.differences for host in fleet.slow if host.pairs[0] == found.pair), [])
    first = next((entry for entry in difference if entry.code in templates()["host_remedy"]), None)
    change = None
    if first is not None and found.host is not None:
        values = known({**_values(first), "host": found.host})
        change = Change(code=f"fleet.{first.code}", values=values, by_hand=render("host_remedy", first.code, values))
    return Verdict(
        cause=found.cause,
        code=found.code,
        values=found.values,
        claim=f"{found.words} {found.because}".strip(),
        lost_ratio=max(0.0, min(1.0, 1 - found.ratio)),
        confidence=found.confidence,
        evidence=found.evidence,
        refuted_by=render("fleet", "refuted_by", {"host": found.host or found.values["sender"]}),
        change=change,
    )


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
