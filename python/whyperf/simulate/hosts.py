"""The facts of the hosts of the model, for the record's `hosts/`."""

from collections.abc import Mapping
from typing import TypedDict

from whyperf import __version__
from whyperf.overhead.links import LINKS
from whyperf.plan import Plan
from whyperf.simulate.agent import ask
from whyperf.simulate.request import bare_line, ends_of
from whyperf.wire import ResolvedValue


class HostParameters(TypedDict):
    """A host's `system` and its rules and numbers."""

    system: str
    values: dict[str, ResolvedValue]


def hosts_facts(plan: Plan, texts: Mapping[str, str]) -> dict[str, dict[str, object]]:
    """By end: the expressions it had, the users' profiles among them whole, and each host's rules and numbers.

    `parameters` has by expression the host's `system` and `values`, each with `value` and `source`, as its profile has
    them: what a cell's factors change of it is in the factors. `lines` are the rates in bit/s of the lines that
    cells may have.

    Raises:
        RunError: the model ended early.
    """
    parameters = parameters_of(plan, texts)
    facts: dict[str, dict[str, object]] = {}
    for number, end in enumerate(("near", "far")):
        names = list(dict.fromkeys(ends_of(cell.factors)[number] for cell in plan.cells))
        facts[end] = {
            "hostname": ", ".join(names),
            "kernel": "model",
            "machine": "simulated",
            "cpus": [0],
            "agent_version": __version__,
            "hosts": names,
            "profiles": {name: texts[name] for name in names if name in texts},
            "parameters": {name: parameters[name] for name in names},
            "lines": _lines(plan, parameters),
        }
    return facts


def _lines(plan: Plan, parameters: Mapping[str, HostParameters]) -> dict[str, int]:
    """Rates of links that hosts have, or that a cell names with its rate; none between two namespaces."""
    rates = {link.name: link.rate_bps for link in LINKS}
    asked = {str(cell.factors.get("link", "default")) for cell in plan.cells}
    own = {
        str(parameter["values"]["link"]["value"]) for parameter in parameters.values() if "link" in parameter["values"]
    }
    return {name: rates[name] for name in sorted(asked | own) if name in rates}


def parameters_of(plan: Plan, texts: Mapping[str, str]) -> dict[str, HostParameters]:
    """Rules and numbers of each host of the plan; it is asked for by itself, so that no factor changes one.

    Raises:
        RunError: the model ended early.
    """
    names = sorted({name for cell in plan.cells for name in ends_of(cell.factors)})
    answers = ask([bare_line(name, texts) for name in names], "--check")
    return {
        name: {"system": answer["hosts"][0]["system"], "values": answer["hosts"][0]["values"]}
        for name, answer in zip(names, answers, strict=True)
    }
