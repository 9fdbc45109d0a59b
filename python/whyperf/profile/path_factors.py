"""Factors of the emulated path between the ends of the testbed (docs/how-to/paths.md).

A cell has a path when it says one of `MAKERS`; the others are settings of it. Forward is the way of the payload.
"""

from functools import partial

from whyperf.profile.factor import Factor

#: Longest delay: a minute. Longer ones are slips of a unit.
LONGEST_MS = 60_000
#: More than any router carries; what a host carries is found by the run.
HIGHEST_RATE_BPS = 100 * 10**9

#: Properties that all of them share: there is no emulated path elsewhere, and there were plans before there was one.
_of_path = partial(Factor, testbed=True, scope="path", later=True)

PATH_FACTORS: tuple[Factor, ...] = (
    _of_path(
        "path_rtt_ms", "float", "none", "ms",
        "Propagation delay of the emulated path there and back; none: as if 0, or no path.",
        low=0, high=LONGEST_MS, keywords=("none",),
    ),
    _of_path(
        "path_rate_bps", "int", "none", "bit/s",
        "Rate of the path's bottleneck forward, Ethernet headers counted; none: unlimited, or no path.",
        low=1000, high=HIGHEST_RATE_BPS, keywords=("none",),
    ),
    _of_path(
        "path_loss", "loss", "none", "",
        "Packets lost forward, whatever the load; none: no loss, or no path.",
        keywords=("none",),
    ),
    _of_path(
        "path_implementation", "choice", "auto", "",
        "What carries the path: whyperf's router in user space, or the kernel's netem, with which tso, gso and gro are "
        "off unless given; auto: the router.",
        choices=("auto", "router", "netem"),
    ),
    _of_path(
        "path_delay_back_ms", "float", "half", "ms", "How much of path_rtt_ms is in the back direction.",
        low=0, high=LONGEST_MS, keywords=("half",),
    ),
    _of_path(
        "path_rate_back_bps", "int", "same", "bit/s", "Rate, back direction; same: path_rate_bps; none: unlimited.",
        low=1000, high=HIGHEST_RATE_BPS, keywords=("same", "none"),
    ),
    _of_path(
        "path_queue", "queue", "bdp", "bytes",
        "What each bottleneck's queue holds, the packet being sent counted; bdp: its rate times path_rtt_ms, or 50 ms.",
    ),
    _of_path(
        "path_discipline", "choice", "drop_tail", "",
        "What the queues drop before they are full: nothing, by CoDel (RFC 8289), or by RED (Floyd, Jacobson 1993).",
        choices=("drop_tail", "codel", "red"),
    ),
    _of_path(
        "path_ecn", "bool", False, "",
        "Whether CoDel and RED mark packets instead of dropping them, and TCP negotiates ECN (RFC 3168).",
    ),
    _of_path(
        "path_codel_target_ms", "float", 5.0, "ms", "CoDel's target.",
        low=0.001, high=LONGEST_MS,
    ),
    _of_path(
        "path_codel_interval_ms", "float", 100.0, "ms", "CoDel's interval.",
        low=0.001, high=LONGEST_MS,
    ),
    _of_path(
        "path_red_min_bytes", "int", "auto", "bytes", "RED's lower threshold; auto: a sixth of the queue.",
        low=1, high=10**12, keywords=("auto",),
    ),
    _of_path(
        "path_red_max_bytes", "int", "auto", "bytes", "RED's upper threshold; auto: half of the queue.",
        low=1, high=10**12, keywords=("auto",),
    ),
    _of_path(
        "path_red_probability", "float", 0.1, "", "RED's probability at the upper threshold.",
        low=1e-9, high=1,
    ),
    _of_path(
        "path_red_gentle", "bool", False, "",
        "Whether RED's probability grows to 1 up to twice the upper threshold, instead of leaping there.",
    ),
    _of_path(
        "path_loss_back", "loss", 0.0, "", "Packets lost in the back direction, as path_loss.",
    ),
    _of_path(
        "path_jitter_us", "int", 0, "us", "Largest deviation of each direction's delay; packets keep their order.",
        low=0, high=LONGEST_MS * 1000,
    ),
    _of_path(
        "path_reorder", "float", 0.0, "", "Share of packets that skip the delay forward, and overtake others.",
        low=0, high=1,
    ),
    _of_path(
        "path_duplicate", "float", 0.0, "", "Share of packets that enter the forward queue twice.",
        low=0, high=1,
    ),
    _of_path(
        "path_ack_thinning", "int", 1, "", "Of the pure ACKs in the back direction only each n-th passes; 1: all.",
        low=1, high=10_000,
    ),
    _of_path(
        "path_cross_rate_bps", "int", 0, "bit/s", "Mean rate of virtual UDP that shares the forward bottleneck.",
        low=0, high=HIGHEST_RATE_BPS,
    ),
    _of_path(
        "path_cross_amplitude_bps", "int", 0, "bit/s", "Amplitude of that rate, which varies as a sine.",
        low=0, high=HIGHEST_RATE_BPS,
    ),
    _of_path(
        "path_cross_period_ms", "float", 10_000.0, "ms", "Period of the swing.",
        low=1, high=86_400_000,
    ),
    _of_path(
        "path_cross_packet_bytes", "int", 1514, "bytes", "Size of its packets, Ethernet header included.",
        low=42, high=65_549,
    ),
)  # fmt: skip

#: Each of these, said, makes a path.
MAKERS = ("path_rtt_ms", "path_rate_bps", "path_loss")
