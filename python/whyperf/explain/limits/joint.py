"""The interval of a predicted gain, from the errors of predictions of the same class (split conformal prediction).

The table holds, for each class, quantiles of the logarithm of measured over predicted gain in experiments that no
constant of the model was fitted to. If a new case is exchangeable with those, its gain lies in the interval with the
stated probability, whatever the distribution of the errors (V. Vovk, A. Gammerman, G. Shafer, "Algorithmic learning in
a random world", 2005; H. Papadopoulos et al., ECML 2002). The classes are Mondrian categories of the same book: the
evidence level, and what the gain was predicted from. A class of too few cases takes that of its whole level.

Also the gain of removing two or three causes together, where that is much more than that of removing the first alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations

from whyperf.explain.calibration.tables import GainClass, gain_classes
from whyperf.explain.explanation import JointGain, Value, Verdict
from whyperf.explain.limits.gain import UPPER_BOUNDS, WAITED, Gain
from whyperf.explain.limits.limit import PROBABLE, Limit
from whyperf.explain.wording.catalog import render

FAMILIES = {
    "line": ("full_link", "seen_link", "deliveries", "link", "emulated_path", "smaller_headers"),
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


JOINT_MORE = 1.5
"""Factor over the best single change that several changes must bring to be worth a sentence."""
MAX_CAUSES = 3

Together = Callable[[Sequence[Limit]], Gain | None]
"""The calibrated and bounded gain of removing these causes together."""


def joint_gains(
    found: Sequence[Limit], verdicts: Sequence[Verdict], together: Together, model: Together
) -> list[JointGain]:
    """The joint gains of the first verdicts, the smallest set of causes first; none where one change does most of it.

    Args:
        found: the limits of the verdicts, in their order.
        verdicts: with the gains of each alone.
        together: predicts a gain as it is printed, and `model` as the model of limits alone does.
    """
    first = [
        (limit, verdict)
        for limit, verdict in zip(found, verdicts, strict=True)
        if limit.gain is not None and limit.probability >= PROBABLE and limit.gain.basis.code not in UPPER_BOUNDS
    ][:MAX_CAUSES]
    made: list[JointGain] = []
    for number in range(2, len(first) + 1):
        for chosen in combinations(first, number):
            best = max([verdict.predicted_gain or 1.0 for _, verdict in chosen] + [gain.gain for gain in made])
            limits = [limit for limit, _ in chosen]
            gain, raw = together(limits), model(limits)
            if gain is None or raw is None or gain.ratio < JOINT_MORE * best or not has_next_limit(raw.basis.code):
                continue
            made.append(_joint(chosen, gain, raw))
    return made


def _joint(chosen: Sequence[tuple[Limit, Verdict]], gain: Gain, raw: Gain) -> JointGain:
    verdicts = [verdict for _, verdict in chosen]
    alone = verdicts[0].predicted_gain or 1.0
    changes = [verdict.change for verdict in verdicts if verdict.change is not None]
    can_set = len(changes) == len(verdicts) and all(change.factors for change in changes)
    factors = {name: level for change in changes for name, level in change.factors.items()} if can_set else {}
    values: dict[str, Value | None] = {
        "causes": [str(verdict.cause) for verdict in verdicts],
        "joint_times": gain.ratio,
        "low_times": gain.low,
        "high_times": gain.high,
        "alone_times": alone,
        "first": str(verdicts[0].cause),
    }
    return JointGain(
        causes=[verdict.cause for verdict in verdicts],
        alone=round(alone, 3),
        gain=round(gain.ratio, 3),
        low=round(gain.low, 3),
        high=round(gain.high, 3),
        model_gain=round(raw.ratio, 3),
        basis=raw.basis.code,
        factors=factors,
        words=render("joint", "both" if len(verdicts) == 2 else "all", values),
    )
