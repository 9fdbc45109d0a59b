"""Commands of typer that load less: pydantic takes 60 ms and rich's panels take 80 ms, longer than short answers."""

from typing import Any

from typer.core import TyperCommand, TyperGroup

#: Where a command finds what is behind `--`.
BEHIND = "whyperf.behind"


class QuickCommand(TyperCommand):
    """A command that loads pydantic only for options that are not flags. `--help` is a help wherever it stands."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """An option without its value would take `--help` for it."""
        return super().parse_args(ctx, ["--help"] if set(ctx.help_option_names) & set(args) else args)

    def get_help_option(self, ctx: Any) -> Any:
        """The option `--help`."""
        return _without_check(super().get_help_option(ctx))


class WrappingCommand(QuickCommand):
    """A command that takes another command behind `--`: `ctx.meta[BEHIND]` has its words, None without `--`."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Takes what is behind the first `--` for itself."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[BEHIND] = tuple(args[at + 1 :]) if at < len(args) else None
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The usage line, with the command."""
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND ARGS…]"]


class ComparingCommand(QuickCommand):
    """A command whose option `--run` needs no value: it is the profile `quick` then."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Adds the value where the next word is another option."""
        given = list(args)
        for at in [at for at, word in enumerate(args) if word == "--run"]:
            if at + 1 == len(args) or args[at + 1].startswith("-"):
                given.insert(at + 1, "quick")
        return super().parse_args(ctx, given)


class QuickGroup(TyperGroup):
    """All commands. Their list is plain text; the help of each command has panels."""

    def get_help_option(self, ctx: Any) -> Any:
        """The option `--help`."""
        return _without_check(super().get_help_option(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes usage, options and commands as plain text."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)
        self.format_epilog(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes every command with its whole first paragraph, and a group with the names of its commands."""
        shown = {name: self.commands[name] for name in self.list_commands(ctx) if not self.commands[name].hidden}
        with formatter.section("Commands"):
            formatter.write_dl([(name, _summary(command)) for name, command in shown.items()])


def _summary(command: Any) -> str:
    text = (command.help or "").partition("\n\n")[0]
    return f"{text} Commands: {', '.join(members)}." if (members := getattr(command, "commands", None)) else text


def _without_check(option: Any) -> Any:
    """The option with a default of False. Typer's is None, which it checks with pydantic in every command."""
    if option is not None:
        option.default = False
    return option
