"""Who gets metrics over HTTP, and how many connections there are at a time."""

import http.client
import ipaddress
import socket

import pytest
from prometheus_client import CollectorRegistry, Gauge

from whyperf.watch import metrics_server
from whyperf.watch.metrics_server import MAX_OPEN, is_of_this_host, serve

NAMES = {"node7", "node7.site.example"}


@pytest.fixture(scope="module")
def port() -> int:
    registry = CollectorRegistry()
    Gauge("answer", "A figure.", registry=registry).set(42)
    return serve(registry, "127.0.0.1", 0)


def asked(port: int, host: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    try:
        connection.request("GET", "/metrics", headers={"Host": host})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def test_a_page_of_the_web_gets_nothing(port: int) -> None:
    """A name that leads to this host by DNS alone is none of its names."""
    assert asked(port, f"127.0.0.1:{port}") == asked(port, "localhost")
    status, text = asked(port, f"localhost:{port}")
    assert (status, "answer 42.0" in text) == (200, True)
    for other in ("rebound.example", f"rebound.example:{port}", "localhost.example", "192.0.2.1", ""):
        status, text = asked(port, other)
        assert (status, text) == (421, "The header Host names another host; ask for 127.0.0.1.\n"), other


@pytest.mark.parametrize(
    ("named", "served", "is_named"),
    [
        ("127.0.0.1:9100", "127.0.0.1", True),
        ("[::1]:9100", "::1", True),
        ("[::1]", "::1", True),
        ("LOCALHOST.", "::1", True),
        ("node7", "127.0.0.1", False),
        # Served to others: the address, or a name of this host, alone or in its own domain.
        ("192.0.2.1:9100", "192.0.2.1", True),
        ("node7:9100", "192.0.2.1", True),
        ("Node7.site.example:9100", "192.0.2.1", True),
        ("node7.site.example.", "0.0.0.0", True),
        ("node7.rebound.example:9100", "192.0.2.1", False),
        ("node7.rebound.example", "0.0.0.0", False),
        ("node7.site.example.rebound.example", "::", False),
        ("localhost", "192.0.2.1", False),
        ("rebound.example", "192.0.2.1", False),
        ("192.0.2.2", "192.0.2.1", False),
        ("192.0.2.2:9100", "0.0.0.0", True),
        ("[2001:db8::1]:9100", "::", True),
        ("rebound.example", "0.0.0.0", False),
        ("", "0.0.0.0", False),
    ],
)
def test_hosts_that_are_named(named: str, served: str, *, is_named: bool) -> None:
    assert is_of_this_host(named, ipaddress.ip_address(served), NAMES) == is_named


def test_idle_connections_take_few_threads_and_hinder_nobody(port: int) -> None:
    idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(5 * MAX_OPEN)]
    try:
        assert asked(port, "localhost")[0] == 200
        # All but the last have been ended: the end is read, and it is no time that is waited for.
        for connection in idle[:-MAX_OPEN]:
            assert connection.recv(1) == b""
    finally:
        for connection in idle:
            connection.close()


def test_a_silent_connection_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_server._Handler, "timeout", 0.05)
    silent = socket.create_connection(("127.0.0.1", serve(CollectorRegistry(), "127.0.0.1", 0)))
    silent.sendall(b"GET /metrics HTTP/1.1\r\n")
    assert silent.recv(1) == b""
    silent.close()
