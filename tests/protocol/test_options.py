"""Socket options: each is set, found so by the kernel's own word, and changes nothing of what arrives."""

import socket
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from tests.protocol.pipe_talk import Talk, forever, opened, ran
from tests.protocol.socket_of import connected_to

StartTalk = Callable[..., Talk]

TCP, SOCKET, IP, IPV6 = socket.IPPROTO_TCP, socket.SOL_SOCKET, socket.IPPROTO_IP, socket.IPPROTO_IPV6
#: include/uapi/asm-generic/socket.h.
SO_BUSY_POLL, SO_MAX_PACING_RATE, SO_ZEROCOPY = 46, 47, 60
PAYLOAD = 5_000_000


@pytest.mark.parametrize(
    ("option", "place", "value", "address"),
    [
        ({"no_delay": True}, (TCP, socket.TCP_NODELAY), 1, "127.0.0.1"),
        ({"cork": True}, (TCP, socket.TCP_CORK), 1, "127.0.0.1"),
        ({"dscp": 46}, (IP, socket.IP_TOS), 46 << 2, "127.0.0.1"),
        ({"dscp": 46}, (IPV6, socket.IPV6_TCLASS), 46 << 2, "::1"),
        ({"busy_poll_us": 50}, (SOCKET, SO_BUSY_POLL), 50, "127.0.0.1"),
        ({"zero_copy": True}, (SOCKET, SO_ZEROCOPY), 1, "127.0.0.1"),
        ({"pacing_rate_bytes_per_second": 1_000_000}, (SOCKET, SO_MAX_PACING_RATE), 1_000_000, "127.0.0.1"),
    ],
)
def test_an_option_is_what_the_kernel_says_it_is(
    talk: StartTalk, option: dict[str, Any], place: tuple[int, int], value: int, address: str
) -> None:
    far, near, port = opened(talk, address=address, socket=option, **forever())
    with connected_to(near.process.pid, port) as sender:
        assert sender.getsockopt(*place) == value
        with connected_to(far.process.pid, sender.getsockname()[1]) as receiver:
            if "cork" not in option and "pacing_rate_bytes_per_second" not in option:
                assert receiver.getsockopt(*place) == value


@pytest.mark.parametrize(
    "options",
    [
        {"zero_copy": True},
        {"truncate": True},
        {"send_call": "sendfile"},
        {"send_call": "splice"},
        {"send_call": "splice", "cork": True, "truncate": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("write_size_bytes", [1000, 300_000])
def test_every_way_of_sending_is_exact(talk: StartTalk, options: dict[str, Any], write_size_bytes: int) -> None:
    stop = {"by": "bytes", "payload_bytes": PAYLOAD}
    far, near, _ = opened(talk, socket=options, stop=stop, write_size_bytes=write_size_bytes)
    finished = ran(far, near)
    assert [end["payload_bytes"] for end, _ in finished] == [PAYLOAD] * 2
    notes = {note["note"]: note for note in finished[1][0]["notes"]}
    if options.get("zero_copy"):
        # Nothing leaves a loopback without a copy; every call is accounted for.
        copied = notes["zero_copy_copied"]
        calls = pl.read_parquet(finished[1][1]["flows"])["calls_count"].sum()
        assert copied["count"] == copied["sent_count"] == calls


@pytest.mark.parametrize(
    ("transport", "options"),
    [("unix", {"send_call": "sendfile"}), ("unix", {"send_call": "splice"}), ("mptcp", {"no_delay": True})],
)
def test_other_transports_have_some_of_them(talk: StartTalk, transport: str, options: dict[str, Any]) -> None:
    far, near, _ = opened(talk, socket=options, transport=transport)
    assert [end["payload_bytes"] for end, _ in ran(far, near)] == [100_000] * 2


def test_quick_ack_is_armed_again_after_every_read(talk: StartTalk) -> None:
    far, near, _ = opened(talk, socket={"quick_ack": True}, read_wait="block")
    flows = pl.read_parquet(ran(far, near)[0][1]["flows"])
    assert flows["other_calls_count"].to_list() == flows["calls_count"].to_list()
