"""What can be injected, with its doses: each entry is a cause that a removal can be measured of.

A dose is drawn so that the cause often limits, and sometimes does not: most are a part of what the path carries, from
4 % to 80 % of it. Whether it limits is measured, not assumed.
"""

from random import Random

from lab.disturb.model import (
    Burn,
    Classifiers,
    CpuQuota,
    Firewall,
    MemoryLimit,
    Pause,
    Queue,
    Route,
    Sysctl,
    Traffic,
)
from lab.situations.distributions import log_integer, log_uniform
from lab.situations.injecting import Dose, injected, registered
from lab.situations.setting import Setting
from whyperf.disturb.model import Side
from whyperf.profile import Factors

PARTS = (0.04, 0.8)
"""A dose as a part of what the path carries, or of what fills it."""


def _part(rng: Random) -> float:
    return log_uniform(rng, *PARTS)


def _bytes(rng: Random, setting: Setting) -> int:
    """A buffer that holds a part of a connection's share of the path, in the kernel's least steps."""
    return max(4096, round(setting.share_bytes * _part(rng)))


def _rate(rng: Random, setting: Setting) -> int:
    return max(50_000, round(setting.rate_bps * _part(rng)))


def _other(side: Side) -> Side:
    return "near" if side == "far" else "far"


# Windows and buffers.


@injected("receive_buffer", "kernel_tcp", slot="receive window")
def receive_buffer_option(rng: Random, setting: Setting) -> Dose:
    """SO_RCVBUF of the reader."""
    return Dose({"receive_buffer_bytes": _bytes(rng, setting)})


@injected("receive_buffer", "kernel_tcp", slot="receive window")
def receive_buffer_sysctl(rng: Random, setting: Setting) -> Dose:
    """tcp_rmem of the reading host: half of it is window."""
    size = _bytes(rng, setting)
    return Dose({}, (Sysctl(host=setting.receiver, settings={"net.ipv4.tcp_rmem": f"4096 {size} {2 * size}"}),))


@injected("receive_buffer", "quic", slot="receive window")
def receive_window_of_quic(rng: Random, setting: Setting) -> Dose:
    """The flow control of QUIC."""
    return Dose({"receive_buffer_bytes": _bytes(rng, setting)})


@injected(
    "receive_buffer send_buffer",
    "kernel_tcp bulk",
    slot="receive window",
    send_buffer="The option sets the buffer of the sender, too.",
)
def window_clamped(rng: Random, setting: Setting) -> Dose:
    """The window of both sides."""
    return Dose({"window_bytes": _bytes(rng, setting)})


@injected("window_scaling receive_buffer", "kernel_tcp path bulk long", receive_buffer="The window is at its end.")
def window_scaling_off(_: Random, setting: Setting) -> Dose:
    """No window above 65,535 bytes."""
    return Dose({}, (Sysctl(host=setting.receiver, settings={"net.ipv4.tcp_window_scaling": "0"}),))


@injected("window_scaling receive_buffer", "kernel_tcp path bulk long", receive_buffer="The window is at its end.")
def syn_cookies(_: Random, __: Setting) -> Dose:
    """Cookies without time stamps lose the scale and SACK (net/ipv4/syncookies.c)."""
    settings = {"net.ipv4.tcp_syncookies": "2", "net.ipv4.tcp_timestamps": "0"}
    return Dose({}, (Sysctl(host="far", settings=settings),))


@injected("send_buffer", "kernel_tcp", slot="send buffer")
def send_buffer_option(rng: Random, setting: Setting) -> Dose:
    """SO_SNDBUF of the writer."""
    return Dose({"send_buffer_bytes": _bytes(rng, setting)})


@injected("send_buffer", "kernel_tcp", slot="send buffer")
def send_buffer_sysctl(rng: Random, setting: Setting) -> Dose:
    """tcp_wmem of the writing host."""
    size = max(4608, _bytes(rng, setting))
    return Dose({}, (Sysctl(host=setting.sender, settings={"net.ipv4.tcp_wmem": f"4096 4096 {size}"}),))


