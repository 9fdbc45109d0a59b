"""Which connection a flowop means.

uperf keeps a virtual user's connections in a stack and takes the newest with the identifier that `conn=`
names, or the newest without any. A workload names every connection by a number instead, so the
stack is played through once and each flowop gets its number.
"""

from dataclasses import dataclass, field

#: The identifier of connections without `conn=`.
ANONYMOUS = 0


@dataclass
class Connections:
    """The connections that a virtual user has open, by identifier, the newest last."""

    _open: dict[int, list[int]] = field(default_factory=dict)

    def open(self, identifier: int) -> int:
        """A new connection; its number is the lowest that is free."""
        used = {number for stack in self._open.values() for number in stack}
        number = next(candidate for candidate in range(len(used) + 1) if candidate not in used)
        self._open.setdefault(identifier, []).append(number)
        return number

    def newest(self, identifier: int) -> int | None:
        """The number of the connection meant; None when there is none."""
        stack = self._open.get(identifier)
        return stack[-1] if stack else None

    def close(self, identifier: int) -> int | None:
        """Closes the connection meant and returns its number; None when there is none."""
        stack = self._open.get(identifier)
        return stack.pop() if stack else None

    def snapshot(self) -> dict[int, tuple[int, ...]]:
        """The open connections, to compare."""
        return {identifier: tuple(stack) for identifier, stack in self._open.items() if stack}
