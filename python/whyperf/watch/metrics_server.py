"""Serves metrics over HTTP: few connections at a time, each for a limited time, and only to who names this host.

A page of the web can have a browser on this host ask any address, under a name of the page's own that leads there (DNS
rebinding). The header Host has this name, so others than those of the served address are refused.
"""

import ipaddress
import socket
import threading
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app

MAX_OPEN: Final = 8
"""Connections at a time. One more ends the oldest: a scrape takes some ms, so the oldest is an idle one."""
MAX_SILENT_S: Final = 5.0
"""The time that a connection may send nothing, or take nothing."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def serve(registry: CollectorRegistry, address: str, port: int) -> int:
    """Serve in a thread that ends with the process; returns the port.

    Raises:
        OSError: the address or the port cannot be used.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = _Server((address, port), _Handler, family)
    server.set_app(_for_this_host(make_wsgi_app(registry), ipaddress.ip_address(address)))
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return int(server.server_address[1])


def is_of_this_host(named: str, served: Address, names: Collection[str]) -> bool:
    """True where a header Host names the address that is served: its number, or one of the ``names`` of this host.

    Of the loopback only `localhost` is one. Where all addresses are served, any number is one. A name of another domain
    is none, though it begins as this host's: its owner decides where it leads.
    """
    name = named.rpartition(":")[0] if named.rpartition(":")[2].isdecimal() and not named.endswith("]") else named
    try:
        number = ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return name.lower().rstrip(".") in (("localhost",) if served.is_loopback else names)
    return number == served or served.is_unspecified


def _for_this_host(app: App, served: Address) -> App:
    names = set() if served.is_loopback else _names_of_this_host()

    def checked(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if is_of_this_host(environ.get("HTTP_HOST", ""), served, names):
            return app(environ, start_response)
        start_response("421 Misdirected Request", [("Content-Type", "text/plain; charset=utf-8")])
        return [f"The header Host names another host; ask for {served}.\n".encode()]

    return checked


def _names_of_this_host() -> set[str]:
    """Its name, alone and with the domain that the host finds for it, in lower case."""
    name = socket.gethostname().lower()
    return {name, name.partition(".")[0], socket.getfqdn().lower().rstrip(".")} - {"", "localhost"}


class _Handler(WSGIRequestHandler):
    """A request; its connection ends after it."""

    timeout = MAX_SILENT_S

    def log_message(self, *_: object) -> None:
        """Nothing: standard error is the watch's."""


class _Server(WSGIServer):
    """A thread for each connection, at most `MAX_OPEN` at a time."""

    def __init__(self, address: tuple[str, int], handler: type[_Handler], family: socket.AddressFamily) -> None:
        self.address_family = family
        #: In the order in which they came.
        self._open: dict[socket.socket, None] = {}
        self._lock = threading.Lock()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Handles a connection in a thread of its own; called by `serve_forever`."""
        with self._lock:
            if len(self._open) >= MAX_OPEN:
                oldest = next(iter(self._open))
                del self._open[oldest]
                # Its thread reads the end of it, and goes.
                with suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)
            self._open[request] = None
        threading.Thread(target=self._handle, args=(request, client_address), daemon=True).start()

    def _handle(self, request: socket.socket, client_address: Any) -> None:
        # Whoever asks may leave, or be silent for too long.
        try:
            with suppress(OSError):
                self.finish_request(request, client_address)
        finally:
            self.shutdown_request(request)
            with self._lock:
                self._open.pop(request, None)
