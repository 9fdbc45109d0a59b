"""Which verdicts can be tried at all, and from here."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whyperf.explain.causes import Cause
from whyperf.explain.model import Verdict
from whyperf.explain.verify.words import Obstacle, change_words
from whyperf.plan import LOCAL, Plan
from whyperf.profile import BY_NAME

#: The way out where a plan can make another verdict's change.
_CHOOSE = "; choose another with --verdict"
#: What makes two hosts the same one.
SAME = ("hostname", "cpu_model")


def refuse_untriable(verdict: Verdict, number: int, verdicts: Sequence[Verdict] = ()) -> None:
    """Refuses a verdict whose change no plan can make; `verdicts` are all of its cell.

    Raises:
        Obstacle: saying what to do instead.
    """
    change = verdict.change
    if change is not None and change.factors:
        return
    named = f"Verdict {number} ({verdict.cause.value})"
    if change is None or not change.by_hand:
        others = any(one.change is not None and one.change.factors for one in verdicts)
        what = "blames nothing" if verdict.cause is Cause.CAPACITY else "names nothing to change"
        raise Obstacle(f"{named} {what}, so there is nothing to try{_CHOOSE if others else ''}.")
    by_hand = change.by_hand.rstrip(".")
    raise Obstacle(f"{named} cannot be tried in a plan; change it by hand ({by_hand}) and measure again.")


def refuse_unwritable(explained: Path) -> None:
    """Refuses a result beside which nothing can be kept; `explained` is its folder.

    Raises:
        Obstacle: naming the folder.
    """
    parent = explained.absolute().parent
    if not os.access(parent, os.W_OK):
        raise Obstacle(
            f"A verification is kept beside its result, in {parent}, where nothing can be written; copy the result."
        )


def refuse_other_path(verdict: Verdict, plan: Plan) -> None:
    """Refuses a change to what only the embedded testbed has in its hands, where the path is another.

    A plan sets options of its own sockets at both ends, near and far, and no path's or host's settings.

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
    by_hand = verdict.change.by_hand.rstrip(".")
    way = f"change it by hand ({by_hand}) and measure again" if by_hand else "change it by hand and measure again"
    raise Obstacle(f"{change_words(beyond)} is a setting of {place}, which no plan changes; {way}.")


def refuse_other_host(plan: Plan, kept: Mapping[str, Any] | None, here: Mapping[str, Any]) -> None:
    """Refuses what has to be measured on another host: `kept` are the record's facts of the near host, `here` ours.

    Raises:
        Obstacle: naming the host.
    """
    if plan.testbed.kind == "model" or LOCAL not in plan.near or not kept:
        return
    if any(kept.get(name) != here.get(name) for name in SAME):
        host = f"{kept.get('hostname')} ({kept.get('cpu_model')})"
        raise Obstacle(f"It was measured on {host}, not on this host; run the same command there.")
