"""What flows that come and go did, in a few lines."""

from collections.abc import Iterator

from whyperf.analyze.quantity import percent, seconds, si, significant
from whyperf.analyze.transports.result import Duration, Transports


def scheduled_lines(result: Transports) -> Iterator[tuple[str, str]]:
    """Name and text of each line; none of what no trial has."""
    protocols = " and ".join(dict.fromkeys(flow.protocol for flow in result.flows))
    yield "Schedule", f"{result.schedule}: {len(result.flows)} flows of {protocols} in {len(result.regions)} regions"
    regions = [region for region in result.regions if region.flows and region.goodput_bps.median is not None]
    yield (
        "Regions",
        "; ".join(f"{len(region.flows)}: {si(region.goodput_bps.median or 0.0, 'bit/s')}" for region in regions),
    )
    steady = [] if result.stability.median is None else [f"S {result.stability.median:.3f}"]
    if result.fairness_min.median is not None:
        steady.append(f"F {result.fairness_min.median:.3f} at least")
    if steady:
        yield "Steadiness", ", ".join(steady)
    if result.rtt.mean_s.median is not None:
        inflation = result.rtt.inflation_ratio.median
        times = "" if inflation is None else f", {significant(inflation)} times the smallest"
        how = "" if result.rtt_source == "probe" else " (smoothed by the senders)"
        yield "Round trips", f"{seconds(result.rtt.mean_s.median * 1e9)} on average{times}{how}"
    adapting = {"recovery": result.recovery, "convergence": result.convergence, "slack": result.slack}
    told = [f"{name} {_duration(found)}" for name, found in adapting.items() if found.count]
    if told:
        yield "Adapting", ", ".join(told)
    for harm in result.harm:
        if harm.goodput_ratio.median is not None:
            name = result.flows[harm.flow].name
            yield (
                "Harm",
                f"{harm.by} took {percent(harm.goodput_ratio.median)} of the goodput of {name} ({harm.protocol})",
            )


def _duration(found: Duration) -> str:
    if found.median_s is None:
        return "longer than could be seen"
    return f"{significant(found.median_s)} s"
