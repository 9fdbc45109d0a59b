"""Groups that have groups in them: to the hosts of each, within bounds."""

from collections.abc import Callable, Iterable, Sequence

from whyperf.foreign import quoted
from whyperf.hosts.known_hosts import SHOWN_LENGTH, HostSetError

MAX_NESTED = 32
"""Groups one in another. Sites have up to five: region, site, room, rack, role."""

Group = Callable[[str], Sequence[str]]


def resolve(
    names: Iterable[str], members: Callable[[str, Group], Iterable[str]], where: str
) -> dict[str, tuple[str, ...]]:
    """The hosts of each group; `members` returns those of a group, and asks its second argument for groups in it.

    Raises:
        HostSetError: a group has itself as a member, groups nest too deep, or `members` raises it.
    """
    found: dict[str, tuple[str, ...]] = {}
    unfinished: list[str] = []

    def group(name: str) -> Sequence[str]:
        if name in found:
            return found[name]
        place = f"{where}: {quoted(name, SHOWN_LENGTH)}"
        if name in unfinished:
            circle = " → ".join([*unfinished[unfinished.index(name) :], name])
            raise HostSetError(
                place, f"the group has itself as a member ({quoted(circle)}); remove it from one of them"
            )
        if len(unfinished) == MAX_NESTED:
            raise HostSetError(
                place, f"groups nest deeper than {MAX_NESTED} levels; name hosts in it instead of groups"
            )
        unfinished.append(name)
        found[name] = tuple(members(name, group))
        unfinished.pop()
        return found[name]

    for name in names:
        group(name)
    return found
