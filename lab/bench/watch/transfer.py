"""A transfer over the loopback as fast as it goes, whose bytes are counted and summed up on both sides.

python transfer.py send: prints its port; sends until its standard input ends; prints what it has sent.
python transfer.py receive PORT: reads to the end; prints what it has received.
Each prints bytes and their CRC-32.
"""

import select
import socket
import sys
import zlib
from random import Random

ADDRESS = "127.0.0.1"
PIECE_BYTES = 1 << 16
PIECES = 7
"""Pieces of different bytes, by turns, so that one that is missing or twice there changes the sum."""


def send() -> None:
    """Sends to the first that connects."""
    rng = Random(1)
    pieces = [rng.randbytes(PIECE_BYTES) for _ in range(PIECES)]
    listener = socket.create_server((ADDRESS, 0))
    print(listener.getsockname()[1], flush=True)
    connection, _ = listener.accept()
    moved = crc = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        piece = pieces[moved // PIECE_BYTES % PIECES]
        connection.sendall(piece)
        crc = zlib.crc32(piece, crc)
        moved += len(piece)
    connection.close()
    print(moved, crc, flush=True)


def receive(port: int) -> None:
    """Reads to the end."""
    connection = socket.create_connection((ADDRESS, port))
    moved = crc = 0
    while piece := connection.recv(PIECE_BYTES):
        crc = zlib.crc32(piece, crc)
        moved += len(piece)
    print(moved, crc, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "send":
        send()
    else:
        receive(int(sys.argv[2]))
