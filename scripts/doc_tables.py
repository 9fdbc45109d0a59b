"""Writes the tables of the documents that code decides: options, factors, record columns, messages, warnings, limit
states, causes; and for the package the record's columns and the rows of `whyperf list`.

A section stands between `<!-- table NAME -->` and `<!-- end -->`. Run it by `make schemas`; a test
fails while a section is not what the code says.
"""

import inspect
import json
import re
from collections.abc import Callable, Collection, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any

import typer

from lab import app as laboratory
from scripts.lists import lists
from whyperf.analyze.cost.classes import classes
from whyperf.analyze.warnings.catalog import WARNING_TEXTS
from whyperf.cli.app import VERBS, app
from whyperf.cli.groups import word_of
from whyperf.cli.output.lists import ROWS
from whyperf.explain import states
from whyperf.explain.causes import Cause
from whyperf.explain.experiments.tries import TRIES, Try
from whyperf.explain.wording.catalog import capitalized, templates
from whyperf.explain.wording.experiments import try_words
from whyperf.profile import shipped_workload, shipped_workload_names
from whyperf.profile.factors import FACTORS, Factor
from whyperf.profile.options import OPTIONS, RULES, TRANSPORTS
from whyperf.profile.path_factors import MAKERS
from whyperf.profile.schedule import SHIPPED
from whyperf.record.kinds import COLUMNS

