"""The emulated path as facts: who carried it, and how well."""

from collections.abc import Iterable, Mapping
from typing import Any

from whyperf.analyze.text import count, percent, seconds

Facts = list[tuple[str, str]]


def path_facts(middle: Mapping[str, Any] | None, paths: Iterable[Mapping[str, Any]]) -> Facts:
    """What carried the `paths` of an experiment's manifests, and the sums of their audits; empty without a path."""
    audits = [audit for path in paths if (audit := path.get("audit"))]
    if middle is None or not audits:
        return []
    packets = sum(audit["released_packets"] for audit in audits)
    audited = [audit for audit in audits if audit["late_packets"] is not None]
    late, known = (sum(audit[name] for audit in audited) for name in ("late_packets", "released_packets"))
    outside = sum(
        audit["socket_dropped_frames"] + audit["device_dropped_packets"] + audit["refused_frames"] for audit in audits
    )
    wall_ns = sum(audit["wall_ns"] for audit in audits)
    cpu = middle.get("cpu")
    return [
        ("Carried by", f"{middle['implementation']}{'' if cpu is None else f' on CPU {cpu}'}"),
        ("Trials with a path", f"{len(audits):,}"),
        ("Packets carried", f"{packets:,}"),
        *_lateness(late, known, [audit["lateness_ns_max"] for audit in audited]),
        ("Lost outside the model", count(outside, "frame")),
        ("Time of one CPU", percent(sum(audit["cpu_ns"] for audit in audits) / wall_ns) if wall_ns else "none"),
        *(("Not audited", sentence) for sentence in _unaudited(audits)),
    ]


def _lateness(late: int, packets: int, latest_ns: list[int]) -> Facts:
    """How late packets left, where anybody saw them leave."""
    if not latest_ns:
        return []
    return [
        ("Later than the budget", f"{count(late, 'packet')} ({percent(late / packets)})" if packets else "none"),
        ("Latest", seconds(max(latest_ns))),
    ]


def _unaudited(audits: list[Mapping[str, Any]]) -> list[str]:
    """What the audits could not say, each once; records of before do not have it."""
    return list(dict.fromkeys(sentence for audit in audits for sentence in audit.get("unaudited", ())))
