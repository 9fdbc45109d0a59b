"""The process that simulates: `whyperf-agent simulate`, lines in and answers out."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

from whyperf.run import RunError
from whyperf.run.agents.pipes import agent_binary
from whyperf.wire import SimulatedTrial, Simulation


def ask(lines: Sequence[Simulation], *options: str, tables: Path | None = None) -> Iterator[SimulatedTrial]:
    """The answers to all lines, in order, as they come; with `tables` the record's tables lie there at the end.

    Raises:
        RunError: the process ended before it had answered all.
    """
    argv = [str(agent_binary()), "simulate", *options]
    if tables is not None:
        argv += ["--tables", str(tables)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    feeder = Thread(target=_feed, args=(process, lines), daemon=True)
    feeder.start()
    answered = 0
    try:
        for text in process.stdout:
            answered += 1
            yield json.loads(text)
        complaint = process.stderr.read().strip()
        if process.wait() != 0 or answered != len(lines):
            raise RunError(f"the model ended early: {complaint or f'status {process.returncode}'}")
    finally:
        process.kill()
        process.wait()
        feeder.join()
        for pipe in (process.stdin, process.stdout, process.stderr):
            # What it did not take of a last line cannot be flushed.
            with suppress(OSError):
                pipe.close()


def _feed(process: subprocess.Popen[str], lines: Sequence[Simulation]) -> None:
    assert process.stdin is not None
    try:
        for line in lines:
            process.stdin.write(json.dumps(line) + "\n")
        process.stdin.close()
    except OSError:
        # It ended early; whoever reads its answers finds out why.
        return