ROOT = Path(__file__).resolve().parents[1]
SECTION = re.compile(r"(<!-- table (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main(folder: Path = ROOT / "docs") -> None:
    """Rewrites every document next to the folder, in it and in its subfolders that has sections."""
    for document in sorted([*folder.parent.glob("*.md"), *folder.rglob("*.md")]):
        text = document.read_text()
        current = filled(text)
        if current != text:
            document.write_text(current)
    COLUMNS.write_text(record_columns())
    ROWS.write_text(lists())
    RULES.write_text((ROOT / "schemas" / "options.json").read_text())


def record_columns() -> str:
    """The types of the record's columns by table and name, as the package has them; or a column's code words."""
    tables = json.loads((ROOT / "schemas" / "tables.json").read_text())["tables"]
    types = {
        table["name"]: {column["name"]: column.get("words", column["type"]) for column in table["columns"]}
        for table in tables
    }
    return json.dumps(types, indent=1) + "\n"


def filled(text: str) -> str:
    """The document with its sections as the code says.

    Raises:
        KeyError: a section nobody can write.
    """
    return SECTION.sub(lambda section: section[1] + WRITERS[section[2]]() + section[3], text)


def table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def factors() -> str:
    """Every factor with its levels and default."""
    rows = (
        (f"`{factor.name}`", factor.allowed(), _shown(factor.default), factor.help + _only(factor))
        for factor in FACTORS
    )
    return table(("Factor", "Levels", "Default", "Meaning"), rows)


#: Where a factor that is no option has a meaning, if not everywhere.
SCOPES = {
    "all": "",
    "workload": " Workloads that refer to it.",
    "stream": " Streams.",
    "schedule": " Schedules that refer to it.",
    "path": " With an emulated path.",
}
#: Transports, loads and I/O models as readers call them.
TITLES = {"unix": "Unix sockets", "stream": "streams", "operations": "requests"}


def _only(factor: Factor) -> str:
    if factor.name in MAKERS:
        return " Makes an emulated path. Embedded testbed only."
    if factor.testbed and factor.scope == "all":
        return " Embedded testbed only."
    if factor.name not in OPTIONS:
        return SCOPES[factor.scope]
    rule = OPTIONS[factor.name]
    where = _titles(rule.loads, {load for carries in TRANSPORTS.values() for load in carries.loads})
    models = _titles(rule.io_models, {model for carries in TRANSPORTS.values() for model in carries.io_models})
    if where and models:
        where += f" in {models} calls"
    transports = _titles(rule.transports, TRANSPORTS.keys())
    if where and transports:
        where += f" over {transports}"
    if not where:
        return f" {transports or models}." if transports or models else ""
    return f" {where[:1].upper()}{where[1:]}."


def _titles(names: Iterable[str], every: Collection[str]) -> str:
    """The names as a reader's list; empty where it is all there are."""
    titles = [TITLES.get(name, name.upper() if name in TRANSPORTS else name) for name in names]
    if len(titles) == len(every):
        return ""
    return " and ".join(filter(None, [", ".join(titles[:-1]), titles[-1]]))


def _shown(level: object) -> str:
    return f"`{str(level).lower()}`" if isinstance(level, bool) else f"`{level}`"


def workloads() -> str:
    """Every shipped workload with what it takes."""
    rows = []
    for name in shipped_workload_names():
        workload = shipped_workload(name)
        taken = ", ".join(f"`{factor.name}`" for factor in FACTORS if factor.name in workload.uses)
        rows.append((f"`{name}`", workload.about, taken, ", ".join(workload.transports)))
    return table(("Workload", "What the application does", "Factors that it takes", "Over"), rows)


def schedules() -> str:
    """Every shipped schedule with what it takes."""
    rows = []
    for schedule in SHIPPED.values():
        taken = ", ".join(f"`{factor.name}`" for factor in FACTORS if factor.name in schedule.uses)
        rows.append((f"`{schedule.name}`", schedule.about, taken))
    return table(("Schedule", "When flows are at work", "Factors that it takes"), rows)


def cost_classes() -> str:
    """The classes of cost."""
    return table(("Class", "What it is"), ((entry.title, entry.about) for entry in classes()))


def record() -> str:
    """Every table of the record with its columns."""
    tables = json.loads((ROOT / "schemas/tables.json").read_text())["tables"]
    return "".join("\n" + _record_table(entry) for entry in tables)


def _record_table(entry: dict[str, Any]) -> str:
    rows = (
        (
            f"`{column['name']}`",
            column["type"] + (", may be null" if column["optional"] else ""),
            column["unit"],
            column["meaning"],
            column["source"].replace("<", "\\<"),
        )
        for column in entry["columns"]
    )
    heading = f"### `{entry['name']}`\n\nA row: {entry['row']}.\n\n"
    return heading + table(("Column", "Type", "Unit", "Meaning", "Source"), rows)


def messages(schema: str, tag: str) -> str:
    """The requests or replies by name, with their fields."""
    document = json.loads((ROOT / "schemas" / schema).read_text())
    return table(
        ("Message", "Fields", "Meaning"), (_message_row(variant, tag, document) for variant in _variants(document, tag))
    )


def _variants(document: dict[str, Any], tag: str) -> list[dict[str, Any]]:
    """The body's alternatives, wherever the schema keeps them."""
    for candidate in [document, *document.get("$defs", {}).values()]:
        variants: list[dict[str, Any]] = candidate.get("oneOf", [])
        if variants and all(tag in variant.get("properties", {}) for variant in variants):
            return variants
    raise LookupError(f"no message of this schema has the tag {tag}")


def _message_row(variant: dict[str, Any], tag: str, document: dict[str, Any]) -> tuple[str, str, str]:
    fields = [name for name in variant["properties"] if name != tag]
    reference = str(variant.get("$ref", "")).rpartition("/")[2]
    if reference:
        fields += list(document["$defs"][reference].get("properties", {}))
    name = variant["properties"][tag]["const"]
    meaning = re.sub(
        r"\[`(?:Request|Reply)::(\w+)`\]", lambda link: f"`{_snake(link[1])}`", variant.get("description", "")
    )
    return f"`{name}`", ", ".join(f"`{field}`" for field in fields), " ".join(meaning.split())


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def warnings() -> str:
    """Every code with its sentence and advice."""
    return table(
        ("Code", "Says", "Advice"),
        ((f"`{code}`", _example(kind.text), _example(kind.advice)) for code, kind in WARNING_TEXTS.items()),
    )


def _example(text: str) -> str:
    return re.sub(r"\{(\w+)[^}]*\}", r"*\1*", text)


#: The value of an option whose metavariable does not say it.
VALUES = {str: "TEXT", int: "N", float: "NUMBER", Path: "PATH"}


def options(of: typer.Typer, names: Iterable[str]) -> str:
    """Every option of every command, with its help."""
    commands = vars(typer.main.get_command(of))["commands"]
    return "".join(
        f"\n### `{of.info.name} {word_of(name)}`\n\n{_option_table(commands[name].params)}" for name in names
    )


def _option_table(params: Iterable[Any]) -> str:
    rows = []
    for param in params:
        if getattr(param, "hidden", False):
            continue
        is_argument = param.param_type_name == "argument"
        names = [param.metavar or param.name.upper()] if is_argument else _long_first(param)
        kind = param.type_descriptor.annotation
        values = (
            list(kind) if inspect.isclass(kind) and issubclass(kind, StrEnum) else [param.metavar or VALUES.get(kind)]
        )
        rows.append(
            (
                ", ".join(f"`{name}`" for name in names),
                "" if is_argument or param.is_flag else ", ".join(f"`{value}`" for value in values),
                param.help or "",
                _shown(param.default) if param.default and not getattr(param, "is_flag", False) else "",
            )
        )
    return table(("Option", "Value", "Meaning", "Default"), rows)


def _long_first(option: Any) -> list[str]:
    return [*sorted(option.opts, key=lambda name: name.startswith("--"), reverse=True), *option.secondary_opts]


def limit_states(kind: type[states.SenderState | states.ReceiverState]) -> str:
    """Every limit state of one side, in the order of the checks: its code, its definition and its printed name."""
    meanings = dict(re.findall(r'    [A-Z_]+ = "(\w+)"\n    """(.*?)"""', inspect.getsource(kind), re.DOTALL))
    return table(
        ("Code", "Meaning", "Printed as"),
        ((f"`{state}`", " ".join(meanings[state.value].split()), states.name_of(state.value)) for state in kind),
    )


#: The table of causes names so many experiments of each at most.
MAX_TRIED = 2
#: A part of a template that depends on the trial.
OPTIONAL = re.compile(r"\[[^]]*\]")


def causes() -> str:
    """Every cause: the sentence of a verdict, what refutes it, the experiments of it, and what to do."""
    sentences = templates()
    rows = (
        (
            f"{capitalized(sentences['limit'][cause])} (`{cause}`)",
            _plain(sentences["claim"][cause]),
            _plain(sentences["refuted_by"][cause]),
            _tried(cause),
            _remedy(cause),
        )
        for cause in Cause
        if cause is not Cause.NOT_KNOWN
    )
    return table(("Cause", "For it", "Against it", "Experiments", "What to do"), rows)


def _plain(sentence: str) -> str:
    """A template without what depends on the trial; values in italics."""
    return _example(OPTIONAL.sub("", sentence))


def _takes_away(tried: Try) -> str:
    """The causes of an experiment, or how else it shows them."""
    if tried.pace is not None:
        return "none; losses and delays show"
    if tried.halves:
        return f"none; halves that of {_codes(tried.halves)}"
    return _codes(tried.relieves) if tried.relieves else f"none; may raise that of {_codes(tried.may_raise)}"


def _codes(causes: Iterable[Cause]) -> str:
    return ", ".join(f"`{cause}`" for cause in causes)


def _tried(cause: Cause, *, is_remedy: bool = False) -> str:
    """The experiments that take away the limit of a cause: remedies first, and first those that are made for it."""
    found = [tried for tried in TRIES if cause in tried.relieves and (tried.is_remedy or not is_remedy)]
    found.sort(key=lambda tried: (not tried.is_remedy, tried.relieves.index(cause)))
    return "; ".join(try_words(tried.name) for tried in found[:MAX_TRIED]) or "none"


def _remedy(cause: Cause) -> str:
    """The first sentence of what a verdict advises; the remedies that are tried where it has no advice of its own."""
    advice = templates()["remedy"].get(cause)
    if advice is None:
        return _tried(cause, is_remedy=True)
    return _plain(advice).partition(". ")[0].removesuffix(".") + "."


def experiments() -> str:
    """The experiments of `whyperf why`, and the causes that each is for."""
    rows = (
        (
            f"`{tried.name}`",
            capitalized(try_words(tried.name)),
            _takes_away(tried),
            "yes" if tried.is_remedy else "no",
            tried.only_for or "any",
        )
        for tried in TRIES
    )
    return table(("Experiment", "What changes", "Takes away the limit of", "Remedy", "Goal"), rows)


WRITERS: dict[str, Callable[[], str]] = {
    "factors": factors,
    "workloads": workloads,
    "schedules": schedules,
    "record": record,
    "requests": lambda: messages("request.json", "request"),
    "replies": lambda: messages("reply.json", "reply"),
    "warnings": warnings,
    "cost-classes": cost_classes,
    "options": lambda: options(app, VERBS),
    "laboratory-options": lambda: options(laboratory.app, laboratory.VERBS),
    "sender-states": lambda: limit_states(states.SenderState),
    "receiver-states": lambda: limit_states(states.ReceiverState),
    "causes": causes,
    "experiments": experiments,
}

if __name__ == "__main__":
    main()
