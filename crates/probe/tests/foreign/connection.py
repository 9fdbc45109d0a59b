"""A program of others: holds both sockets of a connection and does what it reads from standard input, line by line.

Arguments: address, family (4 or 6), port of the server, port of the client (0: any).
"""

import contextlib
import socket
import sys
import threading
import time

address, family, server_port, client_port = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
domain = socket.AF_INET6 if family == "6" else socket.AF_INET
server = socket.socket(domain)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind((address, server_port))
server.listen()
client = socket.socket(domain)
client.bind((address, client_port))
client.connect(server.getsockname()[:2])
accepted, _ = server.accept()


def show(*answer: object) -> None:
    """Answers the test on a line of its own."""
    sys.stdout.write(" ".join(map(str, answer)) + "\n")
    sys.stdout.flush()


def read_all(connection: socket.socket, left: int) -> None:
    """Reads ``left`` bytes."""
    while left > 0:
        left -= len(connection.recv(min(left, 1 << 16)))


def move(sender: socket.socket, receiver: socket.socket, count: int) -> None:
    """Sends ``count`` zero bytes, and returns when all were read."""
    reader = threading.Thread(target=read_all, args=(receiver, count))
    reader.start()
    sender.sendall(bytes(count))
    reader.join()


def infos() -> list[bytes]:
    """TCP_INFO of both sockets, the client's first."""
    return [end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256) for end in (client, accepted)]


def wait_until_quiet() -> None:
    """Both sockets count the same segments for longer than a delayed ACK takes."""
    before: list[bytes] = []
    while (now := [info[120:160] for info in infos()]) != before:
        before = now
        time.sleep(0.25)


show(*client.getsockname()[:2], *client.getpeername()[:2])
for line in sys.stdin:
    command, *arguments = line.split()
    if command == "send":
        move(client, accepted, int(arguments[0]))
        show("sent")
    elif command == "answer":
        move(accepted, client, int(arguments[0]))
        show("answered")
    elif command == "info":
        wait_until_quiet()
        show(*(info.hex() for info in infos()))
    elif command == "datagrams":
        # The same addresses and ports, of another protocol.
        udp = socket.socket(domain, socket.SOCK_DGRAM)
        udp.bind(client.getsockname()[:2])
        udp.connect(client.getpeername()[:2])
        for _ in range(int(arguments[0])):
            with contextlib.suppress(ConnectionRefusedError):
                udp.send(b"datagram")
        show("sent")
    elif command == "spin":
        # Sends to itself, so that its thread runs the softirqs.
        udp = socket.socket(domain, socket.SOCK_DGRAM)
        udp.bind((address, 0))
        end = time.thread_time() + float(arguments[0])
        while time.thread_time() < end:
            for _ in range(100):
                udp.sendto(bytes(1000), udp.getsockname())
                udp.recv(1000)
        show(int(time.thread_time() * 1e9))
    elif command == "stream":
        # Until the end: transfers in both directions at once, of pieces that differ in size.
        def stream(sender: socket.socket, size: int) -> None:
            """Sends pieces of ``size`` bytes without end."""
            while True:
                sender.sendall(bytes(size))

        def drain(receiver: socket.socket) -> None:
            """Reads to the end."""
            while receiver.recv(1 << 16):
                pass

        for ends in ((client, accepted), (accepted, client)):
            threading.Thread(target=stream, args=(ends[0], int(arguments[0])), daemon=True).start()
            threading.Thread(target=drain, args=(ends[1],), daemon=True).start()
        show("streams")
    elif command == "connect":
        # Connections that end at once.
        for _ in range(int(arguments[0])):
            with socket.create_connection(server.getsockname()[:2]), server.accept()[0]:
                pass
        show("connected")
    elif command == "close":
        client.close()
        read = accepted.recv(1)
        accepted.close()
        show("closed", len(read))
