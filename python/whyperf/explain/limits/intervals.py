"""The interval of a predicted gain, from the errors of predictions of the same class (split conformal prediction).

The table holds, for each class, quantiles of the logarithm of measured over predicted gain in experiments that no
constant of the model was fitted to. If a new case is exchangeable with those, its gain lies in the interval with the
stated probability, whatever the distribution of the errors (V. Vovk, A. Gammerman, G. Shafer, "Algorithmic learning in
a random world", 2005; H. Papadopoulos et al., ECML 2002). The classes are Mondrian categories of the same book: the
evidence level, and what the gain was predicted from. A class of too few cases takes that of its whole level.
"""

from dataclasses import replace

from whyperf.explain.calibration.tables import GainClass, gain_classes
from whyperf.explain.limits.gain import UPPER_BOUNDS, WAITED, Gain

FAMILIES = {
    "line": ("full_link", "seen_link", "deliveries", "link", "emulated_path"),
    "cpu": ("cpu", "cpu_large", "own_cpu"),
    "idle": ("cpu_warm", "cpu_warm_large", "idle_hosts", "idle_hosts_large"),
    "calls": ("larger_calls",),
    "packets": ("larger_packets", "whole_packets"),
    "exchange": ("exchange", "several_exchanges"),
    "time": ("remaining_time",),
    "others": ("other_causes", "set_window", "loss_rate", "pacing", "asked_rate", "one_exchange"),
}
"""Bases that gains are predicted from, in families of a few."""
UNSEEN_LINK = "unseen_link"
OWN_INTERVAL = (
    frozenset({"calls_or_computing", "packets_stay", UNSEEN_LINK, "emulated_path", "link", WAITED}) | UPPER_BOUNDS
)
"""Bases whose interval is between two cases that the evidence leaves open, or ends at a rate or bound that is given."""
_FAMILY_OF = {code: family for family, codes in FAMILIES.items() for code in codes}


def family_of(basis: str) -> str:
    """The family of a basis; "" where it has none."""
    return _FAMILY_OF.get(basis, "")


def has_next_limit(basis: str) -> bool:
    """True where a gain ends at a limit that is known, rather than at what the evidence leaves of the time."""
    return family_of(basis) in {"line", "cpu", "idle", "others"}


def class_of(level: str, basis: str) -> GainClass | None:
    """The narrowest class with enough residuals; None where even the whole table has none."""
    classes = gain_classes()
    wanted = ((level, family_of(basis)), (level, ""), ("", family_of(basis)), ("", ""))
    return next((classes[key] for key in wanted if key in classes), None)


def calibrated(found: Gain, level: str) -> Gain:
    """The prediction with its median and its interval as the table has them; a removed limit never lowers the rate."""
    if found.basis.code == UNSEEN_LINK:
        return replace(found, low=1.0)
    known = class_of(level, found.basis.code)
    if known is None or found.basis.code in OWN_INTERVAL:
        return found
    ratio = max(1.0, found.ratio * known.median)
    low, high = found.ratio * known.low, found.ratio * known.high
    return replace(found, ratio=ratio, low=max(1.0, min(low, ratio)), high=max(1.0, high, ratio))
