"""Everything that an agent has sent and nobody has taken yet: bounded, whatever the agent sends."""

import threading
import time
from collections import deque
from dataclasses import dataclass

from whyperf.run.errors import RunError
from whyperf.wire import Reply

MAX_PROGRESS = 1_000
"""Messages held beyond which progress is left out: it is for display, and a terminal may stand still."""
MAX_MESSAGES = 10_000
"""Messages held at most: no agent of ours sends so many that nobody asked for."""
MAX_PROGRESS_BYTES = 8 << 20
"""Bytes of messages held beyond which progress is left out, too: 8 KiB for each of `MAX_PROGRESS`."""
MAX_MESSAGES_BYTES = 16 << 20
"""Bytes of messages held at most. Once read, a message takes up to about 20 times as many."""

_FOR_DISPLAY = frozenset({"progress", "watched"})
"""Replies that may be left out."""

TABLE_BYTES = 16 << 20
"""Table pieces held at most, in addition to the one that comes in: a segment log is larger than memory may be."""
PIECE_BYTES = 256
"""Bytes that a piece counts for in addition to its data: with its objects a piece without data takes about as much."""


@dataclass(frozen=True)
class TablePiece:
    """A piece of a table's Parquet file."""

    name: str
    data: bytes


Item = tuple[int, Reply] | TablePiece | Exception


class Inbox:
    """A queue in the order of arrival. Whoever fills it waits while it holds too much of tables.

    The pipe is then not read, and the agent waits too: neither holds a table in memory.
    """

    def __init__(self, table_bytes: int = TABLE_BYTES) -> None:
        """Empty, and open."""
        self._limit_bytes = table_bytes
        #: The waiting items, each with the bytes that it counts for.
        self._items: deque[tuple[Item, int]] = deque()
        self._table_bytes = 0
        self._message_bytes = 0
        self._is_open = True
        self._changed = threading.Condition()

    def put(self, item: Item, length_bytes: int = 0) -> None:
        """Add what came; a piece of a table waits for room, and is dropped once the inbox is closed.

        ``length_bytes`` is that of a message on the pipe.

        Raises:
            RunError: more messages came than anybody will take.
        """
        with self._changed:
            if isinstance(item, TablePiece):
                self._changed.wait_for(lambda: self._table_bytes < self._limit_bytes or not self._is_open)
                if not self._is_open:
                    return
                length_bytes = PIECE_BYTES + len(item.data)
                self._table_bytes += length_bytes
            elif isinstance(item, tuple):
                held_bytes = self._message_bytes + length_bytes
                is_much = len(self._items) >= MAX_PROGRESS or held_bytes > MAX_PROGRESS_BYTES
                if is_much and item[1]["reply"] in _FOR_DISPLAY:
                    return
                if len(self._items) >= MAX_MESSAGES:
                    raise RunError(f"the agent sent over {MAX_MESSAGES:,} messages that nobody asked for")
                if held_bytes > MAX_MESSAGES_BYTES:
                    raise RunError(f"the agent sent over {MAX_MESSAGES_BYTES >> 20} MiB that nobody asked for")
                self._message_bytes = held_bytes
            self._items.append((item, length_bytes))
            self._changed.notify_all()

    def interrupt(self, reason: Exception) -> None:
        """Give everybody who takes the reason, before anything that waits here, from now on."""
        with self._changed:
            self._items = deque([(reason, 0)])
            self._message_bytes = 0
            self._changed.notify_all()
        self.close()

    def get(self, timeout_s: float) -> Item:
        """Take the oldest item. An exception says that nothing more will come, and stays.

        Raises:
            TimeoutError: nothing came in time.
        """
        end = time.monotonic() + timeout_s
        with self._changed:
            while not self._items:
                if not self._changed.wait(end - time.monotonic()):
                    raise TimeoutError
            item, length_bytes = self._items[0]
            if isinstance(item, Exception):
                return item
            self._items.popleft()
            if isinstance(item, TablePiece):
                self._table_bytes -= length_bytes
                self._changed.notify_all()
            else:
                self._message_bytes -= length_bytes
            return item

    def close(self) -> None:
        """Take no more of tables and forget those held: nobody will read them, and the agent must not wait for it."""
        with self._changed:
            self._is_open = False
            self._items = deque(held for held in self._items if not isinstance(held[0], TablePiece))
            self._table_bytes = 0
            self._changed.notify_all()
