"""The log of strace of a side: data calls, waits, options."""

from lab.tools.look import look_of, started_under_strace
from lab.tools.reasons import waiting

RECEIVER = """11 setsockopt(5, SOL_TCP, TCP_NODELAY, [1], 4) = 0
11 setsockopt(5, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0
11 read(5, ""..., 37) = 37
11 pselect6(6, [4 5], [], NULL, NULL, NULL) = 1 (in [5])
11 read(5, ""..., 131072) = 131072
11 pselect6(6, [4 5], [], NULL, NULL, NULL <unfinished ...>
11 <... pselect6 resumed>) = 1 (in [5])
11 read(5,  <unfinished ...>
11 <... read resumed>""..., 131072) = 100000
11 read(5, 0x7f, 131072) = -1 EAGAIN (Resource temporarily unavailable)
11 write(6, ""..., 4) = 4
11 +++ exited with 0 +++
"""


def test_a_receiver_that_waits_before_it_reads() -> None:
    found = look_of(RECEIVER.splitlines(), "receiver")
    assert found is not None
    assert (found.data_call, found.asked_bytes, found.data_calls_count) == ("read", 131072, 3)
    # An interrupted call counts once, by the line with its result.
    assert (found.waits, found.waits_count) == ("pselect6", 2)
    assert found.options == ("TCP_NODELAY 1",)
    assert waiting(found) == "pselect6 before a call (0.667 for each read)"


def test_a_sender_of_datagram_calls_that_rarely_waits() -> None:
    lines = ['7 sendto(3, ""..., 16384, 0, NULL, 0) = 16384'] * 50 + ["7 poll([{fd=3, events=POLLOUT}], 1, 0) = 1"]
    found = look_of(lines, "sender")
    assert found is not None
    assert (found.data_call, found.asked_bytes) == ("sendto", 16384)
    assert waiting(found) == "inside sendto; poll for one in 50"


def test_without_a_data_call_there_is_nothing_to_see() -> None:
    assert look_of(['1 read(3, "", 10) = 0', "1 poll([], 0, 0) = 0", "nonsense"], "receiver") is None


def test_of_small_messages_the_most_calls_count_and_not_what_a_control_connection_moved() -> None:
    lines = ['7 read(3, ""..., 832) = 832', *['7 recvfrom(4, ""..., 1, 0, NULL, NULL) = 1'] * 100]
    found = look_of(lines, "receiver", are_messages=True)
    assert found is not None
    assert (found.data_call, found.asked_bytes, found.data_calls_count) == ("recvfrom", 1, 100)


def test_every_thread_and_process_is_followed() -> None:
    argv = started_under_strace(("iperf3", "-s"), "log")
    assert argv[:2] == ("strace", "-f")
    assert argv[-4:] == ("-o", "log", "iperf3", "-s")
