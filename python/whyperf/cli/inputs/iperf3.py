"""Meaning of iperf3's options here (iperf3(1) of 3.17), and what to write instead of those there are not."""

import re
import shlex
from collections.abc import Mapping, Sequence

from whyperf.cli.exits import UsageError
from whyperf.profile import BY_NAME, Level, Overrides, Profile, ProfileError
from whyperf.profile.workload import STREAM

#: Rate of `-u` without `-b`, as in iperf3.
UDP_RATE_BPS = 1_000_000
#: The same exchange over UDP.
OVER_UDP = {STREAM: "udp-stream", "rr": "udp-rr"}
#: Names of code points: RFC 2474 (class selectors), 2597 (assured), 3246 (expedited), 5865 (voice admit), 8622 (lower
#: effort).
CODE_POINTS = {
    **{f"cs{number}": number * 8 for number in range(8)},
    **{f"af{number}{drop}": number * 8 + drop * 2 for number in range(1, 5) for drop in range(1, 4)},
    "ef": 46,
    "va": 44,
    "le": 1,
}
#: `-b 10M/20`: packets in a burst.
BURST = re.compile(r"(?P<rate>.+)/(?P<packets>\d+)")


def bitrate(text: str | None) -> str | None:
    """The level of `write_rate_bps`; 0 is unlimited, as in iperf3.

    Raises:
        UsageError: with a burst.
    """
    if text is None:
        return None
    if burst := BURST.fullmatch(text):
        raise UsageError(
            f"--bitrate {text}: whyperf spaces all writes evenly; give --bitrate {burst['rate']}, and for datagrams "
            f"that leave in one call --set datagram_batch={burst['packets']}"
        )
    return ",".join("default" if rate.strip() == "0" else rate for rate in text.split(","))


def code_point(dscp: str | None, tos: str | None) -> str | None:
    """The level of `dscp` that `--dscp`, a number or a name, or `--tos`, the whole byte, asks for.

    Raises:
        UsageError: both, or no such byte.
    """
    if tos is None:
        return None if dscp is None else ",".join(_by_name(word) for word in dscp.split(","))
    if dscp is not None:
        raise UsageError("--tos and --dscp set the same bits; keep one")
    try:
        # As C reads integers: a leading 0 is octal.
        byte = int(tos, 8) if re.fullmatch("0[0-7]+", tos) else int(tos, 0)
    except ValueError:
        raise UsageError(f"--tos {tos} is not a number; give 0 to 252, or a name such as ef by --dscp") from None
    if not 0 <= byte <= 255 or byte % 4:
        raise UsageError(
            f"--tos {tos}: the upper six bits are the DSCP, the lower two belong to ECN; give a multiple of 4 up to 252"
        )
    return str(byte >> 2)


def _by_name(word: str) -> str:
    return str(CODE_POINTS.get(word.strip().lower(), word))


def bytes_of_blocks(blocks: str, size_factor: str, given: Overrides) -> int:
    """The level of `transfer_bytes` for `--blockcount`: so many times the level of `size_factor`, `given` or usual.

    Raises:
        UsageError: no number, not one size, or another end of the trial.
    """
    if "transfer_bytes" in given:
        raise UsageError("--bytes and --blockcount both end the trial; keep one")
    write = given.get(size_factor, BY_NAME[size_factor].default)
    if not isinstance(write, int):
        raise UsageError("--blockcount needs one write size; give --length SIZE, or --bytes instead")
    try:
        number = BY_NAME["transfer_bytes"].parse(blocks)
    except ProfileError:
        number = "default"
    if not isinstance(number, int):
        raise UsageError(f"--blockcount {blocks} is not a number of writes; give one, such as 1000 or 10K")
    return number * write


def affinity(text: str | None) -> tuple[str | None, str | None]:
    """Levels of `near_cpus` and `far_cpus` for `-A NEAR[,FAR]`.

    Raises:
        UsageError: more than two CPUs.
    """
    if text is None:
        return None, None
    near, _, far = text.partition(",")
    if "," in far:
        raise UsageError(
            f"--affinity {text}: one CPU for each side; lists of CPUs are --set near_cpus=0,2 far_cpus=1-3"
        )
    return near or None, far or None


