"""Causes at the processors of a side."""

from random import Random

from lab.disturb.disturbances import Burn, CpuQuota, Pause
from lab.situations.distributions import log_integer, log_uniform
from lab.situations.injecting import Dose, injected
from lab.situations.setting import Setting

# CPUs.


@injected("cpu_quota", "", slot="cpu")
def cpu_quota(rng: Random, setting: Setting) -> Dose:
    """CFS bandwidth control."""
    cpus = round(log_uniform(rng, 0.02, 0.6) if "lan" in setting.traits else log_uniform(rng, 0.01, 0.1), 3)
    side = rng.choice((setting.sender, setting.receiver))
    return Dose({}, (CpuQuota(host=side, cpus=cpus, period_ms=rng.choice((10, 100, 200))),))


@injected("other_load", "lan", slot="cpu")
def other_programs(rng: Random, setting: Setting) -> Dose:
    """Programs that compute on the CPUs of a side: all the time, from half-way on, or again and again."""
    timings: tuple[dict[str, float], ...] = ({}, {"after_s": 0.5}, {"after_s": 0.2, "for_s": 0.3, "every_s": 0.5})
    burn = Burn(host=rng.choice((setting.sender, setting.receiver)), programs=log_integer(rng, 1, 6))
    return Dose({}, (burn.model_copy(update=rng.choice(timings)),))


@injected("pause", "", slot="stopped")
def stopped_process(rng: Random, setting: Setting) -> Dose:
    """A side is stopped again and again."""
    for_s = round(log_uniform(rng, 0.05, 0.4), 2)
    side = rng.choice((setting.sender, setting.receiver))
    return Dose({}, (Pause(host=side, after_s=0.2, for_s=for_s, every_s=round(for_s * rng.uniform(1.5, 3), 2)),))


@injected(
    "shared_cpu receiver_cpu sender_cpu",
    "lan bulk kernel_tcp",
    slot="cpu",
    receiver_cpu="The shared CPU is the receiver's, too.",
    sender_cpu="The shared CPU is the sender's, too.",
)
def shared_cpu(_: Random, __: Setting) -> Dose:
    """Both sides on CPU 0."""
    return Dose({"near_cpus": "0", "far_cpus": "0"})


@injected(
    "quick_ack receiver_cpu sender_cpu",
    "lan bulk kernel_tcp",
    receiver_cpu="An ACK for each segment is the receiver's work.",
    sender_cpu="Each ACK is work of the sender.",
)
def quick_ack(_: Random, __: Setting) -> Dose:
    """An acknowledgment for each segment."""
    return Dose({"quick_ack": True})
