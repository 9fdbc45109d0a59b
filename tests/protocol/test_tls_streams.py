"""TLS: what is asked for is negotiated and recorded, OpenSSL understands it, and the token goes inside."""

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import polars as pl
import pytest

from tests.protocol.disturber import between
from tests.protocol.pipe_talk import PLAIN_TOKEN, TOKEN, Talk, opened, ran, trial
from tests.protocol.workload_talk import MS, group, iterations, specs, think, transaction, workload, write

StartTalk = Callable[..., Talk]

PAYLOAD = 3_000_000
#: Length of a preamble and of its welcome (docs/reference/protocol.md).
PREAMBLE_BYTES = 40


def preamble(token: str = TOKEN, number: int = 0) -> bytes:
    """What a connection says first."""
    return b"WPDC" + number.to_bytes(4, "big") + bytes.fromhex(token)


@contextmanager
def secured(port: int, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> Iterator[ssl.SSLSocket]:
    """A connection of OpenSSL's to a port of this host; the certificate is the trial's own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    with socket.create_connection(("127.0.0.1", port), timeout=20) as beneath, context.wrap_socket(beneath) as found:
        yield found


@pytest.mark.parametrize(
    ("version", "cipher"),
    [("1.2", "aes-256-gcm"), ("1.3", "aes-128-gcm"), ("1.3", "aes-256-gcm"), ("1.3", "chacha20-poly1305")],
)
def test_what_is_asked_for_is_negotiated(talk: StartTalk, version: str, cipher: str) -> None:
    asked = {"tls_version": version, "tls_cipher": cipher}
    stop = {"by": "bytes", "payload_bytes": PAYLOAD}
    far, near, _ = opened(talk, transport="tls", socket=asked, stop=stop, connections_count=2)
    finished = ran(far, near)
    assert [end["payload_bytes"] for end, _ in finished] == [2 * PAYLOAD] * 2
    for _, tables in finished:
        rows = pl.read_parquet(tables["tls"])
        assert rows.select("version", "cipher", "in_kernel").unique().rows() == [(version, cipher, False)]
        assert rows["connection"].to_list() == [0, 1]
        assert pl.read_parquet(tables["flows"])["transport"].to_list() == ["tls"] * 2
        # Beneath it is TCP.
        assert min(pl.read_parquet(tables["tcp_info"])["rtt_ns"].to_list()) > 0


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        ({"no_delay": True, "cork": True}, {"write_size_bytes": 1, "stop": {"by": "bytes", "payload_bytes": 3000}}),
        ({"quick_ack": True, "window_bytes": 65_536}, {"write_size_bytes": 300_000}),
        ({"tls_record_bytes": 64}, {"write_size_bytes": 1000}),
        ({"congestion_control": "reno", "mss_bytes": 1000}, {"write_size_bytes": 1000}),
        ({}, {"write_size_bytes": 5000, "reply_size_bytes": 3000}),
        ({}, {"write_size_bytes": 5000, "reply_size_bytes": 3000, "read_wait": "block"}),
    ],
    ids=str,
)
def test_every_byte_arrives(talk: StartTalk, options: dict[str, Any], changes: dict[str, Any]) -> None:
    changes = {"stop": {"by": "bytes", "payload_bytes": 500_000}} | changes
    finished = ran(*opened(talk, transport="tls", socket=options, **changes)[:2])
    assert [end["payload_bytes"] for end, _ in finished] == [changes["stop"]["payload_bytes"]] * 2


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_openssl_sends_a_whole_stream(talk: StartTalk, version: ssl.TLSVersion) -> None:
    far = talk().hello()
    stop = {"by": "bytes", "payload_bytes": PAYLOAD}
    port = far.ask("prepare", **trial(transport="tls", stop=stop))["port"]
    with secured(port, version) as peer:
        peer.sendall(preamble())
        assert read(peer, PREAMBLE_BYTES) == b"+" * PREAMBLE_BYTES
        identifier = far.send("start", at_mono_ns=0)
        peer.sendall(bytes(PAYLOAD))
        # Python's `unwrap` would throw away what comes: the end of TCP's stream is the end.
        socket.socket.shutdown(peer, socket.SHUT_WR)
        assert int.from_bytes(read(peer, 8), "big") == PAYLOAD
        finished, tables = far.finish(identifier)
    assert finished["outcome"] == {"ended": "complete"}
    assert pl.read_parquet(tables["tls"])["version"].to_list() == [version.name.removeprefix("TLSv").replace("_", ".")]


def test_without_the_token_nobody_gets_in(talk: StartTalk) -> None:
    far = talk().hello()
    port = far.ask("prepare", **trial(transport="tls"))["port"]
    attempts = (wrong_token, token_of_the_conductor, token_in_the_clear, garbage_of_a_handshake)
    for attempt in attempts:
        attempt(port)
    end = time.monotonic() + 20
    while (seen := far.ask("describe_opening"))["strangers_count"] < len(attempts):
        assert time.monotonic() < end, seen
        time.sleep(0.05)
    assert seen["connections_count"] == 0


def test_nothing_in_the_clear_has_the_token_of_the_certificate(talk: StartTalk) -> None:
    far, near = talk().hello(), talk().hello()
    load = workload(group(transaction(write(1), think(50 * MS), repeat=iterations(4))))
    far_spec, near_spec = specs(load, {"by": "workload"}, transport="tls", round_trip_probe_ns=10 * MS)
    port = far.ask("prepare", **far_spec)["port"]
    near.ask("prepare", **near_spec)
    with (
        between(port, lambda datagram: [datagram]) as (address, passed),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as echo,
    ):
        echo.bind((address, 0))
        connected = near.ask("connect", address=address, port=port, echo_port=echo.getsockname()[1])
        assert connected["reply"] == "connected"
        ran(far, near)
        echo.settimeout(10)
        request = echo.recv(100)
    assert preamble(PLAIN_TOKEN, 0xFFFF_FFFF) in passed.pieces
    assert request == preamble(PLAIN_TOKEN)
    assert not any(bytes.fromhex(TOKEN) in piece for piece in [*passed.pieces, request])


def wrong_token(port: int) -> None:
    """TLS, and a token of another trial inside."""
    with secured(port) as peer:
        peer.sendall(preamble("00" * 32))
        assert is_closed(peer)


def token_of_the_conductor(port: int) -> None:
    """TLS, and inside what everybody on the path could read."""
    with secured(port) as peer:
        peer.sendall(preamble(PLAIN_TOKEN))
        assert is_closed(peer)


def token_in_the_clear(port: int) -> None:
    """The right token, but no TLS."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as peer:
        peer.sendall(preamble())
        assert is_closed(peer)


def garbage_of_a_handshake(port: int) -> None:
    """A record of a handshake with nonsense in it."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as peer:
        peer.sendall(b"\x16\x03\x01\x00\x28" + b"\xff" * 40)
        assert is_closed(peer)


def is_closed(peer: socket.socket) -> bool:
    """Whether the other side closes without a welcome."""
    try:
        while piece := peer.recv(100):
            if piece.startswith(b"+"):
                return False
    except (ConnectionResetError, ssl.SSLError):
        pass
    return True


def read(peer: socket.socket, count: int) -> bytes:
    """Exactly so many bytes."""
    got = b""
    while len(got) < count:
        piece = peer.recv(count - len(got))
        assert piece, got
        got += piece
    return got


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"socket": {"zero_copy": True}}, "zero_copy is no option of the transport tls"),
        ({"socket": {"send_call": "sendfile"}}, "sendfile and splice move no byte through the agent"),
        ({"socket": {"tls_record_bytes": 63}}, "tls_record_bytes is 63; it must be from 64 to 16384"),
        ({"socket": {"tls_record_bytes": 1000, "ktls": "both"}}, "leave tls_record_bytes out, or set ktls to off"),
        ({"transport": "tcp", "socket": {"ktls": "tx"}}, "ktls is no option of the transport tcp"),
    ],
)
def test_what_does_not_apply_is_refused(talk: StartTalk, changes: dict[str, Any], problem: str) -> None:
    refused = talk().hello().ask("prepare", **trial(**{"transport": "tls"} | changes))
    assert (refused["reply"], refused["fault"]) == ("error", "usage"), refused
    assert problem in refused["text"]


def test_a_kernel_without_tls_is_named_with_what_to_do(talk: StartTalk) -> None:
    far, near = talk().hello(), talk().hello()
    abilities = far.ask("describe_host", with_hooks=False)["abilities"]
    (kernel,) = [ability for ability in abilities if ability["name"] == "kernel_tls"]
    asked: dict[str, Any] = {"transport": "tls", "socket": {"ktls": "both"}}
    port = far.ask("prepare", **trial(**asked))["port"]
    near.ask("prepare", **trial("connect", "sender", **asked))
    reply = near.ask("connect", address="127.0.0.1", port=port)
    if kernel["can"]:
        assert reply["reply"] == "connected"
    else:
        assert "modprobe tls" in kernel["reason"]
        assert reply["reply"] == "error"
        assert "TLS 1.3 with aes-128-gcm in the kernel" in reply["text"]
        assert "set ktls to off" in reply["text"]
