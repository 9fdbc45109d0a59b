"""From the text of a uperf profile to a profile of whyperf: one cell, with the workload that the text says."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from whyperf.profile.errors import ProfileError
from whyperf.profile.factors import Level
from whyperf.profile.profile_document import Design, Profile, Sweep
from whyperf.profile.uperf.elements import read
from whyperf.profile.uperf.tokens import tokenize
from whyperf.profile.uperf.translate import translate
from whyperf.profile.workload import Metric, ready
from whyperf.wire import Workload

#: Share of a workload's name, as the factor `workload` takes it.
LONGEST_NAME = 30
#: uperf leaves it to the scheduler where its threads run, on one machine too.
UNPINNED: dict[str, Level] = {"near_cpus": "any", "far_cpus": "any"}


class Variables(Mapping[str, str]):
    """The environment, and which of its variables were looked up."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Nothing has been looked up."""
        self._environment = environment
        self.used: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        """The value, noted as used."""
        self.used[name] = self._environment[name]
        return self.used[name]

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._environment)

    def __len__(self) -> int:
        """The number of them."""
        return len(self._environment)

    def get(self, name: str, default: Any = None) -> Any:
        """The value, noted as used where there is one."""
        return self[name] if name in self._environment else default

    def __contains__(self, name: object) -> bool:
        """True where it is set; not noted."""
        return name in self._environment


def profile_of(text: str, *, name: str, where: str, environment: Mapping[str, str]) -> Profile:
    """The profile in a text of uperf's language; `environment` has the values of its variables.

    Raises:
        ProfileError: naming `where`, the line and the remedy.
    """
    variables = Variables(environment)
    tree = read(text, where, variables)
    translation = translate(tree, tree.name or name, where)
    key = _key(tree.name or name)
    about = f'uperf profile "{tree.name}"' if tree.name else "uperf profile"
    transport = str(translation.factors.pop("transport"))
    workload = ready(
        translation.workload, about=about, metric=_metric(translation.workload), transport=transport, name=key
    )
    return Profile(
        name=name,
        where=where,
        text=text,
        about=about,
        seed=1995,
        kind="auto",
        fixed={"workload": key, **UNPINNED, **translation.factors},
        design=Design(),
        sweeps=(Sweep("main", {}, {}),),
        workloads={key: workload},
        notes=translation.notes,
        far_hosts=translation.hosts,
        far_parts=translation.parts,
        variables=variables.used,
    )


def name_of(text: str) -> str:
    """The name that a profile gives itself, lower-cased; empty without one."""
    try:
        tokens, _ = tokenize(text, "")
    except ProfileError:
        return ""
    for token in tokens:
        if token.text.startswith("<group"):
            break
        if token.text.startswith("name="):
            return token.text.removeprefix("name=")
    return ""


def _key(name: str) -> str:
    """The name as a level of the factor `workload`; never one of the shipped workloads'."""
    word = re.sub(r"[^A-Za-z0-9]+", "-", name)[:LONGEST_NAME].strip("-")
    return f"uperf-{word}" if word else "uperf"


def _metric(workload: Workload) -> Metric:
    """The metric of the result: transactions where requests are answered or connections come and go, else goodput."""
    for group in workload["groups"]:
        for transaction in group["transactions"]:
            if transaction["repeat"] == {"by": "iterations", "count": 1}:
                continue
            kinds = {step["operation"]["operation"] for step in transaction["steps"]}
            if {"read", "write"} <= kinds or kinds & {"connect", "accept"}:
                return "transactions"
    return "goodput"
