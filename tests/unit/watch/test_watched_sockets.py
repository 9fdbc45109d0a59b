"""Which sockets are the two ends of a connection, which end sends, and how they are named."""

import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.watch.sockets import Socket, WatchedEnds, endpoint, paired

A, B, C = "10.0.0.1:4000", "10.0.0.2:5201", "10.0.0.1:4001"


def socket(
    local: str, remote: str, sent: int = 0, received: int = 0, *, far: bool = False, number: int = 0, **changes: object
) -> Socket:
    base = Socket(
        side="far" if far else "near",
        connection=number,
        local=local,
        remote=remote,
        cookie=100 + number + (50 if far else 0),
        program="iperf3",
        process=7,
        whole=True,
        first_ns=0,
        last_ns=10,
        listens=far,
        sent_bytes=sent,
        received_bytes=received,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def shape(found: list[WatchedEnds]) -> list[dict[str, tuple[str, int, str]]]:
    """Of each connection, by host: the side and the number of the socket, and its role."""
    return [
        {host: (own.side, own.connection, ends.roles[host]) for host, own in ends.sockets.items()} for ends in found
    ]


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("10.0.0.1:80", "10.0.0.1:80"),
        ("[::ffff:10.0.0.1]:80", "10.0.0.1:80"),
        ("[2001:DB8:0::1]:443", "[2001:db8::1]:443"),
        ("[fe80::1%eth0]:22", "[fe80::1%eth0]:22"),
        ("/run/socket", "/run/socket"),
        ("", ""),
    ],
)
def test_addresses_are_compared_in_one_form(given_text: str, shown: str) -> None:
    assert endpoint(given_text) == shown


@given(st.text(max_size=200))
def test_no_address_can_drive_a_terminal(text: str) -> None:
    assert not any(unicodedata.category(each).startswith("C") for each in endpoint(text))


def test_sockets_of_two_hosts_pair_by_swapped_ends() -> None:
    near = [socket(A, B, sent=100), socket(C, B, sent=900, number=1)]
    far = [socket(B, C, received=900, far=True), socket(B, A, received=100, far=True, number=1)]
    assert shape(paired(near, far)) == [
        {"near": ("near", 1, "sender"), "far": ("far", 0, "receiver")},
        {"near": ("near", 0, "sender"), "far": ("far", 1, "receiver")},
    ]


def test_what_has_no_partner_stays_alone_on_its_side() -> None:
    near = [socket(A, B, sent=100)]
    far = [socket(B, "192.0.2.9:4000", received=100, far=True)]
    assert shape(paired(near, far)) == [{"near": ("near", 0, "sender")}, {"far": ("far", 0, "receiver")}]


def test_a_far_side_keeps_both_sockets_of_a_local_connection_apart() -> None:
    # What the far host is must not be said of this one.
    near = [socket(A, B, sent=9), socket(B, A, received=9, number=1)]
    far = [socket(B, C, received=1, far=True)]
    assert [set(entry) for entry in shape(paired(near, far))] == [{"near"}, {"near"}, {"far"}]


def test_the_same_ends_again_pair_in_their_order() -> None:
    near = [socket(A, B, sent=5), socket(A, B, sent=3, number=1, first_ns=20, last_ns=30)]
    far = [
        socket(B, A, received=5, far=True),
        socket(B, A, received=3, far=True, number=1, first_ns=20, last_ns=30),
    ]
    assert [(entry["near"][1], entry["far"][1]) for entry in shape(paired(near, far))] == [(0, 0), (1, 1)]


def test_two_sockets_on_one_host_are_one_connection_with_the_opener_near() -> None:
    accepted = socket(B, A, received=100, listens=True)
    opened = socket(A, B, sent=100, number=1, listens=False)
    for order in ([accepted, opened], [opened, accepted]):
        (found,) = paired(order, [])
        assert shape([found]) == [{"near": ("near", 1, "sender"), "far": ("near", 0, "receiver")}]
        assert found.on_one_host


def test_ends_that_were_not_there_together_are_two_connections() -> None:
    found = paired([socket(A, B, sent=1), socket(B, A, received=1, number=1, first_ns=11, last_ns=12)], [])
    assert [len(ends.sockets) for ends in found] == [1, 1]


def test_a_socket_that_both_agents_of_one_host_watched_counts_once() -> None:
    both = [socket(A, B, sent=4, listens=False), socket(B, A, received=4, number=1, listens=True)]
    again = [replace(own, side="far") for own in both]
    (found,) = paired(both, again, same_host=True)
    assert shape([found]) == [{"near": ("near", 0, "sender"), "far": ("near", 1, "receiver")}]


@pytest.mark.parametrize(
    ("sent", "received", "listens", "role"),
    [
        (10, 5, False, "sender"),
        (5, 10, False, "receiver"),
        (0, 0, False, "sender"),
        (0, 0, True, "receiver"),
        (0, 0, None, "sender"),
    ],
)
def test_the_sender_is_who_sent_more(sent: int, received: int, listens: bool | None, role: str) -> None:
    (found,) = paired([socket(A, B, sent, received, listens=listens)], [])
    assert found.roles == {"near": role}


def test_roles_of_two_sides_are_opposite_whatever_they_count() -> None:
    # The far agent attached later and saw the end of the transfer alone.
    (found,) = paired([socket(A, B, sent=1000, received=5)], [socket(B, A, sent=5, received=3, far=True)])
    assert found.roles == {"near": "sender", "far": "receiver"}


def test_the_busiest_comes_first() -> None:
    near = [socket(A, B, sent=1), socket(C, B, sent=1, received=8, number=1), socket(A, C, sent=5, number=2)]
    assert [ends.first.connection for ends in paired(near, [])] == [1, 2, 0]
