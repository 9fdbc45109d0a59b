"""The window that a latency needs, as published in `CellResult.needed_window`."""

from whyperf.analyze.spread import FrozenModel


class SocketBuffer(FrozenModel):
    """A socket buffer as the kernel reports it, and how large it may become, its bookkeeping included.

    `bytes` is the median over the connections. `limit` names what limits it: the `socket`, where a size was requested,
    or the setting of the kernel.
    """

    bytes: int | None
    requested_bytes: int | None
    limit_bytes: int | None
    limit: str | None


class WindowAtRate(FrozenModel):
    """The window that a rate needs. `source` is where the rate is from: the emulated `path`, the `link` of the devices,
    the fastest `stream` of the same result, or an `example`. `is_enough` says whether half of both buffers' limits, the
    part that holds payload at least, is as large as the round trip's.
    """

    rate_bps: float
    source: str
    one_way_bytes: int
    round_trip_bytes: int
    is_enough: bool | None


class NeededWindow(FrozenModel):
    """The window that the latency of a request and its response needs, and the buffers of its sockets.

    `round_trip_ns` is the median time of a transaction, `one_way_ns` half of it. `send_buffer` is the sender's,
    `receive_buffer` the receiver's.
    """

    one_way_ns: float
    round_trip_ns: float
    rates: list[WindowAtRate]
    send_buffer: SocketBuffer
    receive_buffer: SocketBuffer
