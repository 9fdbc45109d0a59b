"""The connections of the commands that lead to agents."""

import socket
import subprocess
import sys

import pytest

from whyperf.watch.pipe_connections import connections_of

HOLDS = """
import socket, subprocess, sys
held = socket.create_connection((sys.argv[1], int(sys.argv[2])))
print(held.getsockname()[1], flush=True)
sys.stdin.read()
"""
STARTS = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_the_connections_of_a_command_and_of_what_it_starts(address: str) -> None:
    """As ssh with a ProxyCommand, whose connection is that of another process."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as server:
        port = server.getsockname()[1]
        argv = [sys.executable, "-c", STARTS, sys.executable, "-c", HOLDS, address, str(port)]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            own = int(process.stdout.readline())
            shown = f"[{address}]" if family == socket.AF_INET6 else address
            assert connections_of(process.pid) == [{"local": f"{shown}:{own}", "remote": f"{shown}:{port}"}]
            process.communicate("")
    assert connections_of(process.pid) == []
