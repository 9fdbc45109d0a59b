"""Gain of removing two or three causes together, where that is much more than that of removing the first alone."""

from collections.abc import Callable, Sequence
from itertools import combinations

from whyperf.explain.explanation import JointGain, Value, Verdict
from whyperf.explain.limits.gain import UPPER_BOUNDS, Gain
from whyperf.explain.limits.intervals import has_next_limit
from whyperf.explain.limits.limit import PROBABLE, Limit
from whyperf.explain.wording.catalog import render

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
