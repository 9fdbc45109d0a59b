"""Stands between two agents and loses, repeats and reorders datagrams on purpose; all else it passes on."""

import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

#: What becomes of a datagram: these are sent on now.
Disturb = Callable[[bytes], list[bytes]]


@dataclass
class Passed:
    """Sequence numbers of one flow, and pieces of streams, in the order in which they were sent on."""

    sequences: list[int] = field(default_factory=list)
    pieces: list[bytes] = field(default_factory=list)

    @property
    def late(self) -> int:
        """Those that came first behind a higher one."""
        seen: set[int] = set()
        highest, late = -1, 0
        for sequence in self.sequences:
            late += sequence < highest and sequence not in seen
            seen.add(sequence)
            highest = max(highest, sequence)
        return late


def sequence_of(datagram: bytes) -> int | None:
    """The number of a datagram, as crates/workload/src/datagrams.rs says; None for a preamble or a welcome."""
    if datagram[:4] in {b"WPDC", b"++++"}:
        return None
    number: int = struct.unpack(">Q", datagram[4:12])[0]
    return number


@contextmanager
def between(port: int, disturb: Disturb, source: str = "127.0.0.1") -> Iterator[tuple[str, Passed]]:
    """Listens where the far side does, at another address, and yields that and what was passed on.

    Streams come to the far side from `source`, as behind address translation.
    """
    near, far, passed = ("127.0.0.3", port), ("127.0.0.1", port), Passed()
    with ExitStack() as stack:
        stream = stack.enter_context(socket.create_server(near))
        downstream = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        downstream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        downstream.bind(near)
        upstream = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        upstream.connect(far)
        ended = threading.Event()
        workers = (
            threading.Thread(target=_pass_stream, args=(stream, far, source, passed, ended)),
            threading.Thread(target=_pass_datagrams, args=(downstream, upstream, disturb, passed, ended)),
        )
        for worker in workers:
            worker.start()
        try:
            yield near[0], passed
        finally:
            ended.set()
            for worker in workers:
                worker.join()


def _pass_stream(
    server: socket.socket, far: tuple[str, int], source: str, passed: Passed, ended: threading.Event
) -> None:
    with ExitStack() as stack:
        others: dict[socket.socket, socket.socket] = {}
        while not ended.is_set():
            for ready in select.select([server, *others], [], [], 0.05)[0]:
                if ready is server:
                    onward = socket.create_connection(far, source_address=(source, 0))
                    ends = stack.enter_context(server.accept()[0]), stack.enter_context(onward)
                    others |= {ends[0]: ends[1], ends[1]: ends[0]}
                    continue
                with suppress(OSError):
                    data = ready.recv(65536)
                    other = others[ready]
                    if data:
                        passed.pieces.append(data)
                        other.sendall(data)
                        continue
                    del others[ready]
                    other.shutdown(socket.SHUT_WR)


def _pass_datagrams(
    downstream: socket.socket, upstream: socket.socket, disturb: Disturb, passed: Passed, ended: threading.Event
) -> None:
    near = None
    while not ended.is_set():
        for ready in select.select([downstream, upstream], [], [], 0.05)[0]:
            with suppress(OSError):
                if ready is upstream:
                    assert near is not None
                    downstream.sendto(upstream.recv(65536), near)
                    continue
                datagram, near = downstream.recvfrom(65536)
                for piece in disturb(datagram):
                    sequence = sequence_of(piece)
                    if sequence is not None:
                        passed.sequences.append(sequence)
                    upstream.send(piece)
