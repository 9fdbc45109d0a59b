"""What a reader of the result should know before believing it: data with advice, in one flat table.

A caution is found per cell (`doubts`), or for the experiment as a whole; cautions of one code are
told once for the experiment, with the number of cells and one example.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from whyperf.analyze.quantity import count


@dataclass(frozen=True)
class Kind:
    """A code with its sentences. `text` is filled with a caution's values; `advice` says what to do,
    `advice_on` replaces it on a kind of testbed.
    """

    text: str
    advice: str
    advice_on: Mapping[str, str] = field(default_factory=dict)


KINDS: Mapping[str, Kind] = {
    "failed_trials": Kind(
        "{count} failed and {have} not in the result. First reason: {reason}",
        "Remove the cause and run the experiment again with --retry-failed.",
    ),
    "void_trials": Kind(
        "{count} void, even when run again, and {have} not in the result. First reason: {reason}",
        "Stop other work on this host, use one with more CPUs, or keep others off the far end's port; with "
        "--retry-failed such trials are made again.",
    ),
    "damaged_trials": Kind(
        "{count} cannot be read and {have} not in the result. The first is {trial}: {reason}",
        "Run the experiment again: such trials are set aside and measured anew. Those of another version are read by "
        "the whyperf that made them.",
    ),
    "deadline_trials": Kind(
        "{count} cut at the deadline of {deadline}; what was moved until then counts.",
        "Raise deadline_s, or ask for less: a smaller transfer_bytes or duration_s.",
    ),
    "unusable_trials": Kind(
        "{count} without goodput: {why}.",
        "Raise transfer_bytes so that all connections work at the same time, or use duration_s.",
    ),
    "nothing_moved": Kind(
        "{count} of {trials} moved nothing while it was measured.",
        "Raise duration_s, or warmup_s so that the load is under way when the measurement begins.",
    ),
    "no_steady_state": Kind(
        "{count} of {trials} without a steady state. For example {trial}: {evidence}",
        "The median still counts these trials. Raise warmup_s or duration_s if goodput was still growing; "
        "if it jumps between levels, look at its course over time: both levels may be real.",
    ),
    "warm_up_cut": Kind(
        "{count} of {trials} still warming up when the measurement began; up to {cut} cut off, "
        "where goodput was {early}.",
        "Raise warmup_s, so that the whole window counts.",
    ),
    "warm_up_counts": Kind(
        "{count} of {trials} still warming up when the measurement began, for up to {cut}, where goodput was {early}. "
        "It counts: rates are of the same time as the latencies.",
        "Raise warmup_s, so that rates and latencies are of the steady state.",
    ),
    "few_trials": Kind(
        "{count} only, too few for an interval; with two, low and high are the range.",
        "Ask for at least 3 trials, better 10.",
    ),
    "wide_intervals": Kind(
        "With {count} a cell, an interval of the median covers at most {coverage} instead of 95 %.",
        "Ask for at least 6 trials where small differences matter.",
    ),
    "window_differs": Kind(
        "A window of {requested} was asked for, {announced} was announced at most.",
        "The kernel rounds windows to the segment size and adds what its buffers allow. Name the announced window "
        "when you quote the result, or choose a smaller MSS (mss_bytes, mtu_bytes).",
        {
            "network": "The kernel rounds windows to the segment size and adds what its buffers allow. Name the "
            "announced window when you quote the result, or choose a smaller MSS (mss_bytes).",
            "model": "The host's rules round windows to the segment size. Name the announced window when you quote the "
            "result, or choose a smaller MSS (mss_bytes, mtu_bytes).",
        },
    ),
    "buffer_cut": Kind(
        "The {end} end's kernel limits the {buffer} buffer to {limit}; {requested} were asked for.",
        "Raise net.core.{sysctl} there, or ask for less.",
    ),
    "retransmissions": Kind(
        "{ratio} of the data segments were sent again.",
        "The path loses segments, and goodput is what is left. Look at the devices' drop counters at both ends.",
        {
            "veth": "The embedded testbed loses nothing, so these are reordered or dropped inside the host. "
            "Check that receive packet steering is set at both ends (see the testbed as read back).",
            "loopback": "Loopback loses nothing, so the host itself ran out of memory for sockets or of time.",
        },
    ),
    "steal_high": Kind(
        "The hypervisor took {ratio} of the {role}'s CPU time.",
        "Another guest was busy: run again at a quieter time, or compare only interleaved trials.",
    ),
    "other_load": Kind(
        "Something else used at least {ratio} of the {role}'s CPU time{busiest}.",
        "Goodput and costs are those of a busy host: end the other work, or give the ends CPUs of their own "
        "(near_cpus, far_cpus).",
    ),
    "sampler_late": Kind(
        "The {end} end's sampler woke {late} too late at worst, with intervals of {interval}{busiest}.",
        "Goodput stands, intervals carry their true times; but courses over time are coarser. Leave the sampler "
        "a CPU, or raise interval_ms.",
    ),
    "clock_uncertain": Kind(
        "The ends' clocks are known to {uncertainty} only, {ratio} of a trial.",
        "Use longer trials, or duration_s, which needs one clock only.",
    ),
    "cpu_ticks": Kind(
        "CPU shares come from {pooled} of pooled wall time, which the kernel counts in ticks of 10 ms.",
        "Ask for more trials or longer ones to know the CPU shares better; cycles per KByte do not use ticks "
        "and are not affected.",
    ),
    "strangers_dropped": Kind(
        "{count} did not present the trial's token and were dropped.",
        "Something else connects to this port; the result is not affected unless it came often.",
    ),
    "shared_cpus": Kind(
        "Both ends run on the same CPUs; only the load's own threads can be told apart.",
        "Give each end CPUs of its own (near_cpus, far_cpus) on a machine with two or more.",
    ),
    "less_evidence": Kind(
        "The {end} end's evidence is at level {level}, not {asked}: {reason}.",
        "The throughput stands; what the kernel would have counted is not there. Run as root, or with CAP_BPF and "
        "CAP_PERFMON; whyperf doctor says what each hook needs.",
    ),
    "missing_hooks": Kind(
        "The {end} end's kernel lacks {hooks}.",
        "The throughput stands, and what these hooks give is left out. whyperf doctor lists them all.",
    ),
    "mixed_evidence": Kind(
        "The {end} end was not watched alike in all trials: {levels}.",
        "Watching costs some goodput, so these trials differ by more than chance. Run anew (--out) with the same "
        "privilege throughout, or with --evidence user.",
    ),
    "counters_incomplete": Kind(
        "What was counted in the kernel of the {end} end in {trial} is not complete: {what}.",
        "The throughput stands. What was counted is too little by as much.",
    ),
    "failed_logs": Kind(
        "{count} failed; the throughput is not affected. First reason: {reason}",
        "Remove the cause and run the experiment again with --retry-failed.",
    ),
    "no_log": Kind(
        "The {end} end of {trial} has no segment log, its evidence is at level {level}: {reason}.",
        "Run as root, or with CAP_BPF and CAP_PERFMON; whyperf doctor says what each hook needs. With --retry-failed "
        "such trials are made again.",
    ),
    "log_broken_off": Kind(
        "The segment log of the {end} end of {trial} is not complete, it breaks off: {reason}.",
        "Make room for temporary files there, or set TMPDIR; with --retry-failed such trials are made again.",
    ),
    "log_incomplete": Kind(
        "The segment log of the {end} end of {trial} is {state}: {what}.",
        "What is counted from it is too little. Leave the log's writer a CPU, or measure at a lower rate.",
    ),
    "failed_transactions": Kind(
        "{count} failed or timed out, {ratio} of those that ended.",
        "They count as transactions that ended, their latency too. Look for what the peer or the path refused.",
    ),
    "no_kernel_timestamps": Kind(
        "The kernel's time stamps were asked for and none came.",
        "Latency is the application's alone here. Leave kernel_timestamps out, or measure over a device whose kernel "
        "stamps segments.",
    ),
    "few_kernel_timestamps": Kind(
        "Only {ratio} of the transactions have all of the kernel's time stamps.",
        "What passed in the host and beyond it is told of these alone. Segments that are sent again, or a device whose "
        "kernel does not stamp, leave others without.",
    ),
    "unstamped_datagrams": Kind(
        "{count} arrived without the time stamp that was asked of the kernel.",
        "For their jitter counts when they were read. Leave kernel_timestamps out, or take the jitter for the "
        "reader's.",
    ),
    "no_transactions": Kind(
        "No transaction ended in the measurement window.",
        "Raise duration_s, or look for what the transactions wait for.",
    ),
    "rate_missed": Kind(
        "The generator began {begun} transactions/s where {intended} were intended, {ratio} apart{evidence}.",
        "It could not keep its schedule: latencies count from the intended begin and so contain its own lateness. "
        "Offer less, or give it more threads or CPUs.",
    ),
    "overloaded": Kind(
        "{ended} transactions/s ended where {intended} were intended{evidence}.",
        "More was offered than the system under test answers over these connections: latency counts from the intended "
        "begin and says how long the backlog was left to grow. Offer less to learn the latency, or more connections to "
        "learn the most it can do; where the near end's CPUs are the full ones, give that end more.",
    ),
    "receiver_dropped": Kind(
        "{count} reached the receiving socket and were dropped there for want of buffer.",
        "The application reads too slowly, not the path loses: raise receive_buffer_bytes, merge datagrams "
        "(datagram_merge), give the receiver another CPU, or offer less.",
    ),
    "loopback_testbed": Kind(
        "Measured over loopback: no device, no driver and no real segments are on the path.",
        "Run with the privilege to build namespaces for the embedded testbed, or name a host.",
    ),
    "unfinished": Kind(
        "{count} of the plan without a trial yet.",
        "Run the same command again: it resumes at the first missing trial.",
    ),
}
"""All codes. A code, once published, keeps its meaning."""


@dataclass(frozen=True)
class Caution:
    """A caution with what its sentence needs, all in words."""

    code: str
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The sentence."""
        return KINDS[self.code].text.format(**self.values)

    @property
    def end(self) -> str:
        """The end that it is about; empty where it is about the trial."""
        return self.values.get("role") or self.values.get("end") or ""

    def advice(self, testbed: str) -> str:
        """What to do, on this kind of testbed."""
        kind = KINDS[self.code]
        return kind.advice_on.get(testbed, kind.advice).format(**self.values)


def told_once(cells: Iterable[Iterable[Caution]]) -> list[tuple[Caution, str]]:
    """The cautions of all `cells`, one a code and end in the order of the table, each with its sentence.

    With several cells the sentence says how many are concerned and gives the first as an example.
    """
    lists = [list(cell) for cell in cells]
    found: dict[tuple[str, str], list[Caution]] = {}
    for cautions in lists:
        firsts: dict[tuple[str, str], Caution] = {}
        for caution in cautions:
            firsts.setdefault((caution.code, caution.end), caution)
        for key, caution in firsts.items():
            found.setdefault(key, []).append(caution)
    told = []
    order = list(KINDS)
    for key in sorted(found, key=lambda key: order.index(key[0])):
        concerned = found[key]
        first = concerned[0]
        many = f"In {len(concerned):,} of {count(len(lists), 'cell')}. For example: {first.text}"
        told.append((first, first.text if len(lists) == 1 else many))
    return told
