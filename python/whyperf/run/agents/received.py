"""The tables of a trial as they come from an agent: each as long as announced, of its kind, and in time."""

import math
import threading
import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Protocol, Self

from whyperf.record import TableFile
from whyperf.run.agents.inbox import TablePiece
from whyperf.run.errors import RunError
from whyperf.wire import Reply, ReplyTable

MAX_TABLES_BYTES = 4 << 30
"""All tables of an agent in a trial or watch together. A segment takes about 20 bytes of a log."""
MIN_BYTES_PER_S = 128 << 10
"""At least so much of its tables comes from an agent that is in time: 1 Mbit/s."""
_SAME_VERSION = "install the same whyperf on both hosts"


class Deadline:
    """When an agent must have sent all that it has. Bytes of tables give it more time, and nothing else does."""

    def __init__(self, slack_s: float) -> None:
        """Without an end until `expect`; ``slack_s`` is how much later the agent may be."""
        self._slack_s = slack_s
        self._end_s = math.inf
        #: Pieces come in one thread, and another one ends the watch.
        self._lock = threading.Lock()

    def end_s(self) -> float:
        """When it is over, by time.monotonic()."""
        return self._end_s

    def expect(self, in_s: float = 0.0) -> None:
        """Note in how much time the agent ends; an earlier end stays."""
        with self._lock:
            self._end_s = min(self._end_s, time.monotonic() + in_s + self._slack_s)

    def on_bytes(self, count: int) -> None:
        """Give more time for bytes that came, but never more than the slack from now on."""
        most_s = time.monotonic() + self._slack_s
        with self._lock:
            self._end_s = max(self._end_s, min(self._end_s + count / MIN_BYTES_PER_S, most_s))


class TableSink(Protocol):
    """Where tables go."""

    def open_table(self, name: str, host: str) -> TableFile:
        """A new table of that host, to be written and closed."""


class ReceivedTables:
    """Writes the tables that one agent sends straight to their files, one after the other.

    As a context manager it removes the table that is not whole.
    """

    def __init__(self, writer: TableSink, label: str, asked: Mapping[str, object], host: str | None = None) -> None:
        """From the agent called ``label``; in the record they are ``host``'s, by default the agent's own.

        ``asked`` is the request by which the agent was given what to observe.
        """
        self._writer = writer
        self._asked = asked
        self._left_bytes = MAX_TABLES_BYTES
        self._label = label
        self._host = host or label
        self._names: set[str] = set()
        self._name = ""
        self._file: TableFile | None = None
        self._missing_bytes = 0

    def replies(self, stream: Iterator[Reply | TablePiece], deadline: Deadline | None = None) -> Iterator[Reply]:
        """The replies of a stream until `done`, without its tables, which go to their files.

        Raises:
            RunError: as the other methods.
        """
        for reply in stream:
            if isinstance(reply, TablePiece):
                self.take(reply)
                if deadline is not None:
                    deadline.on_bytes(len(reply.data))
            elif reply["reply"] == "table":
                self.announce(reply)
            elif reply["reply"] == "done":
                self.finish()
                return
            else:
                yield reply

    def announce(self, table: ReplyTable) -> None:
        """Begin the next table; the one before is over.

        Raises:
            RunError: the one before is not what was announced, or this one was not asked for, is too large or was
                there already.
        """
        self.finish()
        name = table["name"]
        from whyperf.record import is_table  # noqa: PLC0415 - loads polars, which nothing needs before

        if not is_table(name):
            raise self._error(f"sent a table {name[:40]!r}, which no record has; {_SAME_VERSION}")
        if name in self._names:
            raise self._error(f"sent the table {name} twice")
        if not _is_asked(name, self._asked):
            raise self._error(f"sent a table {name} that nobody asked for; {_SAME_VERSION}")
        if table["bytes"] > self._left_bytes:
            raise self._error(
                f"announced a table {name} of {table['bytes']:,} bytes; all its tables may have {MAX_TABLES_BYTES:,}: "
                "measure for a shorter time"
            )
        self._left_bytes -= table["bytes"]
        self._names.add(name)
        self._file = self._writer.open_table(name, self._host)
        self._name, self._missing_bytes = name, table["bytes"]

    def take(self, piece: TablePiece) -> None:
        """Append a piece.

        Raises:
            RunError: no table was announced, it is longer than announced, or the piece is empty.
        """
        if self._file is None:
            raise self._error("sent a piece of a table that it did not announce")
        if not piece.data:
            raise self._error(f"sent an empty piece of the table {self._name}; {_SAME_VERSION}")
        self._missing_bytes -= len(piece.data)
        if self._missing_bytes < 0:
            raise self._error(f"sent {-self._missing_bytes:,} bytes more of the table {self._name} than it announced")
        self._file.write(piece.data)

    def finish(self) -> None:
        """End the last table.

        Raises:
            RunError: it is shorter than announced, or of another kind.
        """
        if self._file is None:
            return
        if self._missing_bytes > 0:
            raise self._error(f"sent {self._missing_bytes:,} bytes less of the table {self._name} than it announced")
        self._file.close()
        if self._file.is_lost:
            self._file = None
            return
        from whyperf.record import wrong_in_table  # noqa: PLC0415 - as above

        wrong = wrong_in_table(self._file.path, self._name, self._host)
        if wrong is not None:
            raise self._error(f"sent a table {self._name} that {wrong}; {_SAME_VERSION}")
        self._file = None

    def __enter__(self) -> Self:
        """Nothing was received yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the table that is open; what was not received whole, or is wrong, is not kept."""
        if self._file is not None:
            self._file.discard()

    def _error(self, text: str) -> RunError:
        return RunError(f"{self._label}: the agent {text}")


def _is_asked(name: str, asked: Mapping[str, object]) -> bool:
    """True where a request has an agent make a table: those that grow with the traffic are made on request alone."""
    match name:
        case "segments" | "calls":
            return asked.get("evidence") == "segments"
        case "stacks" | "functions":
            return bool(asked.get("profile_hz"))
        case "stages" | "stage_gaps":
            return bool(asked.get("stages"))
        case _:
            return True
