"""The fork that tests run commands in."""

import subprocess

from tests.e2e.warm_command import WarmCommand


def test_lines_that_come_at_once_are_several_answers() -> None:
    warm = WarmCommand()
    with subprocess.Popen(["printf", "12\\n0\\n34\\n"], stdout=subprocess.PIPE, text=True) as process:
        process.wait()
        assert [warm._line(process, timeout_s=5) for _ in range(3)] == ["12", "0", "34"]
