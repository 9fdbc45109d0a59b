"""Chooses the truth experiments that the model can simulate."""

from collections import Counter
from collections.abc import Sequence

from lab.truth import FILES, Catalog, load_catalog, plan_truth, roles_of
from whyperf.cli.exits import UsageError, say
from whyperf.profile import ProfileError
from whyperf.simulate import parameters_of, refuse_unknown
from whyperf.simulate.request import user_profiles

#: A plain stream, which every host can take part in.
PLAIN = "veth"
#: The baselines of all experiments have windows that grow as Linux has them grow.
SYSTEM = "linux"


def simulated_part(catalog: Catalog, hosts: str, only: Sequence[str], *, short: bool) -> Catalog:
    """The part of the catalog that the model of `hosts` can simulate; a message names the others with the reason.

    `only` are the causes and names that were asked for, and `short` is of a shortened run.

    Raises:
        ProfileError: there are no such hosts.
        UsageError: a host is not of Linux, or nothing that was asked for is left.
    """
    try:
        _refuse_hosts(hosts)
    except OSError as error:
        raise UsageError(f"--hosts: cannot read the host {error.filename}: {error.strerror}") from None
    asked = {role.of for role in roles_of(catalog, short=short)}
    names = [name for name in catalog.runs if name in asked]
    if not names:
        raise UsageError("no experiment is left; leave out --short, or name others with --only")
    reasons = {name: reason for name in names if (reason := _refusal(catalog, name, hosts, short=short))}
    for reason in dict.fromkeys(reasons.values()):
        say(f"Not simulated: {', '.join(name for name, other in reasons.items() if other == reason)}: {reason}")
    kept = {name for name in names if name not in reasons}
    # What injections are compared with is no answer to a question about them.
    injected = set(names) - set(catalog.baseline)
    if not kept & (injected | set(only) or set(names)):
        raise UsageError(f"the model of {hosts} can simulate none of these experiments")
    return catalog.named([name for name in names if name in kept])


def simulated(catalog: Catalog, hosts: str) -> Catalog:
    """The situations that the model of `hosts` can simulate; messages count the others by their reason.

    The model has no version of IP: what was drawn over IPv6 is simulated without it.

    Raises:
        ProfileError: there are no such hosts.
        UsageError: a host is not of Linux, or nothing is left.
    """
    _refuse_hosts(hosts)
    baselines = {
        name: baseline.model_copy(
            update={"factors": {factor: level for factor, level in baseline.factors.items() if factor != "ip_version"}}
        )
        for name, baseline in catalog.baseline.items()
    }
    catalog = catalog.model_copy(update={"baseline": baselines})
    names = [situation.name for situation in catalog.situation]
    reasons = {name: reason for name in names if (reason := _refusal(catalog, name, hosts, short=False))}
    for reason, number in Counter(reasons.values()).most_common():
        say(f"Not simulated: {number} of {len(names)}: {reason}")
    if len(reasons) == len(names):
        raise UsageError(f"the model of {hosts} can simulate none of these situations; draw more with --count")
    return catalog.without(set(reasons))


def _refuse_hosts(hosts: str) -> None:
    """Raises ProfileError where there are no such hosts, and UsageError where one is not of Linux."""
    _, plan = plan_truth(load_catalog(FILES["causes"]).named([PLAIN]), hosts=hosts)
    refuse_unknown(plan)
    for name, found in parameters_of(plan, user_profiles(plan)).items():
        if found["system"] != SYSTEM:
            raise UsageError(
                f"--hosts: {name} is of {found['system']}, and the experiments assume socket buffers that grow, as in "
                "Linux; name a host with Linux, such as linux-6.18+veth or linux-6.1+nic"
            )


def _refusal(catalog: Catalog, name: str, hosts: str, *, short: bool) -> str:
    """Why the model cannot simulate an experiment; "" where it can."""
    if name in catalog.disturbed:
        return "it needs programs or settings of a real host"
    try:
        refuse_unknown(plan_truth(catalog.named([name]), short=short, hosts=hosts)[1])
    except ProfileError as error:
        # What to do is for whoever writes a profile.
        return error.problem.partition("; ")[0]
    return ""
