"""Many peers that connect to an agent's port and know no token: some silent, some slow, some that talk or break off."""

import os
import resource
import socket
import struct
import threading
from types import TracebackType
from typing import Self

from tests.protocol.pipe_talk import PLAIN_TOKEN

#: Files of the test process in addition to the unauthenticated peers'.
OTHER_FILES = 500
#: With it close(2) resets the connection (socket(7), SO_LINGER).
RESET = struct.pack("ii", 1, 0)
#: What each kind says at once; the drips say a byte more now and then, the resets break off.
SAYS = {
    "silent": b"",
    "drip": b"W",
    "garbage": os.urandom(512),
    "half a token": b"WPDC" + bytes(4) + bytes.fromhex(PLAIN_TOKEN)[:20],
    "wrong token": b"WPDC" + bytes(4) + b"\x5b" * 32,
    "reset": b"WP",
}
KINDS = tuple(SAYS)


class Crowd:
    """So many connections to a port of the loopback, of the kinds by turns; those that the agent drops come again.

    Inside the `with` all have connected once. The crowd disperses when the port closes.
    """

    def __init__(self, port: int, count: int, kinds: tuple[str, ...] = KINDS) -> None:
        """Nobody comes before the `with`."""
        self.came_count = 0
        self._port = port
        self._sockets: list[socket.socket | None] = [None] * count
        self._kinds = [kinds[number % len(kinds)] for number in range(count)]
        self._over = threading.Event()
        self._all_came = threading.Event()
        self._thread = threading.Thread(target=self._stand, daemon=True)
        self._limits = resource.getrlimit(resource.RLIMIT_NOFILE)

    def __enter__(self) -> Self:
        """Returns when everybody has connected once."""
        wanted = len(self._sockets) + OTHER_FILES
        if self._limits[0] < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(wanted, self._limits[1])))
        self._thread.start()
        assert self._all_came.wait(60), f"{self.came_count} of {len(self._sockets)} peers came"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Everybody goes."""
        self._over.set()
        self._thread.join()
        for peer in self._sockets:
            if peer is not None:
                peer.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, self._limits)

    def _stand(self) -> None:
        while not self._over.is_set():
            for number, kind in enumerate(self._kinds):
                client = self._sockets[number]
                if client is None or self._is_dropped(kind, client):
                    self._sockets[number] = None if self._over.is_set() else self._come(kind)
            self._all_came.set()
            self._over.wait(0.02)
        self._all_came.set()

    def _come(self, kind: str) -> socket.socket | None:
        client = socket.socket()
        try:
            client.settimeout(5)
            client.connect(("127.0.0.1", self._port))
            self.came_count += 1
            client.setblocking(False)
            client.send(SAYS[kind])
        except ConnectionRefusedError:
            # The port has closed.
            self._over.set()
            client.close()
            return None
        except OSError:
            # The agent was quicker, or its queue is full.
            client.close()
            return None
        if kind == "reset":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            client.close()
            return None
        return client

    @staticmethod
    def _is_dropped(kind: str, client: socket.socket) -> bool:
        """Whether the agent has closed it, which is closed then; a drip says its next byte."""
        try:
            if kind == "drip":
                client.send(b"P")
            if client.recv(1):
                return False
        except BlockingIOError:
            return False
        except OSError:
            pass
        client.close()
        return True
