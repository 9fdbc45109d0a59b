"""Command lines of netperf and flent, and those of iperf3 without a verb: which command of whyperf does the same.

Options have other meanings there (`-l` is the duration, `-t` a test), so nothing is guessed: the answer is a command.
"""

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

#: Tests of netperf 2.7 (netperf -t), and what measures the same: a workload and options.
NETPERF: Mapping[str, str] = {
    "TCP_STREAM": "",
    "TCP_MAERTS": "--reverse",
    "TCP_SENDFILE": "--zerocopy",
    "TCP_RR": "rr",
    "TCP_CRR": "crr",
    "TCP_CC": "crr",
    "UDP_STREAM": "-u -b 0",
    "UDP_RR": "rr -u",
    "STREAM_STREAM": "--set transport=unix",
    "STREAM_RR": "rr --set transport=unix",
}
#: Tests of flent 2.1 (flent --list-tests): a profile, and the same without it.
FLENT: Mapping[str, tuple[str, str]] = {
    "rrul": ("rrul", "--bidir -P 4 --set rtt_probe_ms=100ms"),
    "rrul_be": ("", "--bidir -P 4 --set rtt_probe_ms=100ms"),
    "tcp_download": ("tcp-down", "--reverse --set rtt_probe_ms=100ms"),
    "tcp_upload": ("tcp-up", "--set rtt_probe_ms=100ms"),
    "tcp_bidirectional": ("", "--bidir --set rtt_probe_ms=100ms"),
    "tcp_1down": ("", "--reverse --set rtt_probe_ms=100ms"),
    "tcp_1up": ("", "--set rtt_probe_ms=100ms"),
    "tcp_ndown": ("", "--reverse -P 4 --set rtt_probe_ms=100ms"),
    "tcp_nup": ("", "-P 4 --set rtt_probe_ms=100ms"),
    "udp_flood": ("", "-u -b 0"),
    "ping": ("", "rr"),
}
#: Options of netperf behind `--`, by what takes their place; others are left out.
TEST_OPTIONS: Mapping[str, str] = {"-m": "--write-size", "-s": "--window", "-S": "--window", "-K": "-C"}
#: Options of netperf and flent that have a value here or there.
WITH_VALUE = {
    "-t",
    "-H",
    "-l",
    "-p",
    "-f",
    "-x",
    "-n",
    "-o",
    "-s",
    "-D",
    "-i",
    "-c",
    "--host",
    "--length",
    "--step-size",
}


def whyperf_command(given: Sequence[str], profiles: Callable[[], Collection[str]]) -> str | None:
    """What to write instead of a command line of netperf or flent, as a sentence; None for any other.

    `profiles` returns the names of those that are shipped.
    """
    before, after = _at_dashes(given)
    has_verb = before[:1] == ["run"]
    arguments = before[1:] if has_verb else before
    options, names = _options(arguments)
    test = options.get("-t", options.get("--testname", ""))
    # Few tests of netperf have a name that somebody gives to a host.
    test = next((name for name in names if name.upper() in NETPERF), test)
    host = options.get("-H", options.get("--host", options.get("-c")))
    if test.upper() in NETPERF:
        command = ["run", *NETPERF[test.upper()].split()]
        # A request by its size and its response's, or a stream by its write size.
        other = next((name for name in names if name != test), None)
        translated = [*_host(host or other), *_length(options.get("-l")), *_of_test(after)]
        return f"{test} is a test of netperf: {_sentence([*command, *translated])}"
    flent = next((name for name in (*names, test) if name.lower() in FLENT), None)
    if flent is not None and ({"-H", "-l"} & options.keys() or "_" in flent or not has_verb):
        profile, same = FLENT[flent.lower()]
        if has_verb and "-l" not in options and flent in profiles():
            return None
        asked = [profile] if profile in profiles() else same.split()
        return f"{flent} is a test of flent: {_sentence(['run', *asked, *_host(host), *_length(options.get('-l'))])}"
    if has_verb and "-H" in options and "-l" in options:
        changed = _replaced(arguments, {"-l": "-t"})
        return f"-l is the size of writes here, as in iperf3, and -t the duration: {_sentence(['run', *changed])}"
    return None


def with_verb(given: Sequence[str]) -> str:
    """For who gave no verb: the same as a measurement."""
    return f"measurements have the verb run: {_sentence(['run', *given])}"


def _sentence(arguments: Sequence[str]) -> str:
    return f"`{shlex.join(['whyperf', *arguments])}`"


def _at_dashes(given: Sequence[str]) -> tuple[list[str], list[str]]:
    """What comes before `--`, and behind it."""
    at = given.index("--") if "--" in given else len(given)
    return list(given[:at]), list(given[at + 1 :])


def _options(arguments: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Options with the value behind them, and the other words."""
    options: dict[str, str] = {}
    names: list[str] = []
    left = iter(arguments)
    for word in left:
        if not word.startswith("-"):
            names.append(word)
        elif joined := re.fullmatch(r"(--[a-z-]+)=(.*)|(-[tHl])(.+)", word):
            options[joined[1] or joined[3]] = joined[2] or joined[4]
        else:
            options[word] = next(left, "") if word in WITH_VALUE else ""
    return options, names


def _replaced(arguments: Sequence[str], names: Mapping[str, str]) -> list[str]:
    return [names.get(word, word) for word in arguments]


def _host(host: str | None) -> list[str]:
    return [] if not host else ["--host", host]


def _length(seconds: str | None) -> list[str]:
    """netperf counts bytes or transactions where the number is negative; that is another end of the trial."""
    if not seconds or seconds.startswith("-"):
        return []
    return ["-t", seconds]


def _of_test(arguments: Sequence[str]) -> Iterator[str]:
    """The options of a test that have the same here."""
    done: set[str] = set()
    for option, value in zip(arguments, [*arguments[1:], ""], strict=False):
        if option == "-D":
            yield "--no-delay"
        elif option == "-r" and re.fullmatch(r"\w+(,\w+)?", value):
            request, _, response = value.partition(",")
            yield from ("--set", f"request_size_bytes={request}", "--set", f"response_size_bytes={response or request}")
        elif (same := TEST_OPTIONS.get(option)) is not None and re.fullmatch(r"[\w,]+", value) and same not in done:
            done.add(same)
            yield from (same, value.partition(",")[0])
