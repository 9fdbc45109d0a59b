"""Which factors go together: one cell's factors with defaults, references resolved, contradictions refused."""

from collections.abc import Mapping

from whyperf.profile.errors import ProfileError
from whyperf.profile.factors import FACTORS, Level, factor_named
from whyperf.profile.levels import is_reference
from whyperf.profile.model import Factors

#: What a deadline that nobody gave adds to the phases when they would not fit into the default, in s.
DEADLINE_MARGIN_S = 30.0
#: RFC 8200 section 5: every link an IPv6 packet passes carries 1280 bytes.
IPV6_MTU_BYTES = 1280


def resolve(given: Mapping[str, Level], *, testbed: bool) -> Factors:
    """All factors of a cell, in the table's order.

    `given` are the levels a profile or the command line states, single values or references.
    Testbed factors are there only on the embedded testbed (`testbed`), and the phases' lengths only
    in cells without `transfer_bytes`.

    Raises:
        ProfileError: with the factor as key, when they contradict each other.
    """
    everything = {factor.name: given.get(factor.name, factor.default) for factor in FACTORS}
    timed = _resolved("transfer_bytes", everything) == "default"
    for factor in FACTORS:
        if factor.name in given and factor.timed and not timed:
            problem = "transfer_bytes ends the trial by bytes, so it has no timed phases; keep one of the two"
            raise ProfileError("", factor.name, problem)
    levels: Factors = {
        factor.name: everything[factor.name]
        for factor in FACTORS
        if (testbed or not factor.testbed) and (timed or not factor.timed)
    }
    cell = {name: factor_named(name).check(_resolved(name, levels)) for name in levels}
    if "deadline_s" not in given:
        cell["deadline_s"] = max(float(cell["deadline_s"]), _phases_s(cell) + DEADLINE_MARGIN_S if timed else 0.0)
    _refuse_contradictions(cell, testbed=testbed, timed=timed)
    return cell


def _resolved(name: str, levels: Factors) -> Level:
    """Follows `=other` to a level."""
    level = levels[name]
    passed = [name]
    while isinstance(level, str) and is_reference(level):
        other = level.removeprefix("=")
        if other in passed:
            raise ProfileError(
                "", name, f"the references {' = '.join([*passed, other])} form a circle; set one of them"
            )
        if other not in levels:
            raise ProfileError("", name, f'"{level}" has no value in this cell; give a level instead')
        passed.append(other)
        level = levels[other]
    return level


def _refuse_contradictions(cell: Factors, *, testbed: bool, timed: bool) -> None:
    if timed and float(cell["deadline_s"]) <= (phases_s := _phases_s(cell)):
        problem = f"{cell['deadline_s']:g} s end before warm-up, measurement and cool-down ({phases_s:g} s); raise it"
        raise ProfileError("", "deadline_s", problem)
    if not testbed:
        return
    if cell["tso"] and not cell["gso"]:
        raise ProfileError(
            "", "tso", "segmentation offload by the device cannot be on with gso off; set tso = false too"
        )
    if cell["ip_version"] == 6 and int(cell["mtu_bytes"]) < IPV6_MTU_BYTES:
        raise ProfileError(
            "", "mtu_bytes", f"IP version 6 needs an MTU of {IPV6_MTU_BYTES}, not {cell['mtu_bytes']}; raise it"
        )


def _phases_s(cell: Factors) -> float:
    return sum(float(cell[name]) for name in ("warmup_s", "duration_s", "cooldown_s"))
