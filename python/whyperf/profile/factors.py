"""The factors: one flat table from which validation, `--only`, help and documents are made.

The names are the keys of a profile, of a plan's cells and of the result JSON. A factor whose level
is a `word` leaves the choice to the kernel (`default`) or to the controller (`auto`, `any`).
"""

from whyperf.profile.errors import ProfileError, suggestion
from whyperf.profile.factor import LARGEST_BYTES, LARGEST_WINDOW_BYTES, Factor, Kind, Level
from whyperf.profile.path_factors import PATH_FACTORS

__all__ = ["BY_NAME", "FACTORS", "LISTED_BY", "Factor", "Kind", "Level", "factor_named"]

#: The command that lists the factors: too many for a message.
LISTED_BY = "whyperf list --factors"

#: The lines that crates/sim knows by name (link/media.rs).
LINKS_OF_MODEL = (
    "ethernet-10M",
    "ethernet-100M",
    "ethernet-1G",
    "ethernet-2.5G",
    "ethernet-10G",
    "ethernet-25G",
    "ethernet-40G",
    "ethernet-100G",
    "atm-25",
    "atm-taxi-100",
    "atm-taxi-140",
    "atm-oc3",
    "atm-oc12",
)

#: More than that take longer to set than a trial; a keeper of disturbances takes no more (disturb/orders.py).
MAX_FIREWALL_RULES = 10_000