def over_udp(profile: Profile, given: Overrides) -> tuple[Profile, str | None]:
    """The profile with datagrams, for `-u`: its stream at iperf3's rate unless one is `given`; and a note on that rate.

    Raises:
        UsageError: the far side should send.
    """
    chosen = str(profile.fixed.get("workload", BY_NAME["workload"].default))
    option = "--bidir" if chosen == "bidirectional" else "--reverse" if given.get("direction") == "receive" else None
    if option is not None:
        raise UsageError(
            f"--udp {option}: datagrams go from near to far only; run whyperf on the other host, or leave out {option}"
        )
    workload = OVER_UDP.get(chosen)
    if workload is None:
        return profile.with_overrides({"transport": "udp"}), None
    levels: dict[str, Level] = {"workload": workload}
    note = None
    if workload == "udp-stream" and "write_rate_bps" not in {**profile.fixed, **given}:
        levels["write_rate_bps"] = UDP_RATE_BPS
        note = "UDP at 1 Mbit/s, as in iperf3; set the rate with -b, -b 0 for as fast as the sender can"
    return profile.with_overrides(levels), note


_NO_SERVER = (
    "whyperf starts the far agent over ssh, no server is needed: `whyperf run HOST`, or between network namespaces of "
    "this host `whyperf run --netns NEAR:FAR`"
)
_COMPLETE = "leave it out: the result has both hosts and all details, and --json prints them"
INSTEAD: Mapping[str, str] = {
    "-s": _NO_SERVER,
    "--server": _NO_SERVER,
    "-D": _NO_SERVER,
    "--daemon": _NO_SERVER,
    "-1": _NO_SERVER,
    "--one-off": _NO_SERVER,
    "-V": _COMPLETE,
    "--verbose": _COMPLETE,
    "--get-server-output": _COMPLETE,
    "--udp-counters-64bit": "leave it out: datagrams always have counters of 64 bits",
    "-F": "payload is made in memory; for the cost of files see --set send_call=sendfile",
    "-T": "name the result's folder: --out results/TITLE",
    "--title": "name the result's folder: --out results/TITLE",
    "--cport": "the kernel chooses the near ports; --port sets the far one",
    "-X": "SCTP's addresses cannot be bound one by one; SCTP is --set transport=sctp",
    "--sctp": "SCTP is a transport: --set transport=sctp",
    "-L": "the kernel chooses the flow label of IPv6; leave it out",
    "--flowlabel": "the kernel chooses the flow label of IPv6; leave it out",
    "--latency": "an emulated path has --rtt 20ms; the workload of requests and responses is rr",
    "--jitter": "an emulated path has it as a factor: --set path_jitter_us=500us",
    "--mtu": "the embedded testbed has an MTU: --set mtu_bytes=9000",
    "--connect-timeout": "leave it out; --set deadline_s=30 bounds the whole trial",
    "--rcv-timeout": "leave it out; --set deadline_s=30 bounds the whole trial",
    "--snd-timeout": "leave it out; --set deadline_s=30 bounds the whole trial",
    "--pacing-timer": "leave it out; the rate is -b or --fq-rate",
    "--dont-fragment": "leave it out: Linux sets DF on datagrams that fit the MTU; their size is --length",
    "--repeating-payload": "the payload cannot be chosen; leave it out",
    "--timestamps": "leave it out: --json and the record have the time of every interval",
    "--forceflush": "leave it out: every line is flushed",
}
"""By option of iperf3 that `run` does not have."""
INSTEAD = {**INSTEAD, "--file": INSTEAD["-F"], "--xbind": INSTEAD["-X"], "-d": _COMPLETE}
LOG_FILE = "--logfile"


def instead_of(option: str, given: Sequence[str]) -> str | None:
    """The substitute for an option of iperf3, in the command line `given`; None where iperf3 has none."""
    if option != LOG_FILE:
        return INSTEAD.get(option)
    at = next(at for at, word in enumerate(given) if word.partition("=")[0] == LOG_FILE)
    _, has_value, value = given[at].partition("=")
    behind = given[at + 1 :] if has_value else given[at + 2 :]
    file = value if has_value else next(iter(given[at + 1 :]), "FILE")
    return f"redirect the output: `{shlex.join(['whyperf', *given[:at], *behind])} > {shlex.quote(file)}`"
