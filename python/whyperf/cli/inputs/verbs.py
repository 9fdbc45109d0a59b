"""Words that are no command: the command that a misspelled one, one of another tool, a host or a file means."""

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whyperf.cli.inputs.other_tools import Meant

#: Words that other tools have for what a command of whyperf does.
SAME: Mapping[str, str] = {
    **dict.fromkeys(("plot", "graph", "chart", "draw", "gui", "html", "page", "web", "browse"), "report"),
    **dict.fromkeys(
        ("open", "view", "print", "display", "cat", "read", "result", "results", "summary", "stats"), "show"
    ),
    **dict.fromkeys(("test", "measure", "bench", "benchmark", "start", "client", "perf", "speedtest", "resume"), "run"),
    **dict.fromkeys(("monitor", "top", "live", "attach", "trace", "ss", "observe", "capture", "record"), "watch"),
    **dict.fromkeys(("why", "analyze", "analyse", "diagnose", "bottleneck", "verdict"), "explain"),
    **dict.fromkeys(("diff", "delta", "versus", "vs"), "compare"),
    **dict.fromkeys(("save", "convert", "copy", "share", "anonymize", "csv", "json", "parquet"), "export"),
    **dict.fromkeys(("ls", "profiles", "workloads", "tests", "factors"), "list"),
    **dict.fromkeys(("check", "info", "capabilities", "setup", "clean", "cleanup"), "doctor"),
    **dict.fromkeys(("flame", "flamegraph", "functions", "cycles"), "cost"),
    **dict.fromkeys(("segments", "packets", "sequence", "timeline"), "flow"),
}
#: Commands that are in the laboratory now.
OF_LABORATORY = frozenset({"truth"})
#: Words for experiments with a result, which are an option of `explain`.
OF_PROOFS = frozenset({"verify", "prove", "proof", "confirm", "try"})
#: Congestion controls that people compare.
CONTROLS = frozenset({"reno", "cubic", "bbr", "dctcp", "htcp", "vegas", "westwood"})
OF_SERVERS = frozenset({"server", "serve", "listen", "daemon"})
#: The likeness of a word and a command, from 0 to 1, for the one to be a misspelling of the other.
MIN_LIKENESS = 0.6
#: The pattern that words lack that are neither names of hosts with a domain or a number nor addresses.
OF_HOSTS = re.compile(r"[\w-]+@.+|.*[0-9.:].*|localhost|loopback|lo")


def nearest_verb(word: str, verbs: Collection[str]) -> str | None:
    """The command that a word means: another tool's word for it, or a misspelling, which begins alike."""
    if (same := SAME.get(word.lower())) is not None:
        return same
    # `localhost` is as much like `cost` as `rnu` is like `run`.
    alike = [verb for verb in verbs if verb[:1] == word[:1].lower()]
    return next(iter(get_close_matches(word.lower(), alike, n=1, cutoff=MIN_LIKENESS)), None)


def instead(given: Sequence[str], verbs: Collection[str], options_of_run: Collection[str]) -> str:
    """Says what to do instead of a command line whose first word is no command.

    A word that may be anything is never suggested as a host: `run` would contact it.
    """
    from whyperf.cli.inputs.iperf3 import INSTEAD  # noqa: PLC0415 - keeps help quick
    from whyperf.cli.inputs.other_tools import quoted, with_verb  # noqa: PLC0415 - as above
    from whyperf.foreign.other_tools import not_opened_yet  # noqa: PLC0415 - as above

    word, rest = given[0], given[1:]
    file = next((path for path in map(Path, given) if path.is_file()), None)
    if file is not None and (sentence := not_opened_yet(file)) is not None:
        return sentence
    if word in OF_SERVERS:
        return INSTEAD["-s"]
    more = ["--try"] if word.lower() in OF_PROOFS else []
    if (verb := "explain" if more else nearest_verb(word, verbs)) is not None:
        return f"did you mean {quoted([verb, *rest, *more])}?"
    if (Path(word) / "plan.json").exists():
        return f"{shlex.quote(word)} holds a result: {quoted(['show', *given])}"
    if _is_question(word) or OF_HOSTS.fullmatch(word) or any(option in options_of_run for option in rest):
        return with_verb(given)
    return "`whyperf --help` lists the commands, and `whyperf run HOST` measures"


def in_laboratory(given: Sequence[str], what: str = "it is") -> str:
    """Where a command line went that is not of the package any more."""
    from whyperf.cli.inputs.other_tools import quoted  # noqa: PLC0415 - keeps help quick

    command = quoted(given).replace("whyperf ", ".venv/bin/whyperf-lab ", 1)
    return f"{what} in the laboratory of the repository now: `make setup-run`, then {command}"


def tools_in_laboratory(given: Sequence[str]) -> str:
    """Where `whyperf compare --tools TOOL,…` went."""
    at = next(at for at, word in enumerate(given) if word.partition("=")[0] == "--tools")
    tools = given[at].partition("=")[2] or " ".join(given[at + 1 : at + 2])
    rest = given[at + 1 :] if "=" in given[at] else given[at + 2 :]
    return in_laboratory(["tools", tools, *given[1:at], *rest])


def measured_under(given: Sequence[str]) -> str:
    """For who compares what is not measured yet: the command that measures it, of `compare` and its words."""
    from whyperf.cli.inputs.other_tools import quoted  # noqa: PLC0415 - keeps help quick

    compared = list(takewhile(lambda word: not word.startswith("-"), given[1:]))
    if CONTROLS.issuperset(compared) and compared:
        measured = ["run", "-C", ",".join(compared), *given[1 + len(compared) :]]
        return f"these are congestion controls, which one run measures: {quoted(measured)}"
    return "two conditions are measured by `whyperf compare --run --set FACTOR=LEVEL --against FACTOR=LEVEL`"


def _is_question(word: str) -> bool:
    """True where it is a profile or a workload, which runs on this machine."""
    from whyperf.profile import looks_like_path, shipped_names, shipped_workload_names  # noqa: PLC0415 - as above

    return (
        word in shipped_names() or word in shipped_workload_names() or (looks_like_path(word) and Path(word).is_file())
    )


def question_of_option(option: str, given: Sequence[str]) -> "Meant | None":
    """For a profile or workload that was typed as an option, such as `--rr`: the command line with it as a word."""
    from whyperf.cli.inputs.other_tools import Meant  # noqa: PLC0415 - keeps help quick
    from whyperf.cli.inputs.question import named_question  # noqa: PLC0415 - as above

    name = named_question(option.removeprefix("--"))
    if name is None or option not in given:
        return None
    rest = [word for word in given if word not in {option, "run"}]
    return Meant(f"{name} is a word, not an option", ("run", name, *rest))
