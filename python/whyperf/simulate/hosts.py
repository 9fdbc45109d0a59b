"""What the hosts of the model are, for the record's `hosts/`."""

from collections.abc import Mapping
from typing import Any

from whyperf import __version__
from whyperf.plan import Plan
from whyperf.simulate.request import ends_of


def hosts_facts(plan: Plan, texts: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """By end: the expressions it had, and the users' profiles among them whole.

    The numbers of shipped hosts are the version's own; which rule and number each is stands in `docs/model.md`.
    """
    facts = {}
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
        }
    return facts
