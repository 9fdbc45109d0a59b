"""A quick test may use the loopback and no other network."""

import socket

import pytest


@pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8::1"])
def test_a_quick_test_that_contacts_a_network_fails(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as made, pytest.raises(AssertionError, match=address):
        made.connect((address, 9))


def test_the_loopback_is_allowed() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.connect(("127.0.0.1", 9))
