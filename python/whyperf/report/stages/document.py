"""Processing times as JSON."""

from dataclasses import asdict
from typing import Any

from whyperf.analyze.stages import Amount, DirectionTotals, Messages, Split, StageTotal, TrialStages, Waterfall


def stages_json(found: TrialStages) -> dict[str, Any]:
    """All figures in ns; unknown values are null."""
    return {
        "trial": found.trial,
        "hosts": {
            host.host: {
                "role": host.role,
                **asdict(host.report),
                "gaps": dict(host.gaps),
                "tsc_hz": host.clock_hz,
                "copy_ns_per_byte": None if host.copies is None else _amount(host.copies.ns_per_byte),
                "copy_shown_by": None if host.copies is None else host.copies.shown_by,
            }
            for host in found.hosts
        },
        "directions": [_direction(total) for total in found.totals],
        "sizes": [
            {
                "host": point.host,
                "direction": point.direction,
                "packet_bytes": point.packet_bytes,
                "packets": point.packets,
                "cpu_ns": _amount(point.cpu_ns),
                "driver_ns": _amount(point.driver_ns),
            }
            for point in found.sizes
        ],
        "messages": [_messages(entry) for entry in found.messages],
        "waterfalls": [_waterfall(fall) for falls in found.waterfalls for fall in falls],
    }


def _direction(total: DirectionTotals) -> dict[str, Any]:
    return {
        "host": total.host,
        "direction": total.direction,
        "per": "packet",
        "packets": total.packets,
        "packet_bytes": total.packet_bytes,
        "segments": total.segments,
        "bytes": total.bytes,
        "cpu_ns": _amount(total.cpu_ns),
        "driver_ns": _amount(total.driver_ns),
        "driver_ratio": _amount(total.driver_ratio),
        "waiting_ns": _amount(total.waiting_ns),
        "missing": [stage.name for stage in total.missing],
        "stages": [_stage(stage) for stage in total.stages],
    }


def _stage(total: StageTotal) -> dict[str, Any]:
    fit, split = total.fit, total.split
    return {
        "stage": total.stage.name,
        "rows": total.rows,
        "cpu_ns": _amount(total.cpu_ns),
        "waiting_ns": _amount(total.waiting_ns),
        "cpu_ns_per_byte": total.cpu_ns_per_byte,
        "covered_ratio": total.covered_ratio,
        "complete": total.is_complete,
        "fit": None
        if fit is None
        else asdict(fit) | {"fixed_ns": _amount(fit.fixed_ns), "ns_per_byte": _amount(fit.ns_per_byte)},
        "split": {"fixed_ns": split.fixed_ns, "ns_per_byte": _amount(split.ns_per_byte)}
        if isinstance(split, Split)
        else None,
        "not_split": split if isinstance(split, str) else None,
    }


def _messages(found: Messages) -> dict[str, Any]:
    slowest = found.makes_slow
    return {
        "writer": found.lives.writer,
        "reader": found.lives.reader,
        "per": "message",
        "count": found.count,
        "message_bytes": found.message_bytes,
        "left_out": found.lives.unread,
        "arrived_early": found.lives.early,
        "mean_ns": found.mean_ns,
        "latency_ns": {name: _amount(amount) for name, amount in found.latency_ns.items()},
        "slow_count": found.slow,
        "makes_slow": None if slowest is None else slowest.stage.name,
        "stages": [
            {
                "stage": share.stage.name,
                "mean_ns": share.mean_ns,
                "p50_ns": share.p50_ns,
                "p90_ns": share.p90_ns,
                "p99_ns": share.p99_ns,
                "slow_ns": share.slow_ns,
                "excess_ns": share.excess_ns,
                "excess_ratio": None if share.excess_ratio is None else _amount(share.excess_ratio),
            }
            for share in found.stages
        ],
    }


def _waterfall(fall: Waterfall) -> dict[str, Any]:
    return {
        "which": fall.which,
        "connection": fall.connection,
        "message_bytes": fall.message_bytes,
        "latency_ns": fall.latency_ns,
        "spans": [
            {
                "stage": span.stage.name,
                "side": span.side,
                "start_ns": span.start_ns,
                "end_ns": span.end_ns,
                "cpu_ns": span.cpu_ns,
                "bytes": span.bytes,
            }
            for span in fall.spans
        ],
    }


def _amount(amount: Amount) -> dict[str, float | None]:
    return {"value": amount.value, "low": amount.low, "high": amount.high}
