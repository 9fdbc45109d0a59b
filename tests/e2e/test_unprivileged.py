"""Without privilege `whyperf run` measures over the loopback and says so."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.whyperf_command import Done, whyperf
from whyperf.record import Experiment

NOBODY = 65534
#: The checkout or its Python may lie where others cannot enter: reading is allowed, nothing else
#: (capabilities(7)). `env`, because an ambient capability counts from the next program on.
AS_NOBODY = (
    "setpriv",
    f"--reuid={NOBODY}",
    f"--regid={NOBODY}",
    "--clear-groups",
    "--bounding-set=-all,+dac_read_search",
    "--inh-caps=-all,+dac_read_search",
    "--ambient-caps=+dac_read_search",
    "env",
)

pytestmark = [
    pytest.mark.usefixtures("ours"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else"),
    pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv"),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of nobody's own; pytest's are closed to others."""
    with tempfile.TemporaryDirectory() as name:
        os.chown(name, NOBODY, NOBODY)
        yield Path(name)


def run(folder: Path, *words: str) -> Done:
    """`whyperf run` as nobody."""
    environment = {"HOME": str(folder), "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    words = ("run", *words, "--no-report", "--out", str(folder / "results"))
    return whyperf(*words, folder=folder, before=AS_NOBODY, environment=environment)


def test_the_loopback_is_measured_and_said(folder: Path) -> None:
    done = run(folder, "-t", "1", "--json")
    assert done.status == 0, done.err
    assert done.err.startswith("Measuring over the loopback, because there is no veth testbed here: ")
    result = json.loads(done.out)
    assert result["testbed"] == "loopback"
    (cell,) = result["cells"]
    assert cell["goodput_bps"]["median"] > 0
    (manifest,) = Experiment.open(folder / "results").trials().manifests.values()
    assert (manifest.testbed, manifest.status) == ("loopback", "complete")


def test_less_evidence_is_a_warning_with_the_reason_and_the_throughput_stands(folder: Path) -> None:
    done = run(folder, "-t", "1", "--evidence", "segments", "--json")
    assert done.status == 0, done.err
    result = json.loads(done.out)
    (cell,) = result["cells"]
    assert (cell["trials"], cell["failed_trials"]) == (1, 0)
    assert cell["goodput_bps"]["median"] > 0
    manifests = Experiment.open(folder / "results").trials().manifests
    assert list(manifests) == ["001-c0001", "log01-c0001"]
    reports = {name: [end.evidence for end in manifest.hosts.values()] for name, manifest in manifests.items()}
    assert {(report["asked"], report["got"]) for report in reports["log01-c0001"]} == {("segments", "user")}
    assert result["evidence"]["incomplete_logs"] == ["log01-c0001"]
    texts = {warning["code"]: warning["text"] for warning in result["warnings"]}
    reason = reports["001-c0001"][0]["reason"]
    assert texts["less_evidence"].endswith(f" evidence is at level user, not counters: {reason.rstrip('.')}.")
    assert texts["no_log"].endswith(f"has no segment log, its evidence is at level user: {reason.rstrip('.')}.")


def test_a_testbed_asked_for_by_name_is_refused(folder: Path) -> None:
    done = run(folder, "--testbed", "veth", "-t", "1", "--json")
    assert done.status == 1
    assert done.sentence.startswith("whyperf: --testbed veth needs network namespaces: ")
    assert done.sentence.endswith("; run as root, or use --testbed loopback")
    assert done.out == ""
    assert list(folder.iterdir()) == []
