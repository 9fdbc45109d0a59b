"""Causes on the path: losses and order, rates and queues, the direction of the acknowledgments."""

from random import Random

from lab.disturb.disturbances import Firewall, Queue, Traffic
from lab.situations.causes.doses import rate_bps
from lab.situations.distributions import log_integer, log_uniform
from lab.situations.injecting import Dose, injected
from lab.situations.setting import Setting
from whyperf.profile import Factors

# Losses and order.


@injected("random_loss", "path", slot="loss")
def random_loss(rng: Random, setting: Setting) -> Dose:
    """Each packet alone, 0.05 to 3 %."""
    name = "path_loss" if setting.is_forward else "path_loss_back"
    return Dose({name: round(log_uniform(rng, 5e-4, 0.03), 5)})


@injected("burst_loss", "path", slot="loss")
def burst_loss(rng: Random, setting: Setting) -> Dose:
    """Bursts of two to twenty packets (Gilbert)."""
    name = "path_loss" if setting.is_forward else "path_loss_back"
    starts, ends = log_uniform(rng, 2e-4, 5e-3), log_uniform(rng, 0.05, 0.5)
    return Dose({name: f"bursts:{starts:.5f}/{ends:.3f}"})


@injected(
    "random_loss receiver_loss burst_loss",
    "path packets kernel_tcp",
    slot="loss",
    receiver_loss="The rule is in the receiving host: it drops what has arrived.",
    burst_loss="The rule drops some in a row.",
)
def periodic_loss(rng: Random, setting: Setting) -> Dose:
    """A device drops some in a row of each so many."""
    period, run = log_integer(rng, 100, 5000), log_integer(rng, 1, 8)
    rule = f"meta length > 500 numgen inc mod {period} < {run} drop"
    return Dose({}, (Firewall(host=setting.receiver, hook="input", rules=(rule,)),))


