"""Each state of a sender, from a scene in which it must be that one."""

import pytest

from tests.unit.explain import scenes

SCENES = {
    "a write that goes out at once, and its acknowledgment": (
        """
        call 0 10 moved=2896
        8   > 1:1449     unsent=1448
        9   > 1449:2897  unsent=0
        110 < ack=2897
        """,
        ["0-10 write_call", "10-110 not_writing"],
    ),
    "the application sleeps between its writes, and waits for a CPU": (
        """
        call 0 10 moved=1448
        8   > 1:1449
        60  < ack=1449
        call 200 210 moved=1448 slept=150 runnable=40
        208 > 1449:2897
        """,
        ["0-10 write_call", "10-160 not_writing", "160-200 waits_for_cpu", "200-210 write_call"],
    ),
    "two writes that follow each other at once": (
        """
        call 0 10 moved=1448
        8   > 1:1449
        call 12 20 moved=1448
        18  > 1449:2897
        """,
        ["0-20 write_call"],
    ),
    "nagle holds what is less than a segment": (
        """
        call 0 10 moved=100
        8   > 1:101
        call 30 40 moved=100 slept=20
        200 < ack=101    unsent=100
        202 > 101:201    by=net_rx
        """,
        ["0-10 write_call", "10-30 not_writing", "30-40 write_call", "40-200 nagle", "200-202 write_call"],
    ),
    "the window is full, and the receiver has read all": (
        """
        0   < ack=1      win=2896
        call 0 10 moved=4344
        8   > 1:1449     unsent=2896
        9   > 1449:2897  unsent=1448
        200 < ack=2897   win=2896 unsent=1448
        202 > 2897:4345  by=net_rx
        300 < ack=4345   win=2896
        """,
        ["0-9 write_call", "9-200 receive_window_buffer", "200-202 write_call", "202-300 not_writing"],
    ),
    "the congestion window is full and below the threshold": (
        """
        call 0 10 moved=4344
        5   < ack=1      win=65536 cwnd=2 ssthresh=100 unsent=4344
        8   > 1:1449     unsent=2896 cwnd=2 ssthresh=100
        9   > 1449:2897  unsent=1448 cwnd=2 ssthresh=100
        200 < ack=2897   unsent=1448 cwnd=2 ssthresh=100
        202 > 2897:4345  by=net_rx cwnd=4 ssthresh=100
        """,
        ["0-9 write_call", "9-200 slow_start", "200-202 write_call"],
    ),
    "the congestion window is full and above the threshold": (
        """
        call 0 10 moved=4344
        5   < ack=1      win=65536 cwnd=2 ssthresh=1 unsent=4344
        8   > 1:1449     unsent=2896 cwnd=2 ssthresh=1
        9   > 1449:2897  unsent=1448 cwnd=2 ssthresh=1
        200 < ack=2897   unsent=1448 cwnd=2 ssthresh=1
        202 > 2897:4345  by=net_rx cwnd=3 ssthresh=1
        """,
        ["0-9 write_call", "9-200 congestion_window", "200-202 write_call"],
    ),
    "all is sent, and the call waits for room": (
        """
        1   < ack=1      win=65536
        call 2 120 moved=4344 blocked=80 preempted=10
        8   > 1:1449
        9   > 1449:2897
        100 < ack=2897
        115 > 2897:4345
        """,
        ["1-2 not_writing", "2-20 write_call", "20-100 send_buffer", "100-110 waits_for_cpu", "110-120 write_call"],
    ),
    "the retransmission timer ends the silence": (
        """
        call 0 10 moved=1448
        8      > 1:1449
        200008 > 1:1449  again=timeout by=timer
        200108 < ack=1449
        """,
        ["0-8 write_call", "8-200008 rto_wait", "200008-200108 not_writing"],
    ),
    "the pacing timer lets it go": (
        """
        1   < ack=1      win=65536
        call 2 10 moved=2896
        8   > 1:1449     unsent=1448
        500 > 1449:2897  by=hrtimer
        """,
        ["1-2 not_writing", "2-8 write_call", "8-500 pacing"],
    ),
    "small queues hold it until the device has sent": (
        """
        1   < ack=1      win=65536
        call 2 10 moved=2896
        8   > 1:1449     unsent=1448
        500 > 1449:2897  by=worker
        """,
        ["1-2 not_writing", "2-8 write_call", "8-500 device"],
    ),
    "new data may not go while a loss is repaired": (
        """
        0    < ack=1      win=65536 unsent=0
        call 1 10 moved=8688
        2    > 1:1449     unsent=7240 cwnd=4
        3    > 1449:2897  unsent=5792 cwnd=4
        4    > 2897:4345  unsent=4344 cwnd=4
        5    > 4345:5793  unsent=2896 cwnd=4
        100  < ack=1      cwnd=4
        120  > 1:1449     unsent=2896 cwnd=2 again=fast by=net_rx
        220  < ack=5793   unsent=2896 cwnd=2
        221  > 5793:7241  unsent=1448 cwnd=2 by=net_rx
        222  > 7241:8689  unsent=0    cwnd=2 by=net_rx
        """,
        [
            "0-1 not_writing",
            "1-5 write_call",
            "5-120 congestion_window",
            "120-220 loss_recovery",
            "220-222 write_call",
        ],
    ),
    "the window is closed": (
        """
        0    < ack=1      win=2896
        call 1 10 moved=4344
        2    > 1:1449     unsent=2896
        3    > 1449:2897  unsent=1448
        100  < ack=2897   win=0 unsent=1448
        5000 < ack=2897   win=2896 unsent=1448
        5002 > 2897:4345  by=net_rx
        """,
        [
            "0-1 not_writing",
            "1-3 write_call",
            "3-100 receive_window_buffer",
            "100-5000 zero_window",
            "5000-5002 write_call",
        ],
    ),
    "the call would have to wait for room": (
        """
        0    < ack=1      win=65536
        call 1 10 moved=2896
        2    > 1:1449
        3    > 1449:2897
        call 11 12 would_block
        500  < ack=2897
        call 520 530 moved=1448 slept=490 runnable=18
        525  > 2897:4345
        """,
        [
            "0-1 not_writing",
            "1-12 write_call",
            "12-500 send_buffer",
            "500-520 waits_for_cpu",
            "520-530 write_call",
        ],
    ),
    "the application has asked for room, has it, and sleeps on": (
        """
        0    < ack=1      win=65536
        call 1 10 moved=2896
        2    > 1:1449
        3    > 1449:2897
        call 11 12 would_block
        500  < ack=2897
        call 20500 20510 moved=1448 slept=20470 runnable=18
        20505  > 2897:4345
        """,
        [
            "0-1 not_writing",
            "1-12 write_call",
            "12-500 send_buffer",
            "500-20482 not_writing",
            "20482-20500 waits_for_cpu",
            "20500-20510 write_call",
        ],
    ),
}


