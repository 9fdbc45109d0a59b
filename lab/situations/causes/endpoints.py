"""Causes at the two ends of a connection: windows and buffers, the application, segments and offloads."""

from random import Random

from lab.disturb.disturbances import Classifiers, MemoryLimit, Sysctl
from lab.situations.causes.doses import buffer_bytes, part_of
from lab.situations.distributions import log_integer, log_uniform
from lab.situations.injecting import Dose, injected
from lab.situations.setting import Setting

# Windows and buffers.


@injected("receive_buffer", "kernel_tcp", slot="receive window")
def receive_buffer_option(rng: Random, setting: Setting) -> Dose:
    """SO_RCVBUF of the reader."""
    return Dose({"receive_buffer_bytes": buffer_bytes(rng, setting)})


@injected("receive_buffer", "kernel_tcp", slot="receive window")
def receive_buffer_sysctl(rng: Random, setting: Setting) -> Dose:
    """tcp_rmem of the reading host: half of it is window."""
    size = buffer_bytes(rng, setting)
    return Dose({}, (Sysctl(host=setting.receiver, settings={"net.ipv4.tcp_rmem": f"4096 {size} {2 * size}"}),))


@injected("receive_buffer", "quic", slot="receive window")
def receive_window_of_quic(rng: Random, setting: Setting) -> Dose:
    """The flow control of QUIC."""
    return Dose({"receive_buffer_bytes": buffer_bytes(rng, setting)})


@injected(
    "receive_buffer send_buffer",
    "kernel_tcp bulk",
    slot="receive window",
    send_buffer="The option sets the buffer of the sender, too.",
)
def window_clamped(rng: Random, setting: Setting) -> Dose:
    """The window of both sides."""
    return Dose({"window_bytes": buffer_bytes(rng, setting)})


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
    return Dose({"send_buffer_bytes": buffer_bytes(rng, setting)})


@injected("send_buffer", "kernel_tcp", slot="send buffer")
def send_buffer_sysctl(rng: Random, setting: Setting) -> Dose:
    """tcp_wmem of the writing host."""
    size = max(4608, buffer_bytes(rng, setting))
    return Dose({}, (Sysctl(host=setting.sender, settings={"net.ipv4.tcp_wmem": f"4096 4096 {size}"}),))


@injected("memory_limit", "kernel_tcp")
def memory_limit(rng: Random, setting: Setting) -> Dose:
    """The control group's memory for sockets."""
    size = max(16_384, round(buffer_bytes(rng, setting) * setting.connections))
    return Dose({}, (MemoryLimit(host=rng.choice((setting.sender, setting.receiver)), tcp_bytes=size),))


@injected("receive_buffer receiver_loss", "datagrams", receiver_loss="The full buffer drops what arrives.")
def small_udp_buffer(rng: Random, _: Setting) -> Dose:
    """A receive buffer for a few datagrams."""
    return Dose({"receive_buffer_bytes": log_integer(rng, 2304, 5000)})


# The application.


@injected("slow_reader", "reads", slot="think")
def slow_reader(rng: Random, setting: Setting) -> Dose:
    """Pauses, or computing, after each piece."""
    also = {"receiver_cpu": "It reads late because it computes."} if "computes" in setting.traits else {}
    return Dose({"think_us": _think_us(rng, setting)}, also=also)


@injected("slow_writer", "writes", slot="think")
def slow_writer(rng: Random, setting: Setting) -> Dose:
    """The same of a writer."""
    also = {"sender_cpu": "It writes late because it computes."} if "computes" in setting.traits else {}
    return Dose({"think_us": _think_us(rng, setting)}, also=also)


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
    return Dose({"request_size_bytes": max(1000, round(setting.share_bytes * part_of(rng)))})


@injected("connection_setup", "connects")
def a_connection_each(_: Random, __: Setting) -> Dose:
    """A connection for each request."""
    return Dose({"workload": "crr"})


@injected("asked_rate", "bulk", not_with="reads writes udt srt quic", slot="pace")
def asked_rate(rng: Random, setting: Setting) -> Dose:
    """The application writes at a rate."""
    rate = min(setting.rate_bps, 4e9) * part_of(rng) / setting.connections
    return Dose({"write_rate_bps": max(10_000, round(rate))})


@injected("pacing_rate asked_rate", "kernel_tcp bulk", slot="pace", asked_rate="The user asked for this rate.")
def pacing(rng: Random, setting: Setting) -> Dose:
    """SO_MAX_PACING_RATE."""
    rate = min(setting.rate_bps, 4e9) * part_of(rng) / setting.connections
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