@injected(
    "policer receiver_loss",
    "path packets kernel_tcp bulk",
    slot="policer",
    receiver_loss="The rule is in the receiving host: it drops what has arrived.",
)
def policer_of_bytes(rng: Random, setting: Setting) -> Dose:
    """A bucket of bytes, 5 to 100 ms deep."""
    rate = max(20_000, rate_bps(rng, setting) // 8)
    burst = max(4000, round(rate * log_uniform(rng, 0.005, 0.1)))
    rule = f"limit rate over {rate // 1000 or 1} kbytes/second burst {burst} bytes drop"
    return Dose({}, (Firewall(host=setting.receiver, hook="input", rules=(rule,)),))


@injected(
    "policer receiver_loss",
    "path packets kernel_tcp bulk",
    slot="policer",
    receiver_loss="The rule is in the receiving host: it drops what has arrived.",
)
def policer_of_packets(rng: Random, setting: Setting) -> Dose:
    """A bucket of packets."""
    packets = max(20, round(rate_bps(rng, setting) / 8 / 1500))
    rule = f"meta length > 500 limit rate over {packets}/second burst {log_integer(rng, 5, 200)} packets drop"
    return Dose({}, (Firewall(host=setting.receiver, hook="input", rules=(rule,)),))


@injected("reordering", "path kernel_tcp forward", not_with="datagrams")
def reordering(rng: Random, _: Setting) -> Dose:
    """Packets that overtake others."""
    return Dose({"path_reorder": round(log_uniform(rng, 0.01, 0.3), 4)})


@injected("reordering random_loss", "path kernel_tcp forward", random_loss="A copy is counted as a loss that was none.")
def duplicates(rng: Random, _: Setting) -> Dose:
    """Packets that arrive twice, and fill the queue twice."""
    return Dose({"path_duplicate": round(log_uniform(rng, 0.05, 0.5), 3)})


@injected("reordering round_trip bottleneck", "path", round_trip="It delays.", bottleneck="Its delay is a queue's.")
def jitter(rng: Random, setting: Setting) -> Dose:
    """A delay that changes, without reordering."""
    return Dose({"path_jitter_us": max(100, round(setting.rtt_s * 1e6 * log_uniform(rng, 0.1, 0.48)))})


# The path's rate.


@injected("bottleneck", "path", slot="rate")
def slower_link(rng: Random, setting: Setting) -> Dose:
    """A link of a part of the rate."""
    name = "path_rate_bps" if setting.is_forward else "path_rate_back_bps"
    return Dose({name: max(100_000, round(setting.rate_bps * log_uniform(rng, 0.05, 0.9)))})


@injected("small_queue", "path kernel_tcp packets bulk drop_tail", slot="queue")
def small_queue(rng: Random, _: Setting) -> Dose:
    """A queue of two to nine packets."""
    return Dose({"path_queue": f"{log_integer(rng, 2, 9)}p"})


@injected(
    "local_queue bottleneck",
    "kernel_tcp",
    slot="rate",
    bottleneck="The shaper's queue is the bottleneck of the path, wherever it stands.",
)
def shaper(rng: Random, setting: Setting) -> Dose:
    """The sender's own token bucket."""
    rate = min(rate_bps(rng, setting), 4_000_000_000)
    limit = max(10_000, round(rate / 8 * log_uniform(rng, 0.005, 0.1)))
    discipline = f"tbf rate {rate}bit burst {max(5000, rate // 4000)}b limit {limit}b"
    return Dose({}, (Queue(host=setting.sender, discipline=discipline),))


@injected("local_queue", "kernel_tcp path packets", slot="own queue")
def short_own_queue(rng: Random, setting: Setting) -> Dose:
    """A device queue of a few packets in front of a shaper as fast as the path."""
    rate = round(setting.rate_bps)
    limit = 1514 * log_integer(rng, 2, 12)
    return Dose({}, (Queue(host=setting.sender, discipline=f"tbf rate {rate}bit burst 3028b limit {limit}b"),))


SHARED = "The link's queue is full: its rate is the limit of all together."


@injected("shared_bottleneck bottleneck", "path forward", not_with="datagrams", slot="others", bottleneck=SHARED)
def cross_traffic(rng: Random, setting: Setting) -> Dose:
    """Datagrams of others at the bottleneck, steady or as a sine."""
    share = rng.uniform(0.2, 0.9)
    swing = rng.choice((0.0, rng.uniform(0.3, 1.0)))
    mean = round(setting.rate_bps * share)
    amplitude = round(min(mean, setting.rate_bps - mean) * swing)
    factors: Factors = {"path_cross_rate_bps": mean}
    if amplitude:
        factors |= {"path_cross_amplitude_bps": amplitude, "path_cross_period_ms": log_integer(rng, 100, 1000)}
    return Dose(factors)


@injected("shared_bottleneck bottleneck", "path", not_with="datagrams", slot="others", bottleneck=SHARED)
def other_connections(rng: Random, setting: Setting) -> Dose:
    """Connections of another program, steady or in bursts."""
    traffic = Traffic(host=setting.sender, connections=log_integer(rng, 1, 8))
    bursts = {"after_s": 0.3, "for_s": 0.4, "every_s": 0.8}
    return Dose({}, (traffic.model_copy(update=rng.choice(({}, bursts))),))


@injected(
    "shared_bottleneck bottleneck local_queue",
    "path kernel_tcp bulk",
    slot="rate",
    bottleneck="The queue of the lower rate is full.",
    local_queue="The lower rate is that of the sender's own device.",
)
def rate_drops(rng: Random, setting: Setting) -> Dose:
    """The rate falls half-way through the transfer."""
    rate = max(50_000, round(setting.rate_bps * log_uniform(rng, 0.05, 0.5)))
    discipline = f"tbf rate {rate}bit burst {max(5000, rate // 4000)}b limit {max(15_000, rate // 80)}b"
    return Dose({}, (Queue(host=setting.sender, discipline=discipline, after_s=0.5),))


@injected(
    "burst_loss receiver_loss",
    "path kernel_tcp",
    receiver_loss="The rule is in the receiving host: it drops what has arrived.",
)
def outages(rng: Random, setting: Setting) -> Dose:
    """Nothing arrives for 50 to 400 ms, again and again."""
    for_s = round(log_uniform(rng, 0.05, 0.4), 2)
    rules = ("meta l4proto tcp drop",)
    return Dose(
        {}, (Firewall(host=setting.receiver, hook="input", rules=rules, after_s=0.3, for_s=for_s, every_s=0.9),)
    )


# The direction of the acknowledgments.


@injected("ack_path ack_thinning", "path kernel_tcp bulk", slot="acks", ack_thinning="The full queue loses ACKs.")
def slow_ack_path(rng: Random, setting: Setting) -> Dose:
    """A rate for ACKs of 0.03 % to 0.5 % of the payload's."""
    name = "path_rate_back_bps" if setting.is_forward else "path_rate_bps"
    return Dose({name: max(8000, round(setting.rate_bps * log_uniform(rng, 0.0003, 0.005)))})


@injected("ack_path ack_thinning", "path kernel_tcp bulk", slot="acks", ack_thinning="Lost ACKs are fewer ACKs.")
def lossy_ack_path(rng: Random, setting: Setting) -> Dose:
    """ACKs get lost."""
    name = "path_loss_back" if setting.is_forward else "path_loss"
    return Dose({name: round(log_uniform(rng, 0.1, 0.8), 3)})


@injected("ack_thinning ack_path", "path kernel_tcp bulk", slot="acks", ack_path="The return direction drops ACKs.")
def ack_thinning(rng: Random, setting: Setting) -> Dose:
    """One of so many ACKs passes."""
    if setting.is_forward:
        return Dose({"path_ack_thinning": log_integer(rng, 16, 500)})
    rule = f"meta length < 90 tcp flags & (syn | fin | rst) == 0 numgen inc mod {log_integer(rng, 16, 500)} != 0 drop"
    return Dose({}, (Firewall(host=setting.sender, hook="input", rules=(rule,)),))