def test_a_full_window_is_the_readers_where_it_lets_payload_lie() -> None:
    text = """
        0   < ack=1      win=2896
        call 1 10 moved=4344
        2   > 1:1449     unsent=2896
        3   > 1449:2897  unsent=1448
        200 < ack=2897   win=2896 unsent=1448
        202 > 2897:4345  by=net_rx
    """
    assert scenes.sender(text, held=(50, 180))[2:5] == [
        "3-50 receive_window_buffer",
        "50-180 receive_window_reader",
        "180-200 receive_window_buffer",
    ]


def test_without_nagle_a_small_rest_is_under_way() -> None:
    text = """
        call 0 10 moved=100
        8   > 1:101
        call 30 40 moved=100 slept=20
        45  > 101:201
    """
    assert "nagle" not in " ".join(scenes.sender(text, no_delay=True))


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_has_these_states(name: str) -> None:
    text, expected = SCENES[name]
    assert scenes.sender(text) == expected


WITHOUT_CALLS = """
    0    > 1:4345     unacked=4344
    500  < ack=1448   unacked=2897
    700  < ack=1449   unacked=2896
    1000 < ack=4345   unacked=0
    2000 > 4345:7241  unacked=2896
    2100 < ack=7241   unacked=0
    2140 > 7241:8689  unacked=1448
"""


@pytest.mark.parametrize(
    ("fills_buffer", "expected"),
    [
        (False, ["0-2100 not_writing", "2100-2140 write_call"]),
        (True, ["0-700 send_buffer", "700-2100 not_writing", "2100-2140 write_call"]),
    ],
)
def test_without_calls_a_buffer_is_full_while_it_holds_over_two_thirds_of_its_most(
    expected: list[str], *, fills_buffer: bool
) -> None:
    text = WITHOUT_CALLS.replace("unacked", "unsent=0 unacked")
    assert scenes.sender(text, fills_buffer=fills_buffer) == expected
