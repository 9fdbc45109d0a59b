"""Options that set a factor, and `--set factor=value`."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence

from whyperf.profile import BY_NAME, Level, Overrides, ProfileError, factor_named, levels_of_text, near_names
from whyperf.profile.path_factors import MAKERS

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

#: So many words has the name of a factor for each word of it that is typed as an option: name, thing and unit, as in
#: send_buffer_bytes.
MAX_WORDS_EACH = 3


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
    if not options.keys().isdisjoint(MAKERS):
        # What one of them lacks is another one.
        options |= {name: OPTIONS[name] for name in MAKERS}
    problem = error.problem.replace("; it takes ", "; it takes, with --set, ") if error.key in given else error.problem
    for name, option in options.items():
        problem = re.sub(rf"\b{name}\b", option, problem)
    if error.key in given:
        return ProfileError(options.get(error.key, f"--set {error.key}"), "", problem)
    return ProfileError(error.where, error.key, problem)


def instead_of_factor(option: str, given: Sequence[str], own: Mapping[str, bool]) -> str | None:
    """The substitute for an option that is the name of a factor, or much like one; None where it is neither.

    `own` are the options of the command, and whether each has a value.
    """
    if "--set" not in own or not option.startswith("--"):
        return None
    word = option.removeprefix("--").replace("-", "_").lower()
    names = [word] if word in BY_NAME else [name for name in near_names(word, BY_NAME) if _is_like(word, name)]
    if not names:
        return None
    texts = {name: _level_given(option, given, name) for name in names}
    written = [f"--set {name}={text}" for name, text in texts.items()]
    if len(names) == 1 and own.get(other := OPTIONS.get(names[0], "")):
        written.append(f"{other} {texts[names[0]]}")
    return f"did you mean {' or '.join(written)}?"


def _is_like(word: str, name: str) -> bool:
    """True where an option may mean a factor: one word between others, as in `--output`, is another thing."""
    is_inside = f"_{word}_" in f"{name}_" and not name.startswith(word)
    return not is_inside or MAX_WORDS_EACH * len(word.split("_")) >= len(name.split("_"))


def _level_given(option: str, given: Sequence[str], name: str) -> str:
    """The text given for an option, where the factor takes it; else a word in its place."""
    at = next((at for at, word in enumerate(given) if word.partition("=")[0] == option), len(given))
    _, has_value, value = "".join(given[at : at + 1]).partition("=")
    text = value if has_value else "".join(given[at + 1 : at + 2])
    try:
        levels_of_text(factor_named(name), text)
    except ProfileError:
        return "VALUE"
    return shlex.quote(text)


def _levels(name: str, text: str, option: str) -> Level | tuple[Level, ...]:
    if option == OPTIONS["path_loss"]:
        _refuse_bare_loss(text)
    try:
        return levels_of_text(factor_named(name), text)
    except ProfileError as error:
        # Who typed an option need not know which factor it sets.
        raise error.at(option) if option == "--set" else ProfileError(option, "", error.problem) from None


#: From here on a bare number of `--loss` is refused. The help's example is 0.1%, and without its sign it is 10 %.
MIN_BARE_LOSS = 0.1


def _refuse_bare_loss(text: str) -> None:
    """Refuses a share that was probably meant as percent, as tc-netem(8) reads it, and one of more than all packets.

    Raises:
        ProfileError: what to write instead.
    """
    for level in text.replace(" ", "").split(","):
        number = level.removesuffix("%")
        try:
            share = float(number)
        except ValueError:
            continue
        if level != number and share > 100:
            problem = "is more than all packets; give 0% to 100%, such as 0.1%"
        elif level == number and share > 1:
            problem = f"is more than all packets; write {level}% for {level} % of them"
        elif level == number and share >= MIN_BARE_LOSS:
            problem = f"is {100 * share:g} % of the packets; write {level}% for {level} %, or {100 * share:g}%"
        else:
            continue
        raise ProfileError("", "", f"--loss {level} {problem}")