@injected("memory_limit", "kernel_tcp")
def memory_limit(rng: Random, setting: Setting) -> Dose:
    """The control group's memory for sockets."""
    size = max(16_384, round(_bytes(rng, setting) * setting.connections))
    return Dose({}, (MemoryLimit(host=rng.choice((setting.sender, setting.receiver)), tcp_bytes=size),))


@injected("receive_buffer receiver_loss", "datagrams", receiver_loss="The full buffer drops what arrives.")
def small_udp_buffer(rng: Random, _: Setting) -> Dose:
    """A receive buffer for a few datagrams."""
    return Dose({"receive_buffer_bytes": log_integer(rng, 2304, 5000)})


# The application.


@injected("slow_reader", "reads", slot="think")
def slow_reader(rng: Random, setting: Setting) -> Dose:
    """Pauses, or computing, after each piece."""
    return Dose({"think_us": _think_us(rng, setting)})


@injected("slow_writer", "writes", slot="think")
def slow_writer(rng: Random, setting: Setting) -> Dose:
    """The same of a writer."""
    return Dose({"think_us": _think_us(rng, setting)})


@injected("think_time", "thinks", slot="think")
def think_time(rng: Random, setting: Setting) -> Dose:
    """A user, or another program, between an answer and the next request."""
    return Dose({"think_us": _think_us(rng, setting)})


def _think_us(rng: Random, setting: Setting) -> int:
    """A pause that is 10 % to ten times of what a piece takes on the path."""
    piece = max(int(setting.factors.get(name, 1) or 1) for name in ("request_size_bytes", "response_size_bytes"))
    takes_s = 8 * piece / setting.rate_bps + (setting.rtt_s if "exchange" in setting.traits else 0)
    return min(400_000, max(20, round(1e6 * takes_s * log_uniform(rng, 0.1, 10))))


@injected(
    "tiny_writes sender_cpu",
    "bulk lan",
    not_with="udt srt quic reads",
    slot="writes",
    sender_cpu="What small writes cost is CPU time of the sender: its calls.",
)
def small_writes(rng: Random, _: Setting) -> Dose:
    """Writes of 64 bytes to 16 KB at full speed."""
    return Dose({"write_size_bytes": log_integer(rng, 64, 16_384)})


@injected(
    "read_size receiver_cpu",
    "bulk lan",
    not_with="udt srt quic writes",
    slot="reads",
    receiver_cpu="What small reads cost is CPU time of the receiver: its calls.",
)
def small_reads(rng: Random, _: Setting) -> Dose:
    """Reads of 64 bytes to 4 KB at full speed."""
    return Dose({"read_size_bytes": log_integer(rng, 64, 4096)})


@injected("nagle_delayed_ack", "pieces")
def nagle(_: Random, __: Setting) -> Dose:
    """The second write waits for the delayed ACK of the first (RFC 896, RFC 1122)."""
    return Dose({"no_delay": False})


@injected("think_time round_trip", "credit", round_trip="The credit allows one window in a round trip.")
def application_window(rng: Random, setting: Setting) -> Dose:
    """A credit protocol over TCP: the sender waits for an answer after each window of its own."""
    return Dose({"request_size_bytes": max(1000, round(setting.share_bytes * _part(rng)))})


@injected("connection_setup", "connects")
def a_connection_each(_: Random, __: Setting) -> Dose:
    """A connection for each request."""
    return Dose({"workload": "crr"})


@injected("asked_rate", "bulk", not_with="reads writes udt srt quic", slot="pace")
def asked_rate(rng: Random, setting: Setting) -> Dose:
    """The application writes at a rate."""
    rate = min(setting.rate_bps, 4e9) * _part(rng) / setting.connections
    return Dose({"write_rate_bps": max(10_000, round(rate))})


