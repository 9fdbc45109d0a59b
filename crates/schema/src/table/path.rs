//! Tables of the emulated path: what each direction did to packets, and how late it let them go.

use super::ColumnType::{Text, U64};
use super::{Column, END, HOST, INTERVAL, START, Table, column, optional};

/// Words of the direction: from near to far, and back.
pub const PATH_DIRECTIONS: [&str; 2] = ["forward", "backward"];

const DIRECTION: Column = column("direction", Text, "", "forward: near to far; backward: far to near.", "path");
const MODEL: &str = "model of the path, by the kernel's arrival stamps; netem: statistics of the queueing disciplines";

/// One row a direction and interval.
pub const PATH: Table = Table {
    name: "path",
    row: "what one direction of the emulated path did in one interval; a packet is what crosses a wire at the MTU, with its Ethernet header",
    columns: &[
        HOST,
        DIRECTION,
        INTERVAL,
        START,
        END,
        optional("arrived_packets", U64, "packets", "Came from the sending end.", MODEL),
        optional("arrived_bytes", U64, "bytes", "The same in bytes.", MODEL),
        optional("passed_packets", U64, "packets", "Left the bottleneck towards the receiving end, duplicates counted.", MODEL),
        optional("passed_bytes", U64, "bytes", "The same in bytes.", MODEL),
        column("thinned_packets", U64, "packets", "Pure ACKs taken out by ACK thinning.", MODEL),
        column("lost_random_packets", U64, "packets", "Lost at random, alone or in bursts.", MODEL),
        column("lost_scripted_packets", U64, "packets", "Lost because the script names them.", MODEL),
        column("dropped_full_packets", U64, "packets", "Dropped because the queue was full.", MODEL),
        column("dropped_early_packets", U64, "packets", "Dropped by active queue management.", MODEL),
        column("marked_packets", U64, "packets", "Marked congestion experienced (RFC 3168) by active queue management.", MODEL),
        optional("duplicated_packets", U64, "packets", "Entered the queue twice.", MODEL),
        column("reordered_packets", U64, "packets", "Skipped the delay.", MODEL),
        column("cross_arrived_packets", U64, "packets", "Came from cross traffic; not counted as arrived.", MODEL),
        column("cross_dropped_packets", U64, "packets", "Cross traffic dropped by the queue; not counted as dropped.", MODEL),
        column(
            "queue_bytes_min",
            U64,
            "bytes",
            "Least in the queue, cross traffic and the packet being sent counted; netem: at the start and the end of the interval.",
            MODEL,
        ),
        column("queue_bytes_max", U64, "bytes", "Most in the queue.", MODEL),
        column(
            "queue_bytes_ns_sum",
            U64,
            "bytes·ns",
            "Bytes in the queue summed over time; over the interval's length it is the mean.",
            MODEL,
        ),
        column("queue_packets_max", U64, "packets", "Most packets in the queue.", MODEL),
        optional(
            "misordered_packets",
            U64,
            "packets",
            "Packets whose arrival stamp was before one already decided on, and was taken as that.",
            MODEL,
        ),
        optional("released_packets", U64, "packets", "Handed to the receiving end's device in the interval.", "router"),
        optional("lateness_ns_sum", U64, "ns", "How late they were, together.", "router: CLOCK_MONOTONIC when handed over, less when due"),
        optional(
            "lateness_ns_max",
            U64,
            "ns",
            "How late the latest of them was.",
            "router: CLOCK_MONOTONIC when handed over, less when due",
        ),
    ],
};

/// One row a value of a histogram.
pub const PATH_LATENESS: Table = Table {
    name: "path_lateness",
    row: "a value of the histogram of how late the path let packets go, and how often it occurred",
    columns: &[
        HOST,
        DIRECTION,
        column("lateness_ns_low", U64, "ns", "Least lateness that counts here; what went early counts as 0.", "HDR histogram"),
        column("lateness_ns_high", U64, "ns", "Greatest.", "HDR histogram"),
        column("released_packets", U64, "packets", "Packets.", "HDR histogram"),
    ],
};
