"""The meaning of the argument of `whyperf run`: a profile, a workload or a host."""

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from whyperf.cli.exits import UsageError
from whyperf.cli.inputs import say_what_is_taken
from whyperf.cli.inputs.verbs import SAME as OTHER_VERBS
from whyperf.foreign import shell_line
from whyperf.foreign.other_tools import not_opened_yet
from whyperf.hosts import is_usable_host
from whyperf.profile import (
    BY_NAME,
    Profile,
    ProfileError,
    find,
    load_workload,
    looks_like_path,
    looks_like_workload,
    shipped_names,
    shipped_workload,
    shipped_workload_names,
    suggestion,
)
from whyperf.profile.schedule import SHIPPED as SHIPPED_SCHEDULES
from whyperf.run.agents.pipes import refuse_unusable_host

QUICK = "quick"
#: Arguments that stand for this machine, as iperf3 and netperf take them: measured over loopback, without ssh.
THIS_MACHINE = {
    "localhost": 4,
    "localhost.localdomain": 4,
    "127.0.0.1": 4,
    "loopback": 4,
    "lo": 4,
    "::1": 6,
    "ip6-localhost": 6,
}
#: Words for a profile or a workload of another name.
SAME: Mapping[str, str] = {
    **dict.fromkeys(("latency", "ping", "rtt", "delay", "request-response"), "rr"),
    **dict.fromkeys(("throughput", "bandwidth", "bulk", "tcp", "speed", "goodput", "iperf", "iperf3"), "stream"),
    **dict.fromkeys(("udp", "datagrams", "jitter", "loss"), "udp-stream"),
    **dict.fromkeys(("download", "down"), "tcp-down"),
    **dict.fromkeys(("upload", "up"), "tcp-up"),
    **dict.fromkeys(("bufferbloat", "bloat", "responsiveness", "rpm"), "rrul"),
    **dict.fromkeys(("connect", "http", "handshakes"), "crr"),
    **dict.fromkeys(("pps", "packets"), "packet-rate"),
    **dict.fromkeys(("window", "windows"), "window-sweep"),
    **dict.fromkeys(("bidir", "duplex"), "bidirectional"),
}
#: Protocols that somebody may type as a word, and the option for each.
PROTOCOLS: Mapping[str, str] = {"udp": "-u", "tcp": ""}
#: Arguments that stand for the embedded testbed.
TESTBED = frozenset({"testbed", "veth"})


def understand(argument: str | None, host: str | None) -> tuple[Profile, str | None]:
    """The profile to run and the far host, None for the embedded testbed.

    A shipped name or a path is a profile; the name or the file of a workload is the profile `quick` with it, where
    no profile has the name; anything else is a host to measure with the profile `quick`, unless it looks like a
    misspelled name. A bare name is never a path: what is shipped comes before a file or folder of that name.

    Raises:
        UsageError: neither, or an ambiguous word.
        RunError: a host that cannot be one.
        ProfileError: a profile that cannot be used.
    """
    if host is not None:
        for name in host.split(","):
            refuse_unusable_host(name)
    if argument is None:
        return find(QUICK), host
    if (shipped := _shipped(argument)) is not None:
        return shipped, host
    other = "" if looks_like_path(argument) else f" (a host of that name: --host {argument})"
    if Path(argument).is_dir() and (Path(argument) / "plan.json").exists():
        resumes = "" if _is_watched(Path(argument)) else ", and the command that made them resumes"
        raise UsageError(
            f"{argument} holds results; `{shell_line(['whyperf', 'show', argument])}` shows them{resumes}{other}"
        )
    if Path(argument).is_dir() and host is None:
        raise UsageError(f"{argument} is a folder; a profile is a TOML file: name one in it{other}")
    if (sentence := not_opened_yet(Path(argument))) is not None:
        raise UsageError(f"{sentence}{other}")
    if looks_like_path(argument) and looks_like_workload(Path(argument)):
        return with_workload(find(QUICK), argument), host
    if looks_like_path(argument):
        return find(argument), host
    if host is not None:
        return find(argument), host
    if argument in SHIPPED_SCHEDULES:
        raise UsageError(
            f"{argument} is a schedule of flows: `whyperf run --set schedule={argument}` "
            f"(a host of that name: --host {argument})"
        )
    _refuse_misspelled(argument)
    if not is_usable_host(argument):
        raise UsageError(f'"{argument}" is neither a profile, a workload nor a host; `whyperf list` names them')
    say_what_is_taken(argument, "a host")
    return find(QUICK), argument


