"""From a cell's factors to the emulated path (PathSpec in crates/schema/src/path.rs)."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from whyperf.plan import PlannedFlow
from whyperf.profile.path import has_path, one_way_ms, queue_bytes, rates_bps, red_thresholds_bytes
from whyperf.profile.path_levels import loss_of, queue_of
from whyperf.run.ends import NEAR
from whyperf.run.spec import roles
from whyperf.wire import CrossTraffic, DirectionSpec, Discipline, LossSpec, PathSpec, QueueLimit, QueueSpec

NS_PER_US = 1000
NS_PER_MS = 1_000_000
BILLION = 1_000_000_000
#: Length of the intervals of the table `path`.
INTERVAL_NS = 10 * NS_PER_MS
#: RED's weight: 2 to the power of minus this is the paper's 0.002.
RED_WEIGHT_LOG = 9


def path_spec(factors: Mapping[str, Any], seed: int, schedule: Sequence[PlannedFlow] = ()) -> PathSpec | None:
    """The path of a cell; None when it has none.

    Forward in the factors is the way of the payload, forward in the spec that from near to far. `seed` is that of
    everything random in the path.
    """
    if not has_path(factors):
        return None
    payload, reverse = _directions(factors)
    is_received = roles(factors, schedule)[NEAR] == "receiver"
    forward, backward = (reverse, payload) if is_received else (payload, reverse)
    return {
        "implementation": factors["path_implementation"],
        "seed": seed,
        "forward": forward,
        "backward": backward,
        "interval_ns": INTERVAL_NS,
    }


def path_seed(trial: str, seed: int) -> int:
    """The seed of a trial's path, from the plan's: 63 bits, which every reader of JSON keeps."""
    digest = hashlib.sha256(f"path of {trial}, seed {seed}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _directions(factors: Mapping[str, Any]) -> tuple[DirectionSpec, DirectionSpec]:
    """The payload's direction, and the other one."""
    delays_ms, rates = one_way_ms(factors), rates_bps(factors)
    jitter_ns = factors["path_jitter_us"] * NS_PER_US
    payload: DirectionSpec = {
        "jitter_ns": jitter_ns,
        "rate_bps": rates[0],
        "delay_ns": round(delays_ms[0] * NS_PER_MS),
        "queue": _queue(factors, rates[0]),
        "loss": _loss(factors["path_loss"]),
        "reorder_per_billion": _per_billion(factors["path_reorder"]),
        "duplicate_per_billion": _per_billion(factors["path_duplicate"]),
        "ack_thinning": 1,
        "cross_traffic": _cross_traffic(factors),
    }
    reverse: DirectionSpec = {
        "jitter_ns": jitter_ns,
        "rate_bps": rates[1],
        "delay_ns": round(delays_ms[1] * NS_PER_MS),
        "queue": _queue(factors, rates[1]),
        "loss": _loss(factors["path_loss_back"]),
        "reorder_per_billion": 0,
        "duplicate_per_billion": 0,
        "ack_thinning": factors["path_ack_thinning"],
        "cross_traffic": [],
    }
    return payload, reverse


def _queue(factors: Mapping[str, Any], rate_bps: int | None) -> QueueSpec:
    if rate_bps is None:
        return {"limit": {"by": "bandwidth_delay_product"}, "discipline": {"name": "drop_tail"}, "ecn": False}
    queue = queue_of(factors["path_queue"])
    assert queue is not None, "the level was checked"
    if queue.packets is not None:
        limit: QueueLimit = {"by": "packets", "packets": queue.packets}
    elif queue.products == 1 and sum(one_way_ms(factors)) > 0:
        limit = {"by": "bandwidth_delay_product"}
    else:
        limit = {"by": "bytes", "bytes": queue_bytes(factors, rate_bps)}
    return {"limit": limit, "discipline": _discipline(factors, rate_bps), "ecn": factors.get("path_ecn", False)}


def _discipline(factors: Mapping[str, Any], rate_bps: int) -> Discipline:
    match factors["path_discipline"]:
        case "codel":
            return {
                "name": "codel",
                "target_ns": round(factors["path_codel_target_ms"] * NS_PER_MS),
                "interval_ns": round(factors["path_codel_interval_ms"] * NS_PER_MS),
            }
        case "red":
            low, high = red_thresholds_bytes(factors, rate_bps)
            return {
                "name": "red",
                "min_bytes": low,
                "max_bytes": high,
                "probability_per_billion": _per_billion(factors["path_red_probability"]),
                "weight_log": RED_WEIGHT_LOG,
                "is_gentle": factors["path_red_gentle"],
            }
    return {"name": "drop_tail"}


def _loss(level: object) -> LossSpec:
    loss = loss_of(level)
    if loss is None or loss.share == 0:
        return {"by": "none"}
    if loss.segments is not None:
        return {"by": "scripted", "segments": list(loss.segments)}
    if loss.bursts is not None:
        p, r, bad, good = map(_per_billion, loss.bursts)
        return {
            "by": "gilbert_elliott",
            "good_to_bad_per_billion": p,
            "bad_to_good_per_billion": r,
            "bad_loss_per_billion": bad,
            "good_loss_per_billion": good,
        }
    assert loss.share is not None
    return {"by": "random", "probability_per_billion": _per_billion(loss.share)}


def _cross_traffic(factors: Mapping[str, Any]) -> list[CrossTraffic]:
    rate_bps = factors.get("path_cross_rate_bps", 0)
    if not rate_bps:
        return []
    swing_bps = factors["path_cross_amplitude_bps"]
    return [
        {
            "rate_bps": rate_bps,
            "amplitude_bps": swing_bps,
            "period_ns": round(factors["path_cross_period_ms"] * NS_PER_MS) if swing_bps else 0,
            "packet_bytes": factors["path_cross_packet_bytes"],
        }
    ]


def _per_billion(share: float) -> int:
    return round(share * BILLION)
