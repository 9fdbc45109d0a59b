"""Options that set a factor, and `--set factor=value`."""

import re
from collections.abc import Iterable, Mapping

from whyperf.profile import Level, Overrides, ProfileError, factor_named, levels_of_text

#: The options of `run` that stand for a factor, by the factor's name. iperf3 has most of them.
OPTIONS: dict[str, str] = {
    "duration_s": "--time",
    "transfer_bytes": "--bytes",
    "connections": "--connections",
    "window_bytes": "--window",
    "write_size_bytes": "--write-size",
    "direction": "--reverse",
    "congestion_control": "--congestion",
    "ip_version": "--ipv6",
    "no_delay": "--no-delay",
    "transport": "--mptcp",
    "datagram_size_bytes": "--length",
    "write_rate_bps": "--bitrate",
    "warmup_s": "--omit",
    "send_call": "--zerocopy",
    "mss_bytes": "--set-mss",
    "dscp": "--dscp",
    "pacing_rate_bps": "--fq-rate",
    "truncate": "--skip-rx-copy",
    "source_address": "--bind",
    "path_rtt_ms": "--rtt",
    "path_rate_bps": "--rate",
    "path_loss": "--loss",
    "near_cpus": "--affinity",
    "far_cpus": "--affinity",
    "hosts": "--hosts",
    "link": "--link",
}


def overrides(options: Mapping[str, str | None], assignments: Iterable[str]) -> dict[str, Level | tuple[Level, ...]]:
    """The factors that the command line sets, several levels of one as a tuple.

    `options` maps factors to what was given, None for nothing.

    Raises:
        ProfileError: naming the option.
    """
    found: dict[str, Level | tuple[Level, ...]] = {}
    for name, text in options.items():
        if text is not None:
            found[name] = _levels(name, text, OPTIONS[name])
    for assignment in assignments:
        name, equals, text = (part.strip() for part in assignment.partition("="))
        if not equals or not text:
            raise ProfileError("--set", assignment, "write factor=level, for example mtu_bytes=9000")
        if name in found:
            other = "--set" if options.get(name) is None else OPTIONS[name]
            problem = f"the factor is set twice; keep one ({other} sets it too)"
            raise ProfileError("--set", name, f"{problem}, or give several levels with commas: {name}=LEVEL,LEVEL")
        found[name] = _levels(name, text, "--set")
    return found


def in_words_of(error: ProfileError, given: Overrides, with_option: Iterable[str]) -> ProfileError:
    """An error of the command line in its words: options of their own for the factors `with_option`, --set for others
    that were `given`.
    """
    options = {name: OPTIONS[name] for name in with_option}
    problem = error.problem.replace("; it takes ", "; it takes, with --set, ") if error.key in given else error.problem
    for name, option in options.items():
        problem = re.sub(rf"\b{name}\b", option, problem)
    if error.key in given:
        return ProfileError(options.get(error.key, f"--set {error.key}"), "", problem)
    return ProfileError(error.where, error.key, problem)


def _levels(name: str, text: str, option: str) -> Level | tuple[Level, ...]:
    try:
        return levels_of_text(factor_named(name), text)
    except ProfileError as error:
        raise error.at(option) from None
