"""A stand-in of `kubectl exec -i POD -- COMMAND`: the pods are commands of a file that `KUBECTL_PODS` names.

Like kubectl it says on standard error which of several containers it takes. It ends with the status of the command, and
closes the command's input when its own output has no reader any more. Its faults are those of kubectl, by the file:

- `closes_input`: false keeps the command's input open when its own ends, as over WebSockets before protocol 5.
- `max_output_bytes`: it ends with status 0 after so much output.
- `max_input_bytes`: it takes no more input than this, and says nothing.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

PODS = "KUBECTL_PODS"
CHUNK_BYTES = 64 << 10
USAGE_STATUS = 1


def install(folder: Path) -> None:
    """Makes it the program `kubectl` of a folder."""
    root = Path(__file__).resolve().parents[2]
    program = folder / "kubectl"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={root} exec {sys.executable} -m tests.e2e.kubectl "$@"\n')
    program.chmod(0o755)


def main() -> int:
    """Runs the command in the pod."""
    parser = argparse.ArgumentParser(prog="kubectl")
    parser.add_argument("verb", choices=["exec"])
    parser.add_argument("-i", "--stdin", action="store_true")
    parser.add_argument("pod")
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args()
    settings: dict[str, Any] = json.loads(Path(os.environ[PODS]).read_text())
    enter = settings["pods"].get(asked.pod)
    if enter is None:
        print(f'Error from server (NotFound): pods "{asked.pod}" not found', file=sys.stderr)
        return USAGE_STATUS
    if containers := settings.get("containers"):
        print(f'Defaulted container "{containers[0]}" out of: {", ".join(containers)}', file=sys.stderr)
    environment = {name: value for name, value in os.environ.items() if name != PODS}
    source = subprocess.PIPE if asked.stdin else subprocess.DEVNULL
    run = subprocess.Popen([*enter, *asked.command], stdin=source, stdout=subprocess.PIPE, env=environment, bufsize=0)
    if asked.stdin:
        threading.Thread(target=_feed, args=(run, settings), daemon=True).start()
    if not _pass_on(run, settings.get("max_output_bytes")):
        # The connection ends with this process; the command loses its input and its output.
        return 0
    return run.wait()


def _feed(run: subprocess.Popen[bytes], settings: dict[str, Any]) -> None:
    assert run.stdin is not None
    left = settings.get("max_input_bytes") or float("inf")
    try:
        while chunk := os.read(0, CHUNK_BYTES):
            taken = chunk[: int(min(left, len(chunk)))]
            left -= len(taken)
            run.stdin.write(taken)
            if not left:
                break
        if settings.get("closes_input", True):
            run.stdin.close()
    except OSError:
        # The command reads no more.
        return


def _pass_on(run: subprocess.Popen[bytes], most: int | None) -> bool:
    """Prints what the command prints; whether that was all."""
    assert run.stdout is not None
    passed = 0
    while chunk := run.stdout.read(CHUNK_BYTES):
        taken = chunk if most is None else chunk[: most - passed]
        try:
            sys.stdout.buffer.write(taken)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return False
        passed += len(taken)
        if passed == most:
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
