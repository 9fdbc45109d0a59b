"""A program of another, as far as `whyperf watch` can see: one that reads, writes or asks over TCP in plain Python.

It imports nothing of whyperf. The truth experiments start it on both sides of a connection (`watched.toml`).
"""

import argparse
import selectors
import socket
import threading
import time
from collections.abc import Sequence

ROUND_BYTES = 1 << 16
MANY = 2
"""From so many connections on, one thread serves all."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(description=__doc__)
    found.add_argument("role", choices=("read", "write", "answer", "ask"))
    found.add_argument("--listen", type=int, default=0, help="port to listen on")
    found.add_argument("--connect", default="", help="ADDRESS:PORT to connect to")
    found.add_argument("--connections", type=int, default=1)
    found.add_argument("--piece", type=int, default=ROUND_BYTES, help="bytes of a read or write call")
    found.add_argument("--pause-us", type=int, default=0, help="sleep after each piece")
    found.add_argument("--compute-us", type=int, default=0, help="compute after each piece")
    found.add_argument("--receive-buffer", type=int, default=0)
    found.add_argument("--send-buffer", type=int, default=0)
    found.add_argument("--no-delay", action="store_true")
    found.add_argument("--head", type=int, default=0, help="bytes of the first write of a request")
    found.add_argument("--request", type=int, default=64, help="bytes of the second write of a request")
    found.add_argument("--response", type=int, default=64, help="bytes of a response")
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve, or connect and work, until ended."""
    options = parser().parse_args(arguments)
    if options.listen:
        _serve(options)
    else:
        _work_on([_connected(options) for _ in range(options.connections)], options)


def _socket(options: argparse.Namespace) -> socket.socket:
    """A socket with its options. Buffers are set before the handshake, which has the window scale."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if options.receive_buffer:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.receive_buffer)
    if options.send_buffer:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer)
    if options.no_delay:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def _connected(options: argparse.Namespace) -> socket.socket:
    address, _, port = options.connect.rpartition(":")
    made = _socket(options)
    made.connect((address, int(port)))
    return made


def _serve(options: argparse.Namespace) -> None:
    listener = _socket(options)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", options.listen))
    listener.listen(1024)
    if options.connections >= MANY:
        _work_on([listener.accept()[0] for _ in range(options.connections)], options)
        return
    while True:
        accepted = listener.accept()[0]
        threading.Thread(target=_work_on, args=([accepted], options), daemon=True).start()


def _work_on(connections: Sequence[socket.socket], options: argparse.Namespace) -> None:
    if len(connections) >= MANY:
        _work_on_many(connections, options)
        return
    (connection,) = connections
    room, piece = bytearray(options.piece), bytes(options.piece)
    head, request, response = bytes(options.head), bytes(options.request), bytes(options.response)
    while True:
        match options.role:
            case "read":
                if not connection.recv_into(room):
                    return
            case "write":
                connection.sendall(piece)
            case "ask":
                if head:
                    connection.sendall(head)
                connection.sendall(request)
                _read(connection, len(response))
            case "answer":
                if not _read(connection, len(head) + len(request)):
                    return
                connection.sendall(response)
        _rest(options)


def _rest(options: argparse.Namespace) -> None:
    if options.pause_us:
        time.sleep(options.pause_us / 1e6)
    if options.compute_us:
        until_ns = time.perf_counter_ns() + options.compute_us * 1000
        while time.perf_counter_ns() < until_ns:
            pass


def _read(connection: socket.socket, count: int) -> bool:
    """Reads so many bytes; False where the other side has ended."""
    while count:
        received = connection.recv(count)
        if not received:
            return False
        count -= len(received)
    return True


def _work_on_many(connections: Sequence[socket.socket], options: argparse.Namespace) -> None:
    """Reads or writes on all connections that are ready."""
    chosen = selectors.DefaultSelector()
    reads = options.role == "read"
    for connection in connections:
        connection.setblocking(False)
        chosen.register(connection, selectors.EVENT_READ if reads else selectors.EVENT_WRITE)
    room, piece = bytearray(options.piece), bytes(options.piece)
    while True:
        for key, _ in chosen.select():
            try:
                if reads:
                    key.fileobj.recv_into(room)  # type: ignore[union-attr]
                else:
                    key.fileobj.send(piece)  # type: ignore[union-attr]
            except BlockingIOError:
                continue
        _rest(options)


if __name__ == "__main__":
    main()
