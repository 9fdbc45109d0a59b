"""Which truth experiments the model can take the part of the testbed in."""

from whyperf.cli.exits import UsageError, say
from whyperf.profile import ProfileError
from whyperf.simulate import refuse_unknown
from whyperf.truth import Catalog, plan_truth


def for_model(catalog: Catalog, hosts: str) -> Catalog:
    """The catalog with what the model of `hosts` can simulate; a message names the others with the reason.

    Raises:
        UsageError: nothing is left but what the others are compared with.
    """
    reasons = {name: reason for name in catalog.runs if (reason := _refusal(catalog, name, hosts))}
    for reason in dict.fromkeys(reasons.values()):
        names = [name for name, other in reasons.items() if other == reason]
        say(f"Not simulated: {', '.join(names)}: {reason}")
    kept = [name for name in catalog.runs if name not in reasons]
    if set(kept) <= set(catalog.baseline) != set(catalog.runs):
        raise UsageError(f"the model of {hosts} can simulate none of these experiments")
    return catalog.named(kept)


def _refusal(catalog: Catalog, name: str, hosts: str) -> str:
    """Why the model cannot simulate an experiment; "" where it can."""
    if name in catalog.disturbed:
        return "it needs programs or settings of a real host"
    try:
        _, plan = plan_truth(catalog.named([name]), hosts=hosts)
        refuse_unknown(plan)
    except ProfileError as error:
        return error.problem
    except OSError as error:
        raise UsageError(f"--hosts: cannot read the host {error.filename}: {error.strerror}") from None
    return ""
