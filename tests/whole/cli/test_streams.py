"""Streams that are closed, whose reader has left, or that have ASCII only: for every verb that prints."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.whole.report.flow.flow_results import experiment

#: A text, a document, a refusal, and what is printed before a verb is there.
VERBS = (("show", "made"), ("explain", "made", "--json"), ("run", "nosuch.toml"), ("--help",))
MAIN = "import sys; from whyperf.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a result lies."""
    made = tmp_path_factory.mktemp("streams")
    experiment(made / "made")
    return made


def run(
    folder: Path, verb: tuple[str, ...], redirect: str = "", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """The command under a shell that redirects its streams."""
    arguments = ["bash", "-c", f'"$@" {redirect}', "-", sys.executable, "-c", MAIN, *verb]
    return subprocess.run(
        arguments, cwd=folder, env={"PATH": "/usr/bin:/bin", **environment}, capture_output=True, check=False
    )


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_a_closed_output_is_no_error_and_ascii_will_do(folder: Path, verb: tuple[str, ...]) -> None:
    usual = run(folder, verb, PYTHONIOENCODING="utf-8")
    closed = run(folder, verb, ">&-")
    assert (closed.returncode, closed.stderr) == (usual.returncode, usual.stderr)
    assert run(folder, verb, ">&- 2>&-").returncode == usual.returncode
    plain = run(folder, verb, LANG="C", PYTHONIOENCODING="ascii")
    assert plain.returncode == usual.returncode, plain.stderr
    assert plain.stdout.decode("ascii").count("\n") >= usual.stdout.count(b"\n") > 0 or verb[0] == "run"
    assert b"internal error" not in plain.stderr
    if "--json" in verb:
        assert json.loads(plain.stdout) == json.loads(usual.stdout)


@pytest.mark.parametrize("redirect", ["2>&1 | true", "> /dev/full"])
def test_a_reader_that_leaves_and_a_full_disk_are_no_internal_errors(folder: Path, redirect: str) -> None:
    done = run(folder, ("show", "made"), redirect)
    for problem in (b"internal error", b"Traceback", b"Exception ignored"):
        assert problem not in done.stderr, done.stderr
    assert done.returncode == (1 if "full" in redirect else 0)
