"""The progress of several pairs of agents, told as if it were one pair's."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

#: What is summed over the agents of an end; the rest is the first one's.
SUMMED = ("payload_bytes", "load_cpu_ns", "retransmitted_segments")


class Together:
    """Sums the intervals of all near agents and of all far agents.

    An interval is told when every agent of its end has told it. Agents are heard from threads of their own; the
    observer is told from one at a time.
    """

    def __init__(self, pairs: Sequence[Mapping[str, str]], observer: Callable[[str, dict[str, Any]], None]) -> None:
        """`pairs` are the names of both agents of each pair, by end."""
        self._end_of = {name: end for names in pairs for end, name in names.items()}
        self._count = len(pairs)
        self._observer = observer
        self._heard: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
        self._lock = Lock()

    def on_progress(self, name: str, progress: dict[str, Any]) -> None:
        """An agent's interval (Progress in crates/schema/src/message.rs)."""
        end = self._end_of[name]
        with self._lock:
            heard = self._heard[end, progress["interval"]]
            heard.append(progress)
            if len(heard) == self._count:
                del self._heard[end, progress["interval"]]
                sums = {field: sum(one[field] for one in heard) for field in SUMMED}
                self._observer(end, heard[0] | sums)