@injected("pacing_rate asked_rate", "kernel_tcp bulk", slot="pace", asked_rate="The user asked for this rate.")
def pacing(rng: Random, setting: Setting) -> Dose:
    """SO_MAX_PACING_RATE."""
    rate = min(setting.rate_bps, 4e9) * _part(rng) / setting.connections
    return Dose({"pacing_rate_bps": max(10_000, round(rate))})


# Segments and offloads.


@injected("small_mtu", "kernel_tcp packets", not_with="exchange", slot="mss")
def small_segments(rng: Random, _: Setting) -> Dose:
    """TCP_MAXSEG: more packets for the same payload, and more headers."""
    return Dose({"mss_bytes": log_integer(rng, 88, 600)})


@injected(
    "small_mtu offloads_off", "kernel_tcp lan bulk ipv4", slot="mss", offloads_off="With them an MTU costs little."
)
def small_mtu(rng: Random, _: Setting) -> Dose:
    """Packets of 300 to 900 bytes, each through both stacks."""
    return Dose({"mtu_bytes": log_integer(rng, 300, 900), "tso": False, "gso": False, "gro": False})


@injected("offloads_off", "kernel_tcp lan bulk", slot="mss")
def offloads_off(_: Random, __: Setting) -> Dose:
    """Each packet passes both stacks by itself."""
    return Dose({"tso": False, "gso": False, "gro": False})


@injected(
    "packet_filters receiver_cpu offloads_off",
    "lan bulk kernel_tcp",
    receiver_cpu="Rules cost CPU time of the receiver.",
    offloads_off="Without them each packet passes the rules.",
)
def firewall_rules(rng: Random, _: Setting) -> Dose:
    """Rules that match nothing, for each packet."""
    rules = log_integer(rng, 50, 2000)
    return Dose({"firewall_rules": rules, "tso": False, "gso": False, "gro": False})


@injected(
    "other_bpf packet_filters receiver_cpu offloads_off",
    "lan bulk kernel_tcp",
    packet_filters="The programs look at each packet as filters do.",
    receiver_cpu="They cost CPU time of the receiver.",
    offloads_off="Without them each packet passes the programs.",
)
def foreign_bpf(rng: Random, setting: Setting) -> Dose:
    """BPF programs of another product at the receiving device."""
    programs = Classifiers(host=setting.receiver, programs=log_integer(rng, 1, 30))
    return Dose({"tso": False, "gso": False, "gro": False}, (programs,))


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
    rate = max(20_000, _rate(rng, setting) // 8)
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
    packets = max(20, round(_rate(rng, setting) / 8 / 1500))
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
    rate = min(_rate(rng, setting), 4_000_000_000)
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


# Opening connections.


@injected("connection_setup", "reconnects path", slot="syn")
def lost_syns(rng: Random, _: Setting) -> Dose:
    """Some SYNs get lost: each costs a second (RFC 6298)."""
    rule = f"tcp flags & (syn | ack) == syn numgen random mod 100 < {log_integer(rng, 3, 40)} drop"
    return Dose({}, (Firewall(host="far", hook="input", rules=(rule,)),))


@injected("connection_setup", "reconnects many", slot="syn")
def full_accept_queue(rng: Random, _: Setting) -> Dose:
    """A listener with room for one or two."""
    return Dose({}, (Sysctl(host="far", settings={"net.core.somaxconn": str(rng.choice((1, 2)))}),))


@injected(
    "slow_start connection_setup round_trip",
    "reconnects path ipv4",
    connection_setup="Kept connections would have a window that has grown.",
    round_trip="A small first window costs round trips.",
)
def initial_window(rng: Random, setting: Setting) -> Dose:
    """Fewer segments in the first round trip than RFC 6928 allows."""
    return Dose({}, (Route(host=setting.sender, options=f"initcwnd {log_integer(rng, 1, 6)}"),))


CAUSES = registered()
"""All of them, in the order of this file."""
