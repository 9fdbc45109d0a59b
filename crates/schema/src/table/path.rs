//! Tables of the path: what each direction of an emulated one did to packets, how late it let them go, and the round
//! trips of the probe.

use super::cell::{table, word_enum};
use super::{About, END, HOST, INTERVAL, START, Text};

word_enum! {
    /// Direction of an emulated path.
    PathDirection {
        /// From the near host to the far host.
        Forward = "forward",
        /// From the far host to the near host.
        Backward = "backward",
    }
}

const DIRECTION: About = ("", "forward: near to far; backward: far to near.", "path");
const MODEL: &str = "model of the path, by the kernel's arrival stamps; netem: statistics of the queueing disciplines";

table! {
    /// One row a direction and interval.
    PATH: PathRow = "path", "what one direction of the emulated path did in one interval; a packet is what crosses a wire at the MTU, with its Ethernet header";
    host: Text = HOST;
    direction: PathDirection = DIRECTION;
    interval: u32 = INTERVAL;
    start_mono_ns: u64 = START;
    end_mono_ns: u64 = END;
    arrived_packets: Option<u64> = ("packets", "Came from the sending end.", MODEL);
    arrived_bytes: Option<u64> = ("bytes", "The same in bytes.", MODEL);
    passed_packets: Option<u64> = ("packets", "Left the bottleneck towards the receiving end, duplicates counted.", MODEL);
    passed_bytes: Option<u64> = ("bytes", "The same in bytes.", MODEL);
    thinned_packets: u64 = ("packets", "Pure ACKs taken out by ACK thinning.", MODEL);
    lost_random_packets: u64 = ("packets", "Lost at random, alone or in bursts.", MODEL);
    lost_scripted_packets: u64 = ("packets", "Lost because the script names them.", MODEL);
    dropped_full_packets: u64 = ("packets", "Dropped because the queue was full.", MODEL);
    dropped_early_packets: u64 = ("packets", "Dropped by active queue management.", MODEL);
    marked_packets: u64 = ("packets", "Marked congestion experienced (RFC 3168) by active queue management.", MODEL);
    duplicated_packets: Option<u64> = ("packets", "Entered the queue twice.", MODEL);
    reordered_packets: u64 = ("packets", "Skipped the delay.", MODEL);
    cross_arrived_packets: u64 = ("packets", "Came from cross traffic; not counted as arrived.", MODEL);
    cross_dropped_packets: u64 = ("packets", "Cross traffic dropped by the queue; not counted as dropped.", MODEL);
    queue_bytes_min: u64 = (
        "bytes",
        "Least in the queue, cross traffic and the packet being sent counted; netem: at the start and the end of the interval.",
        MODEL,
    );
    queue_bytes_max: u64 = ("bytes", "Most in the queue.", MODEL);
    queue_bytes_ns_sum: u64 = (
        "bytes·ns",
        "Bytes in the queue summed over time; over the interval's length it is the mean.",
        MODEL,
    );
    queue_packets_max: u64 = ("packets", "Most packets in the queue.", MODEL);
    misordered_packets: Option<u64> = (
        "packets",
        "Packets stamped earlier than one already handled; treated as if they had arrived together.",
        MODEL,
    );
    released_packets: Option<u64> = ("packets", "Handed to the receiving end's device in the interval.", "router");
    lateness_ns_sum: Option<u64> = (
        "ns",
        "How late they were, together.",
        "router: CLOCK_MONOTONIC when handed over, less when due",
    );
    lateness_ns_max: Option<u64> = (
        "ns",
        "How late the latest of them was.",
        "router: CLOCK_MONOTONIC when handed over, less when due",
    );
}

table! {
    /// One row a value of a histogram.
    PATH_LATENESS: PathLatenessRow = "path_lateness", "a value of the histogram of how late the path let packets go, and how often it occurred";
    host: Text = HOST;
    direction: PathDirection = DIRECTION;
    lateness_ns_low: u64 = ("ns", "Lower bound of this bin; packets that left early count as 0.", "HDR histogram");
    lateness_ns_high: u64 = ("ns", "Greatest.", "HDR histogram");
    released_packets: u64 = ("packets", "Packets.", "HDR histogram");
}

table! {
    /// Round trips of the probe.
    ROUND_TRIPS: RoundTripRow = "round_trips", "a request of the round-trip probe, at the near side; the probe runs during the trial where it is asked for";
    host: Text = HOST;
    probe: u64 = ("", "Number of the request, from 0 at the start of the load.", "header");
    sent_mono_ns: u64 = ("ns", "When the request was handed to the kernel.", "CLOCK_MONOTONIC");
    rtt_ns: Option<u64> = (
        "ns",
        "Time until the answer was read; absent: no answer came until half a second after the load.",
        "CLOCK_MONOTONIC",
    );
}
