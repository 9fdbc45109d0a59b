"""Warnings about a result: data with advice, in one flat table.

A warning is raised per cell (`cell_rules`), or for the experiment as a whole. Warnings of one code are
printed once for the experiment, with the number of cells and one example.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from whyperf.analyze.text import count


@dataclass(frozen=True)
class WarningText:
    """A code with its sentences. `text` is filled with a warning's values; `advice` says what to do,
    `advice_on` replaces it on a kind of testbed.
    """

    text: str
    advice: str
    advice_on: Mapping[str, str] = field(default_factory=dict)


WARNING_TEXTS: Mapping[str, WarningText] = {
    "failed_trials": WarningText(
        "{count} failed and {have} not in the result. First reason: {reason}",
        "Remove the cause, then run the same command with --retry-failed.",
        {"watched": "Remove the cause, then watch again."},
    ),
    "lost_pairs": WarningText(
        "{count} of hosts took no part in {trials}; the result is that of the others. First: {pair}: {reason}",
        "Put the host right, then run the same command with --retry-failed.",
    ),
    "void_trials": WarningText(
        "{count} void, even when run again, and {have} not in the result. First reason: {reason}",
        "Stop other work on this host, use a host with more CPUs, or block other connections to the far host's port. "
        "Then run the same command with --retry-failed.",
    ),
    "damaged_trials": WarningText(
        "{count} cannot be read and {have} not in the result. The first is {trial}: {reason}",
        "Run the same command again: it sets such trials aside and measures them anew. Trials of another version need "
        "the whyperf that made them.",
        {"watched": "What cannot be read is lost: nobody can repeat a watched connection. Copy the result whole."},
    ),
    "deadline_trials": WarningText(
        "{count} cut at the deadline of {deadline}; the payload moved until then counts.",
        "Raise deadline_s, or lower transfer_bytes or duration_s.",
    ),
    "unusable_trials": WarningText(
        "{count} without goodput: {why}.",
        "Raise transfer_bytes so that all connections work at the same time, or use duration_s.",
        {"watched": "Such a connection was sampled less than twice while it was open. Watch from before it begins."},
    ),
    "nothing_moved": WarningText(
        "{count} of {trials} moved no payload in the measurement phase.",
        "Raise duration_s, or raise warmup_s so that the load runs before the measurement starts.",
    ),
    "no_steady_state": WarningText(
        "{count} of {trials} without a steady state. For example {trial}: {evidence}",
        "The median still counts these trials. If goodput was still rising, raise warmup_s or duration_s. If it fell, "
        "find what slows down during a trial. If it jumps between levels, look at goodput over time: both levels may "
        "be real.",
    ),
    "warm_up_cut": WarningText(
        "{count} of {trials} still warming up when the measurement started; up to {cut} cut off, "
        "where goodput was {early}.",
        "Raise warmup_s, so that the whole window counts.",
    ),
    "warm_up_counts": WarningText(
        "{count} of {trials} still warming up when the measurement started, for up to {cut} with a goodput of {early}. "
        "This time counts, so that rates and latencies are of the same time.",
        "Raise warmup_s, so that rates and latencies are of the steady state.",
    ),
    "slow_down_cut": WarningText(
        "{count} of {trials} slowing down when the measurement started; up to {cut} cut off, "
        "where goodput was {early}.",
        "Find what ends the fast start: a rate limiter's burst, a queue or buffer that fills, or a CPU that lowers its "
        "clock. The goodput is the lasting rate; the rate over the whole window is next to it.",
    ),
    "slow_down_counts": WarningText(
        "{count} of {trials} slowing down when the measurement started, for up to {cut} with a goodput of {early}. "
        "This time counts, so that rates and latencies are of the same time.",
        "Find what ends the fast start: a rate limiter's burst, a queue or buffer that fills, or a CPU that lowers its "
        "clock. For the lasting rate, raise warmup_s.",
    ),
    "few_trials": WarningText(
        "{count} per setting: no confidence interval. Of two trials the range is shown.",
        "Use --trials 6 or more: 6 are the fewest for a 95 % interval.",
    ),
    "wide_intervals": WarningText(
        "With {count} per cell, the interval of the median covers at most {coverage} instead of 95 %.",
        "Use --trials 6 or more where small differences matter.",
    ),
    "window_differs": WarningText(
        "Requested window {requested}; largest advertised window {announced}.",
        "The kernel rounds windows to the segment size and adds what its buffers allow. Name the advertised window "
        "when you quote the result, or choose a smaller MSS (mss_bytes, mtu_bytes).",
        {
            "network": "The kernel rounds windows to the segment size and adds what its buffers allow. Name the "
            "advertised window when you quote the result, or choose a smaller MSS (mss_bytes).",
            "model": "The host's rules round windows to the segment size. Name the advertised window when you quote "
            "the result, or choose a smaller MSS (mss_bytes, mtu_bytes).",
        },
    ),
    "buffer_cut": WarningText(
        "The kernel of the {end} side limits the {buffer} buffer to {limit}; {requested} were requested.",
        "Raise net.core.{sysctl} there, or request less.",
    ),
    "retransmissions": WarningText(
        "{ratio} of the data segments were retransmitted.",
        "The path or a host loses segments. Look at the drop counters of the devices on both sides.",
        {
            "veth": "The embedded testbed loses nothing, so these are reordered or dropped inside the host. "
            "Check that receive packet steering is set on both sides (see the testbed as read back).",
            "loopback": "Loopback loses nothing, so the host itself ran out of socket memory or CPU time.",
        },
    ),
    "steal_high": WarningText(
        "The hypervisor took {ratio} of the {role}'s CPU time.",
        "Another guest was busy. Run again at a quieter time, or compare only interleaved trials.",
        {"watched": "Another guest was busy. It takes time from the watched program, too."},
    ),
    "path_on_cpu": WarningText(
        "The router of the emulated path used {ratio} of the {role}'s CPU time, which the CPU figures include.",
        "Goodput is measured as usual. For CPU figures without the router, use a host with a CPU for each side and one "
        "for the router.",
    ),
    "other_load": WarningText(
        "Other programs used at least {ratio} of the {role}'s CPU time{busiest}.",
        "Goodput and costs are those of a busy host. Stop the other work, or give each side its own CPUs "
        "(near_cpus, far_cpus).",
        {"watched": "They may take time from the watched program."},
    ),
    "sampler_late": WarningText(
        "Sampling on the {end} side stalled for up to {late}, with intervals of {interval}{busiest}.",
        "Goodput is right, and intervals have their true times, but time charts have fewer points. Free a CPU for the "
        "sampler, or raise interval_ms.",
        {"watched": "The rate is right; time charts have fewer points, and the explanation is less exact there."},
    ),
    "clock_uncertain": WarningText(
        "The clocks of the two sides are compared to within {uncertainty} only, {ratio} of a trial.",
        "Use longer trials, or duration_s, which needs only one clock.",
    ),
    "cpu_ticks": WarningText(
        "CPU % is rough: only {pooled} were measured, in steps of 10 ms.",
        "Use more or longer trials. Cycles per KByte do not use these steps and are not affected.",
        {"watched": "Watch for longer. Cycles per KByte do not use these steps and are not affected."},
    ),
    "strangers_dropped": WarningText(
        "{count} did not present the trial's token and were dropped.",
        "Another program connects to this port. The result is not affected unless that happens often.",
    ),
    "shared_cpus": WarningText(
        "Both sides run on the same CPUs; only the CPU time of the load's own threads can be separated.",
        "Give each side its own CPUs (near_cpus, far_cpus) on a machine with two or more.",
    ),
    "less_evidence": WarningText(
        "The evidence level of the {end} side is {level}, not {asked}: {reason}.",
        "Goodput is not affected; the kernel's counts are missing. See whyperf doctor for what each hook needs.",
    ),
    "missing_hooks": WarningText(
        "The kernel of the {end} side lacks {hooks}.",
        "Goodput is not affected; the figures of these hooks are missing. whyperf doctor lists all hooks.",
    ),
    "mixed_evidence": WarningText(
        "The evidence level of the {end} side differs between trials: {levels}.",
        "Evidence costs some goodput, so these trials differ for this reason, too. Run anew (--out) with the same "
        "privilege throughout, or with --evidence user.",
    ),
    "counters_incomplete": WarningText(
        "The kernel's counts of the {end} side in {trial} are not complete: {what}.",
        "Goodput is not affected. The counts are too low by that.",
    ),
    "lost_samples": WarningText(
        "{lost} of {of} of the {end} side in {trial} lost: there were more different stacks than whyperf keeps.",
        "Goodput is not affected. The cost budget has them as not attributed. Stop other programs on this host, or "
        "measure for a shorter time.",
    ),
    "failed_logs": WarningText(
        "{count} failed; goodput is not affected. First reason: {reason}",
        "Remove the cause and run the experiment again with --retry-failed.",
        {"watched": "Remove the cause, then watch again."},
    ),
    "no_log": WarningText(
        "The {end} side of {trial} has no segment log; its evidence level is {level}: {reason}.",
        "See whyperf doctor for what each hook needs. --retry-failed repeats such trials.",
        {"watched": "See whyperf doctor for what each hook needs."},
    ),
    "log_broken_off": WarningText(
        "The segment log of the {end} side of {trial} breaks off: {reason}.",
        "Free space for temporary files there, or set TMPDIR; --retry-failed repeats such trials.",
        {"watched": "Free space for temporary files there, or set TMPDIR."},
    ),
    "log_incomplete": WarningText(
        "The segment log of the {end} side of {trial} is {state}: {what}.",
        "Counts from it are too low by that. Free a CPU for the log, or lower the rate.",
        {"watched": "Counts from it are too low by that. Free a CPU for the log."},
    ),
    "failed_transactions": WarningText(
        "{count} failed or timed out, {ratio} of those that ended.",
        "They count as ended transactions; the latencies are those of the others. Find out what the peer or the path "
        "lost or refused.",
    ),
    "no_kernel_timestamps": WarningText(
        "Kernel time stamps were requested, and none came.",
        "Latencies are those of the application. Leave kernel_timestamps out, or use a device whose kernel stamps "
        "segments.",
    ),
    "few_kernel_timestamps": WarningText(
        "Only {ratio} of the transactions have all kernel time stamps.",
        "Host and path times cover only these transactions. Retransmitted segments, or a device whose kernel does not "
        "stamp, leave the others without.",
    ),
    "unstamped_datagrams": WarningText(
        "{count} arrived without the requested kernel time stamp.",
        "Their jitter is computed from the time of reading, so it includes the reader's delay. Leave kernel_timestamps "
        "out, or read the jitter as the reader's.",
    ),
    "no_transactions": WarningText(
        "No transaction ended in the measurement phase.",
        "Raise duration_s, or find out what the transactions wait for.",
    ),
    "rate_missed": WarningText(
        "The load generator started {begun} transactions/s instead of {intended}, {ratio} apart{evidence}.",
        "It could not keep its schedule. Latencies count from the intended start, so they contain its own delay. "
        "Offer less, or give it more threads or CPUs.",
    ),
    "overloaded": WarningText(
        "{ended} transactions/s ended instead of the intended {intended}{evidence}.",
        "The offered load is more than these connections can answer. Latency counts from the intended start, so it "
        "grows with the length of the trial. Offer less to measure latency. Use more connections to find the highest "
        "rate; give the near side more CPUs where its CPUs are full.",
    ),
    "receiver_dropped": WarningText(
        "{count} reached the receiving socket and were dropped there because its buffer was full.",
        "The application reads too slowly; the path did not lose them. Raise receive_buffer_bytes, merge datagrams "
        "(datagram_merge), give the receiver another CPU, or offer less.",
    ),
    "loopback_testbed": WarningText(
        "Measured over loopback: no device, no driver and no link are on the path.",
        "Run with the privilege to build namespaces for the embedded testbed, or name a host.",
    ),
    "unfinished": WarningText(
        "{count} of the plan without a trial yet.",
        "Run the same command again, with --out and this folder: it resumes at the first missing trial.",
        {"watched": "Their tables were not written, because the watch was killed. Watch again."},
    ),
    "watched_log": WarningText(
        "The rate is that of a connection of which every segment was logged, and logging costs rate.",
        "Watch with --evidence counters or --evidence user for the rate alone.",
    ),
}
"""All codes. A code, once published, keeps its meaning."""

OF_OWN_LOAD = frozenset({
    *("few_trials", "no_steady_state", "warm_up_cut", "warm_up_counts", "slow_down_cut", "slow_down_counts"),
    *("nothing_moved", "deadline_trials", "shared_cpus", "clock_uncertain", "window_differs"),
})  # fmt: skip
"""Codes that judge how whyperf's own load was planned. Of a connection of another program they say nothing: nobody
asked it to be steady, to be repeated or to move anything.
"""


@dataclass(frozen=True)
class RaisedWarning:
    """A warning with the values of its sentence, as text."""

    code: str
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The sentence."""
        return WARNING_TEXTS[self.code].text.format(**self.values)

    @property
    def end(self) -> str:
        """The side that it is about; empty where it is about the trial."""
        return self.values.get("role") or self.values.get("end") or ""

    def advice(self, testbed: str) -> str:
        """Says what to do, on this kind of testbed."""
        kind = WARNING_TEXTS[self.code]
        return kind.advice_on.get(testbed, kind.advice).format(**self.values)


def merge_warnings(cells: Iterable[Iterable[RaisedWarning]], noun: str = "cell") -> list[tuple[RaisedWarning, str]]:
    """The warnings of all `cells`, one for each code and side in the order of the table, each with its sentence.

    With several cells the sentence of the first is followed by how many are concerned, by their `noun`.
    """
    lists = [list(cell) for cell in cells]
    found: dict[tuple[str, str], list[RaisedWarning]] = {}
    for raised in lists:
        firsts: dict[tuple[str, str], RaisedWarning] = {}
        for warning in raised:
            firsts.setdefault((warning.code, warning.end), warning)
        for key, warning in firsts.items():
            found.setdefault(key, []).append(warning)
    merged = []
    order = list(WARNING_TEXTS)
    for key in sorted(found, key=lambda key: order.index(key[0])):
        concerned = found[key]
        first = concerned[0]
        be = "is" if len(concerned) == 1 else "are"
        many = f"{first.text} {len(concerned):,} of {count(len(lists), noun)} {be} concerned."
        merged.append((first, first.text if len(lists) == 1 else many))
    return merged
