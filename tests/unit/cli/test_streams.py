"""Streams that are closed, whose reader has left, or that have ASCII only: for every verb that prints."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.report.flow.flow_results import experiment

VERBS = (
    ("show", "made"),
    ("show", "made", "--json"),
    ("explain", "made"),
    ("explain", "made", "--json"),
    ("flow", "made", "--no-page"),
    ("report", "made"),
    ("list",),
    ("list", "--factors"),
    ("list", "--json"),
    ("overhead", "ethernet-1G"),
    ("run", "demo", "--testbed", "loopback", "--dry-run"),
    ("run", "nosuch.toml"),
    ("--help",),
)
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
    plain = run(folder, verb, LANG="C", PYTHONIOENCODING="ascii")
    assert plain.returncode == usual.returncode, plain.stderr
    assert plain.stdout.decode("ascii").count("\n") >= usual.stdout.count(b"\n") > 0 or verb[0] == "run"
    assert b"internal error" not in plain.stderr
    if "--json" in verb:
        assert json.loads(plain.stdout) == json.loads(usual.stdout)


@pytest.mark.parametrize("verb", [("show", "made"), ("run", "nosuch.toml"), ("--help",)], ids=" ".join)
def test_with_both_closed_the_code_is_the_same(folder: Path, verb: tuple[str, ...]) -> None:
    assert run(folder, verb, ">&- 2>&-").returncode == run(folder, verb).returncode


@pytest.mark.parametrize("verb", [("show", "made"), ("list", "--factors"), ("explain", "made", "--json")])
def test_a_reader_that_leaves_and_a_full_disk_are_no_internal_errors(folder: Path, verb: tuple[str, ...]) -> None:
    for redirect in ("| true", "2>&1 | true", "> /dev/full"):
        done = run(folder, verb, redirect)
        assert b"internal error" not in done.stderr, done.stderr
        assert b"Traceback" not in done.stderr, done.stderr
        assert b"Exception ignored" not in done.stderr, done.stderr
    assert done.returncode == 1
