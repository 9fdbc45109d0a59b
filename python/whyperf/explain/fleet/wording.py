"""The sentences about hosts of a fleet, from the catalog."""

from collections.abc import Sequence

from whyperf.analyze.fleet.result import Fleet, FleetPair, HostDifference, SlowHost
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Change, Evidence, SlowHostDiagnosis, Value, Verdict
from whyperf.explain.wording.catalog import known, render, templates

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
