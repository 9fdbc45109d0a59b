"""Command lines of netperf and flent, and one of iperf3 without a verb, as the command of whyperf that does the same.

Options have other meanings there: `-l` is the duration, `-t` a test. Only a name of one of their tests, or a far host
where whyperf has a verb, says that these are meant.
"""

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from whyperf.cli.exits import UsageError

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
#: Tests of flent 2.1 (flent --list-tests), and what measures the same: a profile or a workload, and options.
FLENT: Mapping[str, str] = {
    "rrul": "rrul",
    "rrul_be": "--bidir -P 4 --set rtt_probe_ms=100ms",
    "tcp_download": "tcp-down",
    "tcp_upload": "tcp-up",
    "tcp_bidirectional": "--bidir --set rtt_probe_ms=100ms",
    "tcp_1down": "tcp-down",
    "tcp_1up": "tcp-up",
    "tcp_ndown": "tcp-down",
    "tcp_nup": "tcp-up",
    "udp_flood": "-u -b 0",
    "ping": "rr",
}
#: Options of a test of netperf, behind `--`, by what takes their place.
TEST_OPTIONS: Mapping[str, str] = {"-m": "--write-size", "-s": "--window", "-S": "--window", "-K": "-C"}
#: Options without a value.
FLAGS = frozenset({"-4", "-6", "-C", "-d", "-D", "-N", "-h", "-V", "-j", "-r"})
#: Options whose subject is measured or said anyway, or concerns only their own output.
NOT_NEEDED = frozenset({"-c", "-C", "-P", "-v", "-f", "-d", "-j"})
#: Who gives one of these names a far host.
FAR_HOST = ("-c", "--client", "-H", "--host")
#: Options whose value may be written without a space: `-H10.0.0.2`.
JOINED = re.compile(r"(?P<long>--[a-z-]+)=(?P<value>.*)|(?P<short>-[tHl])(?P<rest>.+)")


@dataclass(frozen=True)
class Meant:
    """A command line of whyperf, and why it is not the one that was typed."""

    why: str
    arguments: tuple[str, ...]
    #: The words typed that the command lacks.
    left_out: tuple[str, ...] = ()

    def sentence(self) -> str:
        """Says what runs, and why."""
        lacks = f"; left out: {' '.join(self.left_out)}" if self.left_out else ""
        return f"{self.why}; running {quoted(self.arguments)}{lacks}"


def meant(given: Sequence[str], own: Callable[[], Mapping[str, bool]]) -> Meant | None:
    """The meaning of a command line of netperf, flent, or of iperf3 without a verb; None for any other.

    `own` returns the options of `whyperf run`, and whether each has a value.

    Raises:
        UsageError: `-l` means two things.
    """
    before, after = _at_dashes(given)
    has_verb = before[:1] == ["run"]
    if has_verb and not any(_is_of_another_tool(word) for word in before):
        return None
    options, kept, names = _read(before[1:], own()) if has_verb else _read(before, {})
    host = next((options[name] for name in FAR_HOST if options.get(name)), None)
    # A test of netperf is a word that nobody gives to a host; so are those of flent but one.
    test = next((name for name in (options.get("-t", ""), *names) if name.upper() in NETPERF), None)
    if test is not None:
        command = ["run", *NETPERF[test.upper()].split(), *_place(host, names, test), *_common(options)]
        done = {"-t", "-l", *FAR_HOST, *NOT_NEEDED, "-4", "-6"}
        left_out = (*_left_out(options, done), *_left_out(_read(after, {})[0], {"-D", "-r", *TEST_OPTIONS}))
        return Meant(f"{test} is a test of netperf", (*command, *_of_test(after), *kept), left_out)
    test = next((name for name in names if name.lower() in FLENT), None)
    if test is not None and (test != "ping" or not has_verb or "-H" in options):
        if has_verb and FLENT[test.lower()] == test and "-l" not in options:
            # The name of a profile of whyperf too.
            return None
        command = [
            "run",
            *FLENT[test.lower()].split(),
            *_place(host, names, test),
            *_common(options),
            *_streams(options),
        ]
        done = {"-l", *FAR_HOST, "--test-parameter", "-4", "-6"}
        return Meant(f"{test} is a test of flent", (*command, *_streams(options), *kept), _left_out(options, done))
    if has_verb and "-H" in options and options.get("-l", "").isdigit():
        changed = [{"-l": "-t"}.get(word, word) for word in given]
        raise UsageError(f"-l is the size of writes here, as in iperf3, and -t the duration: {quoted(changed)}")
    if not has_verb and host is not None:
        return Meant("measurements have the verb run", ("run", *given))
    return None


def with_verb(given: Sequence[str]) -> str:
    """For who gave no verb: the same as a measurement."""
    return f"measurements have the verb run: {quoted(['run', *given])}"


def quoted(arguments: Sequence[str]) -> str:
    """A command of whyperf as it is typed."""
    return f"`{shlex.join(['whyperf', *arguments])}`"


def _is_of_another_tool(word: str) -> bool:
    test = word.removeprefix("-t")
    return word.startswith("-H") or test.upper() in NETPERF or test.lower() in FLENT


def _at_dashes(given: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words before `--`, and those behind it."""
    at = given.index("--") if "--" in given else len(given)
    return list(given[:at]), list(given[at + 1 :])


def _read(arguments: Sequence[str], own: Mapping[str, bool]) -> tuple[dict[str, str], list[str], list[str]]:
    """Options with the value behind them, long options of whyperf as they are, and the other words."""
    options: dict[str, str] = {}
    kept: list[str] = []
    names: list[str] = []
    left = list(arguments)
    while left:
        word = left.pop(0)
        if not word.startswith("-"):
            names.append(word)
        elif (name := word.partition("=")[0]) in own and name.startswith("--") and name not in FAR_HOST:
            kept += [word, *([left.pop(0)] if own[name] and name == word and left else [])]
        elif joined := JOINED.fullmatch(word):
            options[joined["long"] or joined["short"]] = joined["value"] or joined["rest"] or ""
        elif word not in FLAGS and left and (not left[0].startswith("-") or left[0][1:].isdigit()):
            options[word] = left.pop(0)
        else:
            options[word] = ""
    return options, kept, names


def _place(host: str | None, names: Sequence[str], test: str) -> list[str]:
    """The far host: that of an option, or the word that is not the test."""
    far = host or next((name for name in names if name != test), None)
    return [] if far is None else ["--host", far]


def _common(options: Mapping[str, str]) -> Iterator[str]:
    seconds = options.get("-l", "")
    # A negative number counts bytes or transactions in netperf; the trial ends in another way here.
    if seconds and not seconds.startswith("-"):
        yield from ("-t", seconds)
    yield from (version for version in ("-4", "-6") if version in options)


def _streams(options: Mapping[str, str]) -> list[str]:
    """The number of streams of flent's tests with several."""
    number = re.fullmatch(r"(?:up|down|bidir_)?(?:load)?_?streams=(\d+)", options.get("--test-parameter", ""))
    return ["-P", number[1]] if number else []


def _left_out(options: Mapping[str, str], done: Collection[str]) -> tuple[str, ...]:
    return tuple(chain.from_iterable(filter(None, each) for each in options.items() if each[0] not in done))


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
