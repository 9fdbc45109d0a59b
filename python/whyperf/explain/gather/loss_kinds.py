"""Separates losses of a queue from random ones, and single random losses from those in bursts.

Both are decided by likelihood ratios, so that few losses show little, and how little they show is a figure.
"""

from collections.abc import Sequence

import numpy as np

from whyperf.explain.path_facts import LostRun

OVERRUN_POWER, STRAY_RATIO = 20.0, 0.1
"""Ranks of a queue's drops have the density of the highest of 20 segments drawn at random, 0.95 on average, as they
have in real logs; one in ten lies anywhere, for a host that was late makes the computed backlog wrong."""
MAX_SINGLE_RATIO = 0.5
"""With more segments lost than that no loss is a single one."""
_STEPS = 200


def loss_events(runs: Sequence[LostRun], span_ns: float) -> list[LostRun]:
    """The first run of each loss event; losses within a round trip are one to a congestion control (RFC 5348
    section 5.2).

    Args:
        runs: in the order of time.
        span_ns: a round trip.
    """
    found: list[LostRun] = []
    for run in runs:
        if not found or run.begin_ns - found[-1].begin_ns > span_ns:
            found.append(run)
    return found


def random_part(ranks: Sequence[float]) -> float | None:
    """The expected part of the loss events that came without regard to the backlog; None without any.

    Random losses have evenly spread ranks, those of a queue that overflows are at the top: this is the part of the
    first kind in such a mixture, with a uniform prior.
    """
    if not ranks:
        return None
    parts = (np.arange(_STEPS) + 0.5) / _STEPS
    likely = np.log(parts + (1 - parts) * _overrun_density(ranks)[:, None]).sum(axis=0)
    belief = np.exp(likely - likely.max())
    return float((parts * belief).sum() / belief.sum())


def random_weights(ranks: Sequence[float | None], part: float) -> list[float]:
    """Probability that each loss is random, where `part` of all is; 1 where no rank is known."""
    return [1.0 if rank is None else part / (part + (1 - part) * float(_overrun_density([rank])[0])) for rank in ranks]


def burst_likelihood_log10(
    sizes: Sequence[int], ranks: Sequence[float | None], random_ratio: float, lost_ratio: float
) -> float:
    """The decimal logarithm of the likelihood ratio of burst losses over independent losses; 0 is as likely.

    Each run is a queue's in both hypotheses, or random: a long one that a queue explains says nothing of the others.

    Args:
        sizes: lengths of runs.
        ranks: of the backlog before each; None where no line is known, and so no queue's.
        random_ratio: the part of the runs that is random.
        lost_ratio: the probability of a segment to be lost, if losses are independent.
    """
    alone = min(max(lost_ratio, 1e-9), MAX_SINGLE_RATIO)
    size = np.asarray(sizes, dtype=np.float64)
    known = np.asarray([rank is not None for rank in ranks], dtype=np.bool_)
    density = _overrun_density([0.0 if rank is None else rank for rank in ranks])
    # Bursts, and queues that run over, may lose few or many: half of them one segment, a sixth two, and so on.
    any_length = 1 / (size * (size + 1))
    of_queue = np.where(known, (1 - random_ratio) * density * any_length, 0.0)
    of_random = np.where(known, random_ratio, 1.0)
    # A run of independent losses goes on size - 1 times, and ends once.
    bursts, singles = of_random * any_length, of_random * (1 - alone) * alone ** (size - 1)
    return float(np.log10(np.maximum(bursts + of_queue, TINY) / np.maximum(singles + of_queue, TINY)).sum())


TINY = 1e-300
"""Keeps a run of a thousand segments from a likelihood of 0."""


def _overrun_density(ranks: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    top = OVERRUN_POWER * np.asarray(ranks, dtype=np.float64) ** (OVERRUN_POWER - 1)
    return np.asarray((1 - STRAY_RATIO) * top + STRAY_RATIO)
