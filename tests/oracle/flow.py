"""One flow, looked at closely. Runs inside the guest, so it needs the standard library alone."""

import ctypes
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
SAMPLE_S = 0.005
PORT = 5001
#: asm-generic/socket.h
SO_RCVBUFFORCE = 33
PACKET_BYTES = 1514
PADDING = b"\0" * (PACKET_BYTES - 14 - 28 - 8)
#: RFC 3168 section 5.
ECT_0 = 2
BLOCK = b"\0" * 65536
#: Offsets in struct tcp_info (include/uapi/linux/tcp.h), which only ever grows at its end.
RTT_AT, CWND_AT, RETRANSMITTED_AT = 68, 80, 100


@contextmanager
def inside(netns: str) -> Iterator[None]:
    """This thread in a named network namespace."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    other = os.open(f"/run/netns/{netns}", os.O_RDONLY)
    try:
        _enter(other)
        yield
    finally:
        _enter(own)
        os.close(other)
        os.close(own)


def _enter(descriptor: int) -> None:
    if LIBC.setns(descriptor, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def tcp(sender: str, receiver: str, address: str, congestion_control: str, seconds: float) -> list[dict[str, float]]:
    """Sends as fast as it can; the sender's view of it, every few milliseconds.

    `sender` and `receiver` are namespaces, `address` is the receiver's.
    """
    with inside(receiver):
        listener = socket.create_server((address, PORT))
    threading.Thread(target=_swallow, args=(listener,), daemon=True).start()
    with inside(sender):
        flow = socket.socket()
    flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion_control.encode())
    flow.connect((address, PORT))
    start = time.monotonic()
    end = start + seconds
    threading.Thread(target=_send, args=(flow, end), daemon=True).start()
    samples = []
    while (now := time.monotonic()) < end:
        info = flow.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        rtt_us, cwnd, retransmitted = (
            struct.unpack_from("I", info, at)[0] for at in (RTT_AT, CWND_AT, RETRANSMITTED_AT)
        )
        samples.append(
            {
                "at_s": now - start,
                "cwnd_segments": cwnd,
                "rtt_ms": rtt_us / 1000,
                "retransmitted_segments": retransmitted,
            }
        )
        time.sleep(SAMPLE_S)
    return samples


def _send(flow: socket.socket, end: float) -> None:
    while time.monotonic() < end:
        flow.send(BLOCK)


def _swallow(listener: socket.socket) -> None:
    flow, _ = listener.accept()
    buffer = bytearray(1 << 20)
    while flow.recv_into(buffer):
        pass


def udp(sender: str, receiver: str, address: str, rate_bps: float, seconds: float, *, ecn: bool) -> dict[str, float]:
    """Sends full packets at a rate (Ethernet headers counted); how many came, and how long they took in the mean."""
    with inside(receiver):
        sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
    sink.bind((address, PORT))
    sink.settimeout(1.0)
    with inside(sender):
        source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    source.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ECT_0 if ecn else 0)
    source.connect((address, PORT))
    delays_ns: list[int] = []
    reader = threading.Thread(target=_note, args=(sink, delays_ns))
    reader.start()
    distance = PACKET_BYTES * 8 / rate_bps
    start = time.monotonic()
    sent = 0
    while (elapsed := time.monotonic() - start) < seconds:
        while sent * distance <= elapsed:
            source.send(struct.pack("Q", time.monotonic_ns()) + PADDING)
            sent += 1
        time.sleep(distance / 2)
    in_time = len(delays_ns)
    reader.join()
    return {
        "sent_packets": sent,
        "received_while_sending_packets": in_time,
        "received_packets": len(delays_ns),
        "delay_ms_mean": sum(delays_ns) / len(delays_ns) / 1e6,
        "delay_ms_min": min(delays_ns) / 1e6,
    }


def _note(sink: socket.socket, delays_ns: list[int]) -> None:
    """Until nothing comes for a second."""
    try:
        while True:
            (sent_ns,) = struct.unpack_from("Q", sink.recv(2048))
            delays_ns.append(time.monotonic_ns() - sent_ns)
    except TimeoutError:
        return
