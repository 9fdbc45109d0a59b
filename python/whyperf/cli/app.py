"""The commands and their entry point: parse, call, turn errors into one sentence and an exit code."""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.completion import get_completion_inspect_parameters, install_callback, show_callback

from whyperf.cli.command_classes import ComparingCommand, QuickCommand, QuickGroup, WrappingCommand
from whyperf.cli.commands import (
    calibrate,
    compare,
    cost,
    doctor,
    export,
    flow,
    k8s,
    list_,
    overhead,
    report,
    run,
    show,
    simulate,
    slurm,
    studies,
    transports,
    watch,
    why,
)
from whyperf.cli.commands import explain as explain_verb
from whyperf.cli.exits import (
    DONE,
    FAILED,
    INTERRUPTED,
    USAGE,
    CommandStatus,
    Stopped,
    explain,
    is_panic,
    say,
    wants_traceback,
)
from whyperf.cli.groups import ABOUT, FIRST, GROUPS, VIEWS, alone, word_of
from whyperf.cli.memory import bound_memory
from whyperf.cli.streams import drop_output, prepare

if TYPE_CHECKING:
    from whyperf.cli.inputs.other_tools import Meant

#: Typer carries its own copy of click; these are the public names' base classes.
_BAD_USAGE: type[Exception] = typer.BadParameter.__mro__[1]
_BAD_CLICK: type[Exception] = typer.BadParameter.__mro__[2]

