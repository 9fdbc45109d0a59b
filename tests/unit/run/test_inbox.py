"""What came from an agent and was not taken: in order, bounded, and never a reason to wait for ever."""

import threading
import time
from collections.abc import Callable
from typing import Any, cast

import pytest

from whyperf.run.agents import inbox as inbox_module
from whyperf.run.agents.inbox import PIECE_BYTES, Inbox, Item, TablePiece
from whyperf.run.errors import PipeClosedError, RunError

SOON_S = 5.0
MESSAGE: Item = (1, {"reply": "done"})
CLOCK: Item = (2, {"reply": "clock", "mono_ns": 1, "realtime_ns": 2})
GONE = PipeClosedError("the far agent ended with status 1")


def piece(length: int = 100) -> TablePiece:
    return TablePiece("segments", bytes(length))


def started(target: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread


def test_what_comes_first_is_taken_first() -> None:
    inbox = Inbox()
    for item in (MESSAGE, piece(1), CLOCK):
        inbox.put(item)
    assert [inbox.get(SOON_S) for _ in range(3)] == [MESSAGE, piece(1), CLOCK]


def test_nothing_in_time_is_said() -> None:
    with pytest.raises(TimeoutError):
        Inbox().get(0.01)


def test_the_end_stays_the_end() -> None:
    inbox = Inbox()
    inbox.put(MESSAGE)
    inbox.put(GONE)
    assert [inbox.get(SOON_S) for _ in range(3)] == [MESSAGE, GONE, GONE]


def test_a_table_of_any_length_takes_bounded_memory_and_loses_no_byte() -> None:
    inbox = Inbox(table_bytes=1000)
    put = [0]

    def fill() -> None:
        for _ in range(500):
            inbox.put(piece())
            put[0] += 1
        inbox.put(MESSAGE)

    filler = started(fill)
    taken = 0
    while isinstance(item := inbox.get(SOON_S), TablePiece):
        taken += 1
        # Those held fill the bound, and one more may be arriving.
        assert put[0] - taken <= 1000 // 100 + 1
        assert len(item.data) == 100
    filler.join(SOON_S)
    assert (taken, item) == (500, MESSAGE)


def test_pieces_without_data_wait_for_room_too() -> None:
    inbox = Inbox(table_bytes=1000)
    put = [0]

    def fill() -> None:
        for _ in range(500):
            inbox.put(piece(0))
            put[0] += 1

    filler = started(fill)
    for taken in range(1, 501):
        assert inbox.get(SOON_S) == piece(0)
        assert put[0] - taken <= 1000 // PIECE_BYTES + 2
    filler.join(SOON_S)


def test_a_piece_larger_than_the_bound_comes_through() -> None:
    inbox = Inbox(table_bytes=10)

    def fill() -> None:
        for _ in range(3):
            inbox.put(piece())

    filler = started(fill)
    assert [inbox.get(SOON_S) for _ in range(3)] == [piece()] * 3
    filler.join(SOON_S)
    assert not filler.is_alive()


def test_closing_frees_who_waits_and_keeps_the_reason_of_the_end() -> None:
    inbox = Inbox(table_bytes=10)

    def fill() -> None:
        for _ in range(100):
            inbox.put(piece())
        inbox.put(GONE)

    filler = started(fill)
    time.sleep(0.05)
    assert filler.is_alive()
    inbox.close()
    filler.join(SOON_S)
    assert not filler.is_alive()
    assert inbox.get(SOON_S) is GONE


def test_messages_never_wait_for_room() -> None:
    inbox = Inbox(table_bytes=10)
    inbox.put(piece())
    filler = started(lambda: inbox.put(MESSAGE))
    filler.join(SOON_S)
    assert not filler.is_alive()


def test_progress_beyond_a_number_is_left_out_and_other_messages_end_the_conversation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inbox_module, "MAX_PROGRESS", 3)
    monkeypatch.setattr(inbox_module, "MAX_MESSAGES", 5)
    inbox = Inbox()
    for number in range(10):
        inbox.put((number, cast("Any", {"reply": "progress"})))
    inbox.put(MESSAGE)
    inbox.put(CLOCK)
    with pytest.raises(RunError, match="the agent sent over 5 messages that nobody asked for"):
        inbox.put(CLOCK)
    taken: list[Any] = [inbox.get(SOON_S) for _ in range(5)]
    assert [number for number, _ in taken] == [0, 1, 2, 1, 2]


def test_messages_are_bounded_by_their_bytes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_module, "MAX_PROGRESS_BYTES", 300)
    monkeypatch.setattr(inbox_module, "MAX_MESSAGES_BYTES", 1 << 20)
    inbox = Inbox()
    for number in range(10):
        inbox.put((number, cast("Any", {"reply": "progress"})), 100)
    inbox.put(MESSAGE, (1 << 20) - 300)
    with pytest.raises(RunError, match="the agent sent over 1 MiB that nobody asked for"):
        inbox.put(CLOCK, 1)
    taken: list[Any] = [inbox.get(SOON_S) for _ in range(4)]
    assert [number for number, _ in taken] == [0, 1, 2, 1]
    # What was taken leaves its room to others.
    inbox.put(CLOCK, 1 << 20)
    assert inbox.get(SOON_S) == CLOCK


def test_an_interruption_comes_before_what_waits_and_stays() -> None:
    inbox = Inbox()
    inbox.put(MESSAGE)
    inbox.interrupt(GONE)
    assert [inbox.get(SOON_S) for _ in range(2)] == [GONE, GONE]