FACTORS: tuple[Factor, ...] = (
    Factor(
        "hosts", "hosts", "none", "",
        "Hosts of the model (whyperf model simulate): one for both sides, or the writer and the reader.",
        keywords=("none",), model=True, later=True,
    ),
    Factor(
        "link", "choice", "default", "",
        "Link between the hosts of the model; default: what their adapters are made for.",
        choices=("default", *LINKS_OF_MODEL), model=True, later=True,
    ),
    Factor(
        "adapters", "int", 1, "",
        "Adapters of each host of the model, each with a link of its own; connections take turns on them.",
        low=1, high=16, model=True, later=True,
    ),
    Factor(
        "bus_bytes_per_s", "int", "none", "B/s",
        "Rate of the bus that the adapters of a host of the model share; none: no limit.",
        low=1, high=10**12, keywords=("none",), model=True, later=True,
    ),
    Factor(
        "duplex", "choice", "full", "",
        "Link of the model: both directions at once (full), or one at a time (half).",
        choices=("full", "half"), model=True, later=True,
    ),
    Factor(
        "maxpsz_multiplier", "int", "default", "segments",
        "Segments' worth of a write that Solaris copies at once (tcp_maxpsz_multiplier); default: the host's.",
        low=1, high=100, keywords=("default",), model=True, later=True,
    ),
    Factor(
        "copy_limit_bytes", "int", "default", "bytes",
        "Most of a write that the socket layer copies before it calls TCP, on hosts of the model with SunOS; default: "
        "4096.",
        low=1, high=LARGEST_WINDOW_BYTES, keywords=("default",), model=True, later=True,
    ),
    Factor(
        "window_bytes", "int", "default", "bytes",
        "Window: buffer and window clamp at the receiver, buffer at the sender.",
        low=1, high=LARGEST_WINDOW_BYTES, keywords=("default",),
    ),
    Factor(
        "send_buffer_bytes", "int", "default", "bytes",
        "Send buffer at the sender; overrides the window's.",
        low=1, high=LARGEST_WINDOW_BYTES, keywords=("default",),
    ),
    Factor(
        "receive_buffer_bytes", "int", "default", "bytes",
        "Receive buffer at the receiver; overrides the window's.",
        low=1, high=LARGEST_WINDOW_BYTES, keywords=("default",),
    ),
    Factor(
        "workload", "workload", "stream", "",
        "What the application does: a shipped workload (whyperf list --workloads), or the profile's own.",
        later=True,
    ),
    Factor(
        "transport", "choice", "tcp", "",
        "Transport of the connections; unix: both sides on one host; udt, quic, srt: by a library; tls: TLS over TCP; "
        "sctp: needs the kernel's module.",
        choices=("tcp", "mptcp", "udp", "unix", "udt", "quic", "srt", "tls", "sctp"), later=True,
    ),
    Factor(
        "io_model", "choice", "auto", "",
        "How threads wait for their connections; auto: blocking for a stream and up to 4 connections, else epoll.",
        choices=("auto", "blocking", "epoll", "io_uring"), later=True,
    ),
    Factor(
        "threads", "int", "auto", "threads",
        "Threads on each side for all connections (epoll, io_uring); auto: one for each CPU it may use.",
        low=1, high=1024, keywords=("auto",), later=True,
    ),
    Factor(
        "write_size_bytes", "int", 131072, "bytes", "Bytes a send call asks for.",
        low=1, high=LARGEST_WINDOW_BYTES, scope="workload",
    ),
    Factor(
        "read_size_bytes", "int", 131072, "bytes", "Bytes a receive call asks for.",
        low=1, high=LARGEST_WINDOW_BYTES, scope="stream",
    ),
    Factor(
        "read_wait", "choice", "poll", "",
        "How the receiver waits: poll(2) before each read (with 64 or more connections not if data already waits), "
        "or block inside the read as ttcp does.",
        choices=("poll", "block"),
    ),
    Factor(
        "reply_size_bytes", "int", 0, "bytes",
        "Reply to every write, which the sender waits for; 0: none, the payload is a stream.",
        low=0, high=LARGEST_WINDOW_BYTES,
    ),
    Factor(
        "write_rate_bps", "int", "default", "bit/s",
        "Rate at which each connection's application writes; default: as fast as it can.",
        low=8, high=10**13, keywords=("default",),
    ),
    Factor(
        "request_size_bytes", "int", 1, "bytes", "Request: what the near side sends in a transaction.",
        low=1, high=LARGEST_WINDOW_BYTES, scope="workload",
    ),
    Factor(
        "response_size_bytes", "int", 1, "bytes", "Response: what the far side answers.",
        low=1, high=LARGEST_WINDOW_BYTES, scope="workload",
    ),
    Factor(
        "outstanding", "int", 1, "transactions",
        "Transactions in progress at the same time per connection; more than 1 is pipelining.",
        low=1, high=65_536, scope="workload",
    ),
    Factor("burst_count", "int", 16, "messages", "Messages in a burst.", low=1, high=1_000_000, scope="workload"),
    Factor(
        "think_us", "int", 0, "us", "Pause of the near side in each transaction.",
        low=0, high=3_600_000_000, scope="workload",
    ),
    Factor(
        "offered_rate_per_s", "float", "default", "transactions/s",
        "Transactions started per second over all connections, whether or not earlier ones have ended (open loop); "
        "default: the next one starts when the previous one ends (closed loop).",
        low=0.001, high=1e9, keywords=("default",), scope="workload",
    ),
    Factor(
        "arrivals", "choice", "auto", "",
        "Inter-arrival time distribution (open loop): constant, or poisson (exponential); "
        "auto: poisson with offered_rate_per_s, else a closed loop.",
        choices=("auto", "closed", "constant", "poisson"), scope="workload",
    ),
    Factor(
        "datagram_size_bytes", "int", 1472, "bytes",
        "Payload of a datagram, including whyperf's header of 24 bytes; 1472 fill a packet of 1500; over QUIC 1400 "
        "unless given.",
        low=24, high=65_507, scope="workload",
    ),
    Factor(
        "datagram_batch", "int", 1, "datagrams",
        "Datagrams handed to the kernel in one call at most (UDP_SEGMENT); 1: no segmentation offload.",
        low=1, high=128, scope="workload",
    ),
    Factor(
        "datagram_merge", "bool", False, "",
        "Whether the receiver lets the kernel merge datagrams (UDP_GRO).", scope="workload",
    ),
    Factor(
        "connections", "int", 1, "connections", "Connections at the same time.",
        low=1, high=100_000, scope="workload",
    ),
    Factor(
        "idle_connections", "int", 1000, "connections", "Idle connections in addition to the others.",
        low=0, high=100_000, scope="workload",
    ),
    Factor(
        "direction", "choice", "send", "",
        "send: the near side writes; receive: the far side writes.",
        choices=("send", "receive"), scope="stream",
    ),
    Factor(
        "schedule", "schedule", "none", "",
        "When flows start and stop: a shipped schedule (whyperf list --schedules), or the profile's own; "
        "none: all connections carry payload from start to end.",
        keywords=("none",), later=True,
    ),
    Factor(
        "schedule_scale", "float", 1.0, "", "All times of the schedule times this.",
        low=0.0001, high=10_000, scope="schedule", later=True,
    ),
    Factor(
        "schedule_order", "choice", "lifo", "",
        "Which flow leaves first: lifo, the last that came, or fifo, the first.",
        choices=("lifo", "fifo"), scope="schedule", later=True,
    ),
    Factor(
        "competitor", "name", "cubic", "",
        "Who competes in the schedule mixed: a congestion control of TCP, or another transport.",
        scope="schedule", later=True,
    ),
    Factor("no_delay", "bool", False, "", "Nagle off (TCP_NODELAY)."),
    Factor("quick_ack", "bool", False, "", "Delayed ACK off (TCP_QUICKACK)."),
    Factor(
        "cork", "bool", False, "", "Partial segments wait for more (TCP_CORK), let go after every write.", later=True,
    ),
    Factor(
        "congestion_control", "name", "cubic", "",
        "Congestion control on both sides: the kernel's, or scalable, highspeed, hslp, bic, htcp, fast, ltcp; default: "
        "each host's own. Hosts also use their own if none is given and one of them does not allow cubic.",
        keywords=("default",),
    ),
    Factor(
        "mss_bytes", "int", "default", "bytes",
        "Largest segment (TCP_MAXSEG; bounds of Linux).",
        low=88, high=32767, keywords=("default",),
    ),
    Factor(
        "pacing_rate_bps", "int", "default", "bit/s",
        "Upper bound of each connection's rate at the sender (SO_MAX_PACING_RATE).",
        low=8_000, high=10**13, keywords=("default",),
    ),
    Factor(
        "busy_poll_us", "int", "default", "us",
        "How long a receive call polls the device before it sleeps (SO_BUSY_POLL).",
        low=0, high=1_000_000, keywords=("default",), later=True,
    ),
    Factor(
        "dscp", "int", "default", "", "DSCP of all packets (RFC 2474).",
        low=0, high=63, keywords=("default",), later=True,
    ),
    Factor(
        "zero_copy", "bool", False, "", "Sends without copying (MSG_ZEROCOPY).", later=True,
    ),
    Factor(
        "truncate", "bool", False, "",
        "Receives without copying (MSG_TRUNC): the kernel discards the payload.", later=True,
    ),
    Factor(
        "send_call", "choice", "send", "",
        "The call that sends: sendfile from a file in memory, splice from a pipe.",
        choices=("send", "sendfile", "splice"), later=True,
    ),
    Factor(
        "sctp_streams", "int", "default", "streams",
        "Streams of an SCTP association in each direction (SCTP_INITMSG); payload uses the first. Default: 10.",
        low=1, high=65_535, keywords=("default",), later=True,
    ),
    Factor(
        "tls_version", "choice", "default", "", "Version of TLS; default: 1.3.",
        choices=("default", "1.2", "1.3"), later=True,
    ),
    Factor(
        "tls_cipher", "choice", "default", "", "Cipher of TLS; default: aes-128-gcm.",
        choices=("default", "aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"), later=True,
    ),
    Factor(
        "tls_record_bytes", "int", "default", "bytes", "Most payload of a TLS record; default: 16384.",
        low=64, high=16_384, keywords=("default",), later=True,
    ),
    Factor(
        "ktls", "choice", "off", "",
        "TLS in the kernel (kTLS): tx: of the sender; both: of both sides; off: the agents encrypt and decrypt.",
        choices=("off", "tx", "both"), later=True,
    ),
    Factor(
        "kernel_timestamps", "bool", False, "",
        "Kernel time stamps in addition to the application's (SO_TIMESTAMPING): time in the near host and "
        "beyond it, and the jitter of datagrams as they arrive.", later=True,
    ),
    Factor(
        "source_address", "address", "default", "",
        "Address of the near host that its connections come from (bind).", keywords=("default",), later=True,
    ),
    Factor("ip_version", "choice", 4, "", "IP version.", choices=(4, 6)),
    Factor(
        "transfer_bytes", "int", "default", "bytes",
        "Payload of each connection; default: run for duration_s instead.",
        low=1, high=LARGEST_BYTES, keywords=("default",),
    ),
    Factor(
        "duration_s", "float", 10.0, "s", "Length of the measurement window.",
        low=0.001, high=604_800, timed=True,
    ),
    Factor("warmup_s", "float", 1.0, "s", "Load before the measurement window.", low=0, high=86_400, timed=True),
    Factor("cooldown_s", "float", 0.2, "s", "Load after the measurement window.", low=0, high=86_400, timed=True),
    Factor("interval_ms", "int", 100, "ms", "Time between samples.", low=1, high=60_000),
    Factor(
        "rest_s", "float", 0.0, "s",
        "Time without load before the trial, in which a bucket of tokens on the path fills.",
        low=0, high=3600, later=True,
    ),
    Factor(
        "rtt_probe_ms", "int", "none", "ms",
        "Interval of the RTT probe under load; 1000 is usual.",
        low=1, high=60_000, keywords=("none",), later=True,
    ),
    Factor(
        "rtt_probe", "choice", "udp", "",
        "What carries that probe: datagrams that the far agent answers, or echoes of ICMP that its kernel answers.",
        choices=("udp", "icmp"), later=True,
    ),
    Factor(
        "deadline_s", "float", 60.0, "s",
        "The load is cut this long after its start. Default: 60 s, or more where the phases last longer.",
        low=0.001, high=1_000_000,
    ),
    Factor(
        "near_cpus", "cpus", "auto", "",
        "CPUs of the load on the near side; auto: disjoint halves where both sides share a machine.",
        keywords=("auto", "any"),
    ),
    Factor("far_cpus", "cpus", "auto", "", "The same for the far side.", keywords=("auto", "any")),
    # The smallest MTU is RFC 791's 68; IP version 6 needs 1280 (RFC 8200 section 5).
    Factor("mtu_bytes", "int", 1500, "bytes", "MTU of the testbed.", low=68, high=65535, testbed=True),
    Factor("tso", "bool", True, "", "TCP segmentation offload of the testbed.", testbed=True),
    Factor("gso", "bool", True, "", "Generic segmentation offload of the testbed.", testbed=True),
    Factor("gro", "bool", True, "", "Generic receive offload of the testbed.", testbed=True),
    Factor(
        "rps_cpus", "cpus", "auto", "",
        "CPUs to which both devices of the testbed steer what arrives (receive packet steering); auto: each host's "
        "own; off: the sender's CPU processes it.",
        keywords=("auto", "off"), testbed=True, later=True,
    ),
    Factor(
        "threaded_napi", "bool", False, "",
        "Kernel threads on each host's own CPUs poll the devices of the testbed, not soft interrupts; needs gro, "
        "and no tso.",
        testbed=True, later=True,
    ),
    Factor(
        "tcp_limit_output_bytes", "int", "default", "bytes",
        "Most of a connection that TCP of both hosts has below it (net.ipv4.tcp_limit_output_bytes of the testbed).",
        low=1, high=2**31 - 1, keywords=("default",), testbed=True, later=True,
    ),
    Factor(
        "tcp_autocorking", "bool", True, "",
        "Small writes wait while a packet of the connection is below TCP (net.ipv4.tcp_autocorking of the testbed).",
        testbed=True, later=True,
    ),
    Factor(
        "tcp_tso_win_divisor", "int", "default", "",
        "A super-segment waits for more while it is smaller than the congestion window divided by this; 0: than the "
        "largest one (net.ipv4.tcp_tso_win_divisor of the testbed).",
        low=0, high=255, keywords=("default",), testbed=True, later=True,
    ),
    Factor(
        "firewall_rules", "int", 0, "rules",
        "Rules of nftables that match no packet, in the far host's namespace at the hook input (family inet): each "
        "packet that arrives there is compared with all of them.",
        low=0, high=MAX_FIREWALL_RULES, testbed=True, later=True,
    ),
    *PATH_FACTORS,
)  # fmt: skip

BY_NAME: dict[str, Factor] = {factor.name: factor for factor in FACTORS}


def factor_named(name: str) -> Factor:
    """The factor of that name.

    Raises:
        ProfileError: with a near name, when there is none.
    """
    if name not in BY_NAME:
        raise ProfileError("", name, f"there is no factor of this name{suggestion(name, BY_NAME, listed_by=LISTED_BY)}")
    return BY_NAME[name]
