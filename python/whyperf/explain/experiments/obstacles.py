"""Which changes can be tried at all, and from this host."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Value, Verdict
from whyperf.explain.wording.catalog import render
from whyperf.explain.wording.changes import change_text
from whyperf.foreign import foreign_owner
from whyperf.plan import LOCAL, Plan
from whyperf.profile import BY_NAME

#: The facts that make two hosts the same one.
SAME = ("hostname", "cpu_model")


class Obstacle(Exception):  # noqa: N818 - a sentence for the user, not a failure of ours
    """Why nothing can be tried: its code in the catalog and its values; as text what to do instead, too."""

    def __init__(self, code: str, **values: Value | None) -> None:
        """`code` is one of the catalog's obstacles."""
        self.code, self.values = code, values
        super().__init__(render("obstacle", code, values))


def refuse_untriable(verdict: Verdict, number: int, verdicts: Sequence[Verdict] = ()) -> None:
    """Refuses a verdict whose change no plan can make; `verdicts` are all of its cell.

    Raises:
        Obstacle: saying what to do instead.
    """
    change = verdict.change
    if change is not None and change.factors:
        return
    named = {"number": number, "cause": verdict.cause.value}
    if change is None or not change.by_hand:
        has_others = any(each.change is not None and each.change.factors for each in verdicts)
        code = "capacity" if verdict.cause is Cause.CAPACITY else "no_change"
        raise Obstacle(code, other=render("obstacle", "other_verdict", {}) if has_others else None, **named)
    raise Obstacle("by_hand", by_hand=change.by_hand.rstrip("."), **named)


def refuse_unwritable(explained: Path) -> None:
    """Refuses a result next to which nothing can be stored; `explained` is its folder.

    Nobody named the folder of the experiments, so another user could prepare it for root.

    Raises:
        Obstacle: naming the folder.
    """
    parent = explained.absolute().parent
    if not os.access(parent, os.W_OK):
        raise Obstacle("unwritable", folder=str(parent))
    if (owner := foreign_owner(parent.stat())) is not None:
        raise Obstacle("foreign", folder=str(parent), owner=str(owner))


def refuse_other_path(verdict: Verdict, plan: Plan) -> None:
    """Refuses a change to what only the embedded testbed has in its hands, where the path is another.

    A plan sets options of its own sockets on both hosts, near and far, and no path's or host's settings.

    Raises:
        Obstacle: naming the change, and what to do by hand.
    """
    if plan.testbed.kind not in {"network", "loopback"} or verdict.change is None:
        return
    beyond = {
        name: level for name, level in verdict.change.factors.items() if name in BY_NAME and BY_NAME[name].testbed
    }
    if not beyond:
        return
    place = "the loopback" if plan.testbed.kind == "loopback" else f"the path to {plan.target}"
    raise Obstacle(
        "other_path", change=change_text(beyond), place=place, by_hand=verdict.change.by_hand.rstrip(".") or None
    )


def refuse_other_host(plan: Plan, kept: Mapping[str, Any] | None, here: Mapping[str, Any]) -> None:
    """Refuses what has to be measured on another host: `kept` are the record's facts of the near host, `here` ours.

    Raises:
        Obstacle: naming the host.
    """
    if plan.testbed.kind == "model" or LOCAL not in plan.near or not kept:
        return
    if any(kept.get(name) != here.get(name) for name in SAME):
        host = f"{kept.get('hostname')} ({kept.get('cpu_model')})"
        raise Obstacle("other_host", host=host)
