"""Each state of a receiver, from a scene in which it must be that one."""

import pytest

from tests.unit.explain import scenes

SCENES = {
    "payload arrives, wakes the reader, is read; the reader waits for more": (
        """
        call 0 120 moved=1448 blocked=100 preempted=5
        100 < 1:1449    queue=0
        125 > ack=1449  queue=0 win=65536
        call 126 300 moved=1448 blocked=160
        290 < 1449:2897 queue=0
        310 > ack=2897  queue=0
        """,
        [
            "0-100 waiting",
            "100-105 waits_for_cpu",
            "105-120 read_call",
            "120-125 delayed_ack",
            "125-126 waiting",
            "126-130 read_call",
            "130-290 waiting",
            "290-300 read_call",
            "300-310 delayed_ack",
        ],
    ),
    "the application is away while payload lies there": (
        """
        call 0 10 moved=1448
        5    < 1:1449    queue=0
        12   > ack=1449  queue=0
        100  < 1449:2897 queue=0
        110  > ack=2897  queue=1448
        call 1000 1010 moved=1448 slept=980
        1020 > ack=2897  queue=0
        """,
        [
            "0-10 read_call",
            "10-12 delayed_ack",
            "12-100 waiting",
            "100-1000 not_reading",
            "1000-1010 read_call",
            "1010-1020 waiting",
        ],
    ),
    "later payload has arrived, an earlier one is missing": (
        """
        call 0 1 would_block
        10  < 1:1449     queue=0
        11  > ack=1449   queue=1448
        call 20 30 moved=1448 slept=8
        40  < 2897:4345  queue=0
        41  > ack=1449   queue=0
        call 45 46 would_block slept=14
        500 < 1449:2897  queue=0
        501 > ack=4345   queue=2896
        call 510 520 moved=2896 slept=455
        """,
        [
            "0-1 read_call",
            "1-10 waiting",
            "10-20 waits_for_cpu",
            "20-30 read_call",
            "30-40 waiting",
            "40-45 sequence_hole",
            "45-46 read_call",
            "46-501 sequence_hole",
            "501-510 waits_for_cpu",
            "510-520 read_call",
        ],
    ),
    "the delayed-ACK timer lets the acknowledgment go": (
        """
        call 0 20 moved=100
        10    < 1:101    queue=0
        40020 > ack=101  queue=0 by=timer
        40100 < 101:201  queue=0
        call 40110 40120 moved=100 slept=40090
        """,
        [
            "0-20 read_call",
            "20-40020 delayed_ack",
            "40020-40100 waiting",
            "40100-40110 not_reading",
            "40110-40120 read_call",
        ],
    ),
    "segments come in without pause while the reader sleeps in its call": (
        """
        0   > ack=1      queue=0
        call 1 120 moved=4344 blocked=109
        100 < 1:1449     queue=0
        105 < 1449:2897  queue=1448
        110 < 2897:4345  queue=2896
        """,
        ["0-100 waiting", "100-110 softirq", "110-120 read_call"],
    ),
}


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_has_these_states(name: str) -> None:
    text, expected = SCENES[name]
    assert scenes.receiver(text) == expected
