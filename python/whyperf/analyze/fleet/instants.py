"""When the hosts of a fleet began, by the controller's clock: common window, skew of first calls, stragglers."""

from collections.abc import Mapping
from statistics import median
from typing import Any

from whyperf.plan import HostPair
from whyperf.record import Manifest

MIN_LATE_NS = 20_000_000
"""A host that begins so much later than the median of all is a straggler; about what a busy host's scheduler takes."""


def instants_of(
    manifest: Manifest,
    first_calls: Mapping[str, int],
    phases: Mapping[str, tuple[int, int]],
    pairs: tuple[HostPair, ...],
) -> dict[str, Any]:
    """Computes what a trial shows of instants: `window`, `skew` and `stragglers`, without those that cannot be known.

    Args:
        manifest: of the trial.
        first_calls: the first call of each side that sends, on its own clock in ns.
        phases: start and end of the measured phase of each side, on its own clock in ns.
        pairs: the hosts of each pair.
    """
    clocks = {name: end.clock for name, end in manifest.hosts.items() if end.clock is not None}
    start_ns = int(getattr(manifest, "start_mono_ns", 0) or 0)
    calls = {name: call - clocks[name].offset_ns - start_ns for name, call in first_calls.items() if name in clocks}
    windows = [
        (start - clocks[name].offset_ns, end - clocks[name].offset_ns)
        for name, (start, end) in phases.items()
        if name in clocks
    ]
    found: dict[str, Any] = {}
    if windows:
        start, stop = max(start for start, _ in windows), min(stop for _, stop in windows)
        if stop > start:
            found["window"] = {"start_ns": start, "stop_ns": stop}
    if len(calls) > 1:
        # Two clocks are compared with each other by the controller's: both errors count.
        errors = sorted((clocks[name].uncertainty_ns + abs(clocks[name].drift_ns) for name in calls), reverse=True)
        bound_ns = sum(errors[:2])
        found["skew"] = {"first_call_ns": calls, "bound_ns": bound_ns}
        usual = median(calls.values())
        found["stragglers"] = [
            {
                "host": pairs[pair][0] if name.startswith("near") else pairs[pair][1],
                "pair": pair + 1,
                "late_ns": round(call - usual),
                "reason": "it began later than the others",
            }
            for name, call in calls.items()
            if call - usual > MIN_LATE_NS + bound_ns
            and (pair := int(name.removeprefix("near").removeprefix("far") or 1) - 1) < len(pairs)
        ]
    return found
