"""The commands and their entry point: parse, call, turn errors into one sentence and an exit code."""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.completion import get_completion_inspect_parameters, install_callback, show_callback

from whyperf.cli.command_classes import QuickCommand, QuickGroup, WrappingCommand
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
    truth,
    watch,
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
from whyperf.cli.streams import drop_output, prepare

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
#: How alike a word and a command are, from 0 to 1, for the one to be a misspelling of the other.
MIN_LIKENESS = 0.7
VERBS = {
    verb.NAME: verb
    for verb in (
        *(run, watch, simulate, show, explain_verb, compare, cost, flow, report, export, list_, overhead),
        *(calibrate, truth, studies, doctor, transports, k8s, slurm),
    )
}
for name, verb in VERBS.items():
    of_class = WrappingCommand if verb in {watch, slurm} else QuickCommand
    app.command(name=name, cls=of_class, epilog=verb.EXAMPLE)(verb.command)


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
    prepare()
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        given = _in_own_options(given)
        code: Any = app(args=given or ["--help"], prog_name="whyperf", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of a pipe has seen enough.
        drop_output()
        return FAILED
    except _BAD_USAGE as error:
        say(f"whyperf: {_usage(error, given)}")
        return USAGE
    except Stopped:
        return INTERRUPTED
    except (KeyboardInterrupt, typer.Abort):
        say("whyperf: stopped")
        return INTERRUPTED
    except BaseException as error:
        if wants_traceback() or not (isinstance(error, Exception) or is_panic(error)):
            raise
        failed, text = explain(error, given[0] if given else None)
        say(f"whyperf: {text}")
        try:
            sys.stdout.flush()
        except OSError:
            # It would fail once more at exit.
            drop_output()
        return failed
    # What typer makes of a Ctrl-C that nobody handles.
    if code == INTERRUPTED and not isinstance(code, CommandStatus):
        say("whyperf: stopped")
    return code if isinstance(code, int) else DONE


def _in_own_options(given: list[str]) -> list[str]:
    """The command line, or that of whyperf which does what one of netperf or flent asks for, after saying so."""
    if not given or (given[0] in VERBS and given[0] != run.NAME):
        return given
    from whyperf.cli.inputs.other_tools import meant  # noqa: PLC0415 - keeps help quick

    if (found := meant(given, _options_of_run)) is None:
        return given
    say(f"whyperf: {found.sentence()}")
    return list(found.arguments)


def _usage(error: Exception, given: Sequence[str]) -> str:
    """Click's message in one line, with the way to the help, or to what was meant."""
    message = " ".join(str(getattr(error, "format_message", lambda: error)()).split()).rstrip(".")
    # Click knows the verb of most mistakes; not where an option lacks its value.
    verb = given[0] if given and given[0] in VERBS else None
    from difflib import get_close_matches  # noqa: PLC0415 - keeps help quick

    # Click sees a likeness between `localhost` and `cost`.
    if given and not get_close_matches(given[0], VERBS, cutoff=MIN_LIKENESS):
        message = message.partition(" Did you mean")[0].removesuffix(".")
    way = hint(verb, getattr(error, "option_name", None), message, given)
    path = "whyperf" if verb is None else f"whyperf {verb}"
    return f"{message[:1].lower()}{message[1:]}; {way or f'see `{path} --help`'}"


def hint(verb: str | None, option: str | None, message: str, given: Sequence[str]) -> str | None:
    """What to write instead of a command line that click refused with `message`; None where that is not known."""
    if verb not in {None, run.NAME}:
        return None
    from whyperf.cli.inputs.iperf3 import INSTEAD  # noqa: PLC0415 - keeps help quick

    if option is not None and option in INSTEAD:
        return INSTEAD[option]
    if verb is None and (option in _options_of_run() or ("No such command" in message and "mean" not in message)):
        from whyperf.cli.inputs.other_tools import with_verb  # noqa: PLC0415 - as above

        return with_verb(given)
    return None


def _options_of_run() -> dict[str, bool]:
    """The options of `run`, and whether each has a value."""
    command: Any = typer.main.get_command(app)
    parameters = command.commands[run.NAME].params
    return {
        name: not getattr(each, "is_flag", False) for each in parameters for name in (*each.opts, *each.secondary_opts)
    }
