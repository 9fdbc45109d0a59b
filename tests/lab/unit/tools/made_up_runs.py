"""Runs of tools that are made up: so many bit/s, in blocks of different speed."""

from lab.tools.tool_runs import OWN, Load, Progress, Reported, Run, SideUse

LOAD = Load(workload="stream", connections=1, warmup_s=1, duration_s=2)


def run(tool: str, block: int, window: float, *, counted: float = 1.0, cpu: float = 1.0, **of: object) -> Run:
    """A run of so many bit/s in the window; `counted` times that are reported."""
    use = SideUse(user_s=0.1 * cpu, system_s=0.9 * cpu, calls_count=1000, calls_bytes=16_384_000, threads=1)
    progress = Progress(payload_bytes=1 << 30, seconds=3, whole_bps=window, window_bps=window, first_bps=window / 2)
    reported = Reported(rate=window * counted, counted_by="receiver", payload_bytes=1 << 30, seconds=3, version="1")
    return Run.model_validate(
        {"tool": tool, "block": block, "reported": reported, "progress": progress, "sender": use, "receiver": use, **of}
    )


NOISE = (1.0, 1.02, 0.99, 1.01, 0.98)


def blocks(tool: str, window: float, first: int = 1, **of: object) -> list[Run]:
    """Runs in five blocks, the speed of which all loads of a block share but for a little noise."""
    counted, cpu = of.pop("counted", 1.0), of.pop("cpu", 1.0)
    assert isinstance(counted, float)
    assert isinstance(cpu, float)
    return [
        run(tool, first + number, window * noise * (1 + number), counted=counted, cpu=cpu * noise, **of)
        for number, noise in enumerate(NOISE if tool == OWN and not of else reversed(NOISE))
    ]
