"""The things that a result that was made elsewhere, or changed since, may not have this host do.

It may name any host, command, file or variable of the environment.
"""

from collections.abc import Sequence

from whyperf.cli.exits import UsageError
from whyperf.foreign import quoted
from whyperf.plan import LOCAL, Plan, sent_files
from whyperf.record import Experiment
from whyperf.run import Target
from whyperf.run.agents.pipes import kinds as pipe_kinds

HERE = "this host"


def contacts_of(target: Target) -> str:
    """Where measuring on a target runs agents, by which pipe, and where it puts load; empty where that is this host.

    Each is named as it is reached, with the name that the plan has for it where that is another.
    """
    fleet = target.fleet
    addresses, destinations = ({}, {}) if fleet is None else (fleet.addresses, fleet.destinations)
    far = fleet.far if fleet is not None else () if target.host is None else target.host.split(",")

    def reached(host: str) -> str:
        return HERE if host == LOCAL else destinations.get(host, host)

    def named(host: str, place: str) -> str:
        name = HERE if host == LOCAL else host
        return place if place == name else f"{place} ({name})"

    agents = [named(host, reached(host)) for host in target.hosts if host is not None]
    if not agents and not any(host in addresses for host in far):
        return ""
    loads = [named(host, addresses.get(host, reached(host))) for host in dict.fromkeys(far)]
    does = []
    if agents:
        does.append(f"runs the agent on {_listed(agents)} by {'ssh' if fleet is None else fleet.via}")
    if loads:
        does.append(f"puts load on the {'path' if len(loads) == 1 else 'paths'} to {_listed(loads)}")
    return ", and ".join(does)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def refuse_own_command(experiment: Experiment) -> None:
    """Refuses to run a command of a result made elsewhere: `--via` of a plan may be any.

    Raises:
        UsageError: the plan reaches hosts by a command of its own.
    """
    fleet = experiment.plan.fleet
    if fleet is not None and fleet.via not in pipe_kinds.KINDS and not experiment.is_made_here:
        raise UsageError(
            f"{experiment.folder} was not made here, or was changed since, and reaches hosts by a command of its own "
            f"({quoted(fleet.via)}); measure them with `whyperf run` and your own --via"
        )


def refuse_other_files(experiment: Experiment, plan: Plan) -> None:
    """Refuses files that measuring again sends, other than those that this user has sent for the result.

    Raises:
        UsageError: the first such file.
    """
    sent = sent_files(experiment.plan) if experiment.is_made_here else []
    for path in sent_files(plan):
        if path not in sent:
            raise UsageError(
                f"{experiment.folder} was not made here, or was changed since, and measuring it again sends {path}; "
                "measure it with `whyperf run` and a profile of your own"
            )


def refuse_variables(experiment: Experiment, plan: Plan) -> None:
    """Refuses to send variables of this user's environment that a result made elsewhere names.

    Raises:
        UsageError: the first of them.
    """
    for name in () if experiment.is_made_here else plan.variables:
        raise UsageError(
            f"{experiment.folder} was not made here, or was changed since, and measuring it again sends "
            f"${quoted(name)} of the environment; measure it with `whyperf run` and a profile of your own"
        )
