"""A pipe with a fault: `python faulty_pipe.py FAULT HOST WORD…` starts the words and passes on their input and output.

A fault is a name and, behind a colon, a number. `serve-` before it limits it to the conversation with an agent, and
leaves the calls alone that look for the agent and push it.

- `none`: there is none. `lost-status`: it ends with status 0 whatever happens.
- `cut-output:N`: it ends after N bytes of output, with status 0, and leaves what it has started behind.
- `cut-input:N`: the input ends after N bytes; the rest is swallowed.
- `stall:N`: after N bytes of output nothing passes any more, and nothing ends.
- `delay:MS`: every byte comes so much later, in both directions.
- `banner:COUNT`: so many greetings come before the output.
- `flip-output:N`, `flip-input:N`: one bit of the byte number N is another.
- `drop-output:N`, `drop-input:N`: the bytes from number N to the end of what was read with it are lost.
- `repeat-output:N`, `repeat-input:N`: they come twice.
- `lines`: only whole lines are passed on.
- `no-close`: the end of the input is not passed on.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import IO

READ_BYTES = 16 << 10
BANNER = b'Defaulted container "agent" out of: agent, sidecar\nWelcome to WP, all access is logged\n'
FOREVER_S = 600.0

Change = Callable[[int, bytes], bytes | None]


def unchanged(_: int, piece: bytes) -> bytes:
    """What most bytes are."""
    return piece


def changed(fault: str, number: int) -> Change:
    """What becomes of a piece whose first byte has a number; None ends the direction."""

    def cut(at: int, piece: bytes) -> bytes | None:
        return piece[: number - at] if at < number else None

    def flip(at: int, piece: bytes) -> bytes:
        place = number - at
        if not 0 <= place < len(piece):
            return piece
        return piece[:place] + bytes([piece[place] ^ 1 << number % 8]) + piece[place + 1 :]

    def drop(at: int, piece: bytes) -> bytes:
        return piece[: number - at] if at <= number < at + len(piece) else piece

    def repeat(at: int, piece: bytes) -> bytes:
        return piece + piece[number - at :] if at <= number < at + len(piece) else piece

    def stall(at: int, piece: bytes) -> bytes:
        if at + len(piece) > number:
            time.sleep(FOREVER_S)
        return piece

    def delay(_: int, piece: bytes) -> bytes:
        time.sleep(number / 1000)
        return piece

    changes = {"cut": cut, "flip": flip, "drop": drop, "repeat": repeat, "stall": stall, "delay": delay}
    return changes.get(fault.partition("-")[0], unchanged)


def pass_on(source: IO[bytes], target: IO[bytes], change: Change, *, whole_lines: bool = False) -> None:
    """Pass on until the end of the source, or of the direction."""
    at, held = 0, b""
    while piece := os.read(source.fileno(), READ_BYTES):
        passed = change(at, piece)
        at += len(piece)
        held += passed or b""
        length = held.rfind(b"\n") + 1 if whole_lines else len(held)
        try:
            target.write(held[:length])
            target.flush()
        except OSError:
            return
        held = held[length:]
        if passed is None or (len(passed) < len(piece) and change.__name__ == "cut"):
            return


def main(asked: str, argv: list[str]) -> int:
    """Pass on until the output ends."""
    fault, _, number = asked.partition(":")
    if fault.startswith("serve-"):
        fault = fault.removeprefix("serve-") if "serve" in argv[-1].split() else "none"
    change = changed(fault, int(number or 0))
    both = fault in {"delay"}
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    taken, given = process.stdin, process.stdout

    def feed() -> None:
        pass_on(sys.stdin.buffer, taken, change if both or fault.endswith("-input") else unchanged)
        if fault != "no-close":
            taken.close()
        # What comes now is swallowed.
        while os.read(0, READ_BYTES):
            pass

    threading.Thread(target=feed, daemon=True).start()
    for _ in range(int(number) if fault == "banner" else 0):
        sys.stdout.buffer.write(BANNER)
        sys.stdout.buffer.flush()
    is_of_output = both or fault.endswith("-output") or fault == "stall"
    pass_on(given, sys.stdout.buffer, change if is_of_output else unchanged, whole_lines=fault == "lines")
    if fault == "cut-output":
        os._exit(0)
    # Nobody reads what would still come.
    given.close()
    status = process.wait()
    os._exit(0 if fault == "lost-status" else 128 - status if status < 0 else status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[3:]))
