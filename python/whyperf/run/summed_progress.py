"""The progress of several pairs of agents, summed as if it were one pair's."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock

from whyperf.wire import ReplyProgress


class Together:
    """Sums the intervals of all near agents and of all far agents.

    An interval is passed on when every agent of its side has reported it. Agents report from threads of their own; the
    observer is called from one at a time.
    """

    def __init__(
        self,
        pairs: Sequence[Mapping[str, str]],
        observer: Callable[[str, ReplyProgress], None],
        on_message: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`pairs` are the names of both agents of each pair, by end."""
        self._on_message = on_message
        self._end_of = {name: end for names in pairs for end, name in names.items()}
        self._count = len(pairs)
        self._observer = observer
        self._left: set[str] = set()
        self._heard: dict[tuple[str, int], list[ReplyProgress]] = defaultdict(list)
        self._lock = Lock()

    def leave(self, names: Mapping[str, str], text: str) -> None:
        """Wait no more for the agents of a pair that is lost, and say so."""
        with self._lock:
            if names[next(iter(names))] not in self._left:
                self._left |= set(names.values())
                self._count -= 1
                self._on_message(text)
                for (end, interval), heard in list(self._heard.items()):
                    if len(heard) >= self._count > 0:
                        self._pass_on(end, interval)

    def on_progress(self, name: str, progress: ReplyProgress) -> None:
        """An agent's interval (Progress in crates/schema/src/message.rs)."""
        end = self._end_of[name]
        with self._lock:
            if name in self._left:
                return
            heard = self._heard[end, progress["interval"]]
            heard.append(progress)
            if len(heard) >= self._count:
                self._pass_on(end, progress["interval"])

    def _pass_on(self, end: str, interval: int) -> None:
        heard = self._heard.pop((end, interval))
        # The rest is the first one's.
        whole: ReplyProgress = {
            **heard[0],
            "payload_bytes": sum(part["payload_bytes"] for part in heard),
            "load_cpu_ns": sum(part["load_cpu_ns"] for part in heard),
            "retransmitted_segments": sum(part["retransmitted_segments"] for part in heard),
        }
        self._observer(end, whole)
