"""What the shell offers when Tab is pressed."""

import shutil
import subprocess
from pathlib import Path

from whyperf.cli.commands import completion


def test_programs_that_run_are_offered_by_their_names(tmp_path: Path) -> None:
    # Of a name, 15 bytes are kept (proc_pid_comm(5)).
    program = tmp_path / "wh-test-program-x"
    shutil.copy(shutil.which("cat") or "/bin/cat", program)
    with subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        try:
            # Popen returns before the process has its new name. It has it when the program answers.
            running.stdin.write(b"x")
            assert running.stdout.read(1) == b"x"
            assert completion.programs("wh-test-pro") == ["wh-test-program"]
        finally:
            running.kill()
    assert completion.programs("wh-test-pro") == []


def test_kernel_threads_are_no_programs() -> None:
    assert not any(name.startswith(("ksoftirqd/", "kthreadd")) for name in completion.programs("k"))