def _refuse_misspelled(argument: str) -> None:
    """Refuses to take for a host what is more likely a file, a misspelled name, or a word for a command.

    Raises:
        UsageError: what is meant, and how to name such a host.
    """
    _refuse_protocol(argument, "")
    if Path(argument).suffix and Path(argument).is_file():
        raise UsageError(
            f"{argument} is a file that whyperf cannot measure with; profiles are TOML files "
            f"(a host of that name: --host {argument})"
        )
    verb = OTHER_VERBS.get(argument)
    if (meant := _nearest(argument) or (verb and f"`whyperf {verb}`")) is not None:
        raise UsageError(
            f'there is no profile or workload "{argument}"; did you mean {meant}? '
            f"(a host of that name: --host {argument})"
        )


def _is_watched(folder: Path) -> bool:
    """True where a folder holds a watched result, which no command resumes."""
    from whyperf.record import Experiment, RecordError  # noqa: PLC0415 - only for what is a mistake

    try:
        return Experiment.open(folder).plan.watched is not None
    except RecordError:
        return False


def far_host(first: str | None, second: str | None, host: str | None) -> str | None:
    """The far host: the second word, behind a profile or a workload, or that of `--host`.

    Raises:
        UsageError: the second word could be something else.
    """
    if second is None:
        return host
    names = {*shipped_names(), *shipped_workload_names()}
    is_question = first is not None and (first in names or looks_like_path(first))
    if second in names or looks_like_path(second):
        if is_question:
            more = "" if looks_like_path(second) else f" (a host of that name: --host {second})"
            raise UsageError(f"{first} and {second} are two measurements; run one after the other{more}")
        raise UsageError(f"the profile or workload comes before the host: `whyperf run {second} {first}`")
    if host is not None:
        raise UsageError(f"{second} and --host {host} are two far hosts; leave one out")
    if is_question and second in TESTBED:
        raise UsageError(f"{second} is the embedded testbed, not a host: `whyperf run {first} --testbed veth`")
    if is_question:
        _refuse_protocol(second, str(first))
    else:
        _refuse_protocol(str(first), second)
        near = _nearest(str(first))
        meant = f"did you mean {near}?" if near else "`whyperf list` names them"
        raise UsageError(f'"{first}" before the host {second} is neither a profile nor a workload; {meant}')
    return second


def _nearest(word: str) -> str | None:
    """The shipped profile or workload that a word means: another word for it, or a misspelling."""
    names = sorted({*shipped_names(), *shipped_workload_names()})
    return SAME.get(word.lower()) or next(iter(get_close_matches(word.lower(), names, n=1, cutoff=0.75)), None)


def named_question(word: str) -> str | None:
    """The shipped profile or workload of exactly this name, or for which this is another word."""
    return word if word in shipped_names() or word in shipped_workload_names() else SAME.get(word)


def _refuse_protocol(word: str, others: str) -> None:
    """Refuses the name of a protocol, or a number, as the name of a host: it is an option, or usual.

    Raises:
        UsageError: the command that is meant, with the `others` of the two words.
    """
    if word.isdecimal():
        raise UsageError(
            f"{word} is a number and no host; the size of writes is -l {word}, the number of connections -P {word} "
            f"(a host of that name: --host {word})"
        )
    if (option := PROTOCOLS.get(word.lower())) is not None:
        what = "is the option -u" if option else "is what profiles use anyway"
        command = " ".join(filter(None, ["whyperf run", others, option]))
        raise UsageError(f"{word} {what}: `{command}` (a host of that name: --host {word})")


def _shipped(name: str) -> Profile | None:
    """The shipped profile of this name, or `quick` with the shipped workload of this name."""
    if name in shipped_names():
        say_what_is_taken(name, "the shipped profile")
        return find(name)
    if name in shipped_workload_names():
        say_what_is_taken(name, "the shipped workload")
        return _about(find(QUICK).with_overrides({"workload": name}), shipped_workload(name).about)
    return None


def with_workload(profile: Profile, argument: str) -> Profile:
    """The profile with what `--workload` names: a file where it looks like one, else a workload's name.

    Raises:
        ProfileError: it cannot be used, or the profile varies what is asked for.
    """
    if looks_like_path(argument):
        if not Path(argument).is_file():
            problem = "there is no such file; `whyperf list --workloads` names the shipped workloads"
            raise ProfileError(argument, "", problem)
        workload = load_workload(Path(argument))
        return _about(profile.with_workload(workload), workload.about)
    try:
        name = BY_NAME["workload"].check(argument)
        known = {*shipped_workload_names(), *profile.workloads}
        if name not in known:
            raise ProfileError("", "", f'there is no workload "{argument}"{suggestion(argument, known)}')
        say_what_is_taken(argument, "the workload of that name")
        changed = profile.with_overrides({"workload": name})
        return _about(changed, shipped_workload(argument).about) if argument in shipped_workload_names() else changed
    except ProfileError as error:
        raise error.at("--workload") from None


def _about(profile: Profile, about: str) -> Profile:
    """The profile `quick` says what its workload does; others have a question of their own."""
    return replace(profile, about=about) if profile.name == QUICK and about else profile
