"""Holds many connections over the loopback until its standard input ends; over some of them it moves bytes.

python idle_sockets.py IDLE BUSY: numbers of sockets. A connection has two.
"""

import resource
import select
import socket
import sys

ADDRESS = "127.0.0.1"
OTHER_FILES = 100
PIECE = b"x" * 2000
PAUSE_S = 0.05


def main(idle: int, busy: int) -> None:
    """Opens them, says so, and moves bytes."""
    wanted = idle + busy + OTHER_FILES
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(wanted, hard)))
    listener = socket.create_server((ADDRESS, 0), backlog=1024)
    pairs = []
    for _ in range((idle + busy) // 2):
        near = socket.create_connection(listener.getsockname())
        pairs.append((near, listener.accept()[0]))
    moving = pairs[: busy // 2]
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], PAUSE_S)[0]:
        for near, far in moving:
            near.sendall(PIECE)
            far.recv(len(PIECE))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