# Registers the shells. Of typer's own options, those of completion load pydantic for every command.
get_completion_inspect_parameters()
app = typer.Typer(
    name="whyperf",
    cls=QuickGroup,
    add_completion=False,
    help="Measures how fast two hosts move data, explains what limits the rate, and proves it.",
    epilog="Example: whyperf run window-sweep --only window_bytes=4096,8192 --trials 3",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
VERBS = {
    verb.NAME: verb
    for verb in (
        *(run, why, watch, simulate, show, explain_verb, compare, cost, flow, report, export, list_, overhead),
        *(calibrate, studies, doctor, transports, k8s, slurm),
    )
}


def _add(to: typer.Typer, name: str, *, hidden: bool = False) -> None:
    verb = VERBS[name]
    of_class = {watch: WrappingCommand, slurm: WrappingCommand, compare: ComparingCommand}.get(verb, QuickCommand)
    to.command(name=name, cls=of_class, epilog=verb.EXAMPLE, hidden=hidden)(verb.command)


for word in FIRST:
    _add(app, word)
for group, members in GROUPS.items():
    own = typer.Typer(cls=QuickGroup, help=ABOUT[group])
    for word in members:
        _add(own, word)
    app.add_typer(own, name=group)
_add(app, studies.NAME)
# The words of earlier versions.
for word in (*dict.fromkeys(VIEWS.values()), *(word for members in GROUPS.values() for word in members)):
    _add(app, word, hidden=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        from whyperf import __version__  # noqa: PLC0415 - keeps help quick

        typer.echo(f"whyperf {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
    __: Annotated[
        bool,
        typer.Option(
            "--install-completion", callback=install_callback, help="Install completion for the current shell."
        ),
    ] = False,
    ___: Annotated[
        bool,
        typer.Option(
            "--show-completion", callback=show_callback, help="Show completion for the current shell, to copy it."
        ),
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit code: 0 done, 1 failed, 2 usage, 3 done but incomplete, 130 stopped."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        bound_memory()
    return answered("whyperf", given, _run, _usage)


def answered(
    program: str,
    given: list[str],
    run_command: Callable[[list[str]], Any],
    usage: Callable[[Exception, Sequence[str]], str],
) -> int:
    """Runs a command line of a program; what goes wrong is one sentence. Returns the exit code.

    `run_command` parses and calls; it may replace what is given. `usage` is the sentence for what typer refuses.
    """
    prepare()
    try:
        code = run_command(given)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of a pipe has seen enough.
        drop_output()
        return FAILED
    except _BAD_USAGE as error:
        say(f"{program}: {usage(error, given)}")
        return USAGE
    except Stopped:
        return INTERRUPTED
    except (KeyboardInterrupt, typer.Abort):
        say(f"{program}: stopped")
        return INTERRUPTED
    except BaseException as error:
        if wants_traceback() or not (isinstance(error, Exception) or is_panic(error)):
            raise
        failed, text = explain(error, given[0] if given else None)
        say(f"{program}: {text}")
        try:
            sys.stdout.flush()
        except OSError:
            # It would fail once more at exit.
            drop_output()
        return failed
    # What typer makes of a Ctrl-C that nobody handles.
    if code == INTERRUPTED and not isinstance(code, CommandStatus):
        say(f"{program}: stopped")
    return code if isinstance(code, int) else DONE


def _run(given: list[str]) -> Any:
    given[:], group = alone(given)
    given[:] = _in_own_options(given)
    try:
        return _called(given, group)
    except _BAD_USAGE as error:
        if (found := _question(error, given)) is None:
            raise
    say(f"whyperf: {found.sentence()}")
    given[:] = found.arguments
    return _called(given)


def _called(given: Sequence[str], group: str = "") -> Any:
    return _command()(args=given or ["--help"], prog_name=f"whyperf {group}".rstrip(), standalone_mode=False)


@cache
def _command() -> Any:
    """All commands with their parameters; to make them takes as long as many a command."""
    return typer.main.get_command(app)


def _in_own_options(given: list[str]) -> list[str]:
    """The command line, or that of whyperf which does what one of netperf or flent asks for, after saying so."""
    if not given or (given[0] in (*VERBS, *GROUPS) and given[0] != run.NAME):
        return given
    from whyperf.cli.inputs.other_tools import meant  # noqa: PLC0415 - keeps help quick

    if (found := meant(given, _options_of_run)) is None:
        return given
    say(f"whyperf: {found.sentence()}")
    return list(found.arguments)


def _question(error: Exception, given: Sequence[str]) -> "Meant | None":
    """The command line that a profile or workload means which was typed as an option."""
    option = getattr(error, "option_name", None)
    if option is None or not given or (given[0] in (*VERBS, *GROUPS) and given[0] != run.NAME):
        return None
    from whyperf.cli.inputs.iperf3 import instead_of  # noqa: PLC0415 - keeps help quick
    from whyperf.cli.inputs.verbs import question_of_option  # noqa: PLC0415 - as above

    # Options of other tools have meanings of their own, such as --jitter.
    return None if instead_of(option, given) is not None else question_of_option(option, given)


def _usage(error: Exception, given: Sequence[str]) -> str:
    """Click's message in one line, with the way to the help, or to what was meant."""
    message = refusal(error)
    if message.startswith("No such command") and given[0] not in GROUPS:
        from whyperf.cli.inputs.verbs import OF_LABORATORY, in_laboratory, instead  # noqa: PLC0415 - keeps help quick

        typed = given[next((at for at, word in enumerate(given) if not word.startswith("-")), 0) :]
        # Click's own suggestion sees a likeness between `localhost` and `cost`.
        message = message.partition(" Did you mean")[0].removesuffix(".")
        is_moved = typed[0] in OF_LABORATORY
        meant = in_laboratory(typed) if is_moved else instead(typed, (*VERBS, *GROUPS), _options_of_run())
        return f"{message[:1].lower()}{message[1:]}; {meant}"
    # Click knows the verb of most mistakes; not where an option lacks its value.
    verb = given[0] if given and given[0] in (*VERBS, *GROUPS) else None
    option = getattr(error, "option_name", None)
    path = "whyperf" if verb is None else f"whyperf {word_of(verb)}"
    if (known := hint(verb, option, given)) is not None:
        # Click's own suggestions are options of similar letters.
        return f"{message[:1].lower()}{message[1:].partition(' (Possible')[0]}; {known}"
    way = f"{_meaning(verb, error)}see `{path} --help`"
    return f"{message[:1].lower()}{message[1:]}; {way}"


def refusal(error: Exception) -> str:
    """Click's message in one line, without a full stop."""
    if (errors := getattr(error.__cause__, "errors", None)) is not None and isinstance(error, typer.BadParameter):
        error.message = _refused(errors()[0])
    return " ".join(str(getattr(error, "format_message", lambda: error)()).split()).rstrip(".")


def _refused(found: Mapping[str, Any]) -> str:
    """Pydantic's error of a value in words of the command line."""
    value, limits = found["input"], found.get("ctx", {})
    if "le" in limits:
        return f"{value} is above the limit, {limits['le']}"
    if "ge" in limits:
        return f"{value} is below the limit, {limits['ge']}"
    if found["type"] == "int_parsing":
        return f'"{value}" is not a whole number'
    if found["type"] == "float_parsing":
        return f'"{value}" is not a number'
    return str(found["msg"]).removeprefix("Value error, ")


def hint(verb: str | None, option: str | None, given: Sequence[str]) -> str | None:
    """A substitute for a command line with an option that click refused; None where that is not known."""
    if option is None:
        return None
    if verb == compare.NAME:
        return _of_comparison(option, given)
    if verb == watch.NAME:
        from whyperf.cli.inputs.watched import behind_dashes  # noqa: PLC0415 - keeps help quick

        return behind_dashes(given[1:]).removeprefix("; ") or None
    from whyperf.cli.inputs.iperf3 import instead_of  # noqa: PLC0415 - keeps help quick
    from whyperf.cli.inputs.other_tools import with_verb  # noqa: PLC0415 - as above

    known = instead_of(option, given) if verb in {None, run.NAME} else None
    if known is None and verb is None and option in _options_of_run():
        return with_verb(given)
    return _of_factor(verb or run.NAME, option, given) if known is None else known


def _of_factor(verb: str, option: str, given: Sequence[str]) -> str | None:
    """The factor that an unknown option of a verb names."""
    if option in (own := _options_of(verb)):
        # Its value is missing or wrong.
        return None
    from whyperf.cli.inputs.overrides import instead_of_factor  # noqa: PLC0415 - keeps help quick

    return instead_of_factor(option, given, own)


def _of_comparison(option: str, given: Sequence[str]) -> str | None:
    """Where comparisons of tools are, and what measures what is not measured yet."""
    from whyperf.cli.inputs.verbs import measured_under, tools_in_laboratory  # noqa: PLC0415 - keeps help quick

    if option == "--tools":
        return tools_in_laboratory(given)
    return measured_under(given) if option in _options_of_run() else _of_factor(compare.NAME, option, given)


def _meaning(verb: str | None, error: Exception) -> str:
    """The meaning of an option whose value is missing or wrong; empty where there is no such option."""
    if verb is None or verb in GROUPS:
        return ""
    found, name = getattr(error, "param", None), getattr(error, "option_name", None)
    if found is None:
        found = next((each for each in _command().commands[verb].params if name in each.opts), None)
    text = getattr(found, "help", None)
    if found is None or not text:
        return ""
    typed = found.metavar if found.param_type_name == "argument" and found.metavar else "/".join(found.opts)
    return f"{typed} is: {text.removesuffix('.')}; "


def _options_of_run() -> dict[str, bool]:
    """The options of `run`, and whether each has a value."""
    return _options_of(run.NAME)


def _options_of(verb: str) -> dict[str, bool]:
    """The options of a verb, and whether each has a value."""
    parameters = _command().commands[verb].params
    return {
        name: not getattr(each, "is_flag", False) for each in parameters for name in (*each.opts, *each.secondary_opts)
    }
