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


def run(folder: Path, *options: str) -> Done:
    """`whyperf run` as nobody."""
    environment = {"HOME": str(folder), "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    options = ("run", *options, "--no-report", "--out", str(folder / "results"))
    return whyperf(*options, folder=folder, before=AS_NOBODY, environment=environment)


def test_the_loopback_is_measured_and_said(folder: Path) -> None:
    done = run(folder, "-O", "0.1", "-t", "0.2", "--json")
    assert done.status == 0, done.err
    assert done.err.startswith("Measuring over the loopback, because there is no veth testbed here: ")
    result = json.loads(done.out)
    assert result["testbed"] == "loopback"
    (cell,) = result["cells"]
    assert cell["goodput_bps"]["median"] > 0
    (manifest,) = Experiment.open(folder / "results").trials().manifests.values()
    assert (manifest.testbed, manifest.status) == ("loopback", "complete")


NO_CUBIC = pytest.mark.skipif(
    "cubic" in Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text(encoding="ascii").split(),
    reason="needs a host on which only an administrator may choose cubic, and here "
    "net.ipv4.tcp_allowed_congestion_control has it; tests/unit/cli/test_allowed_controls.py covers the choice itself",
)
OWN_CONTROL = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text(encoding="ascii").strip()


@NO_CUBIC
@pytest.mark.parametrize(
    "options",
    [
        pytest.param([], id="stream"),
        pytest.param(["--set", "transport=quic"], id="quic"),
        pytest.param(["--set", "schedule=mixed", "--set", "schedule_scale=0.01"], id="mixed"),
    ],
)
def test_a_level_that_nobody_gave_is_never_refused(folder: Path, options: list[str]) -> None:
    """The default is cubic, which this user may not choose."""
    done = run(folder, *options, *([] if "schedule=mixed" in options else ["-O", "0.1", "-t", "0.2"]), "--json")
    # A machine that is busy for most of these 0.2 s makes the result doubtful (3); refused would be 2.
    assert done.status in {0, 3}, done.err
    result = json.loads(done.out)
    (cell,) = result["cells"]
    assert (cell["trials"], cell["failed_trials"]) == (1, 0)
    is_own = cell["factors"].get("congestion_control") == "default"
    assert is_own == ("transport=quic" not in options)
    facts = {fact["code"]: fact["text"] for fact in result["facts"]}
    assert ("own_congestion_control" in facts) == is_own
    assert ("Congestion control is each host's own" in done.err) == is_own
    if is_own:
        # In the schedule mixed others compete.
        ran = OWN_CONTROL if "schedule=mixed" not in options else ", ".join(sorted({OWN_CONTROL, "reno"}))
        assert f"{ran} at the sender" in facts["own_congestion_control"]
        assert f"({OWN_CONTROL} on this host)" in done.err


@NO_CUBIC
def test_a_congestion_control_asked_for_by_name_is_refused_with_those_allowed(folder: Path) -> None:
    done = run(folder, "-C", "cubic", "-O", "0.1", "-t", "0.2")
    assert done.status == 2
    # Behind the line that says that it would be the loopback.
    sentence = done.err.splitlines()[-1]
    assert sentence.startswith('whyperf: congestion_control "cubic" is not available to you on the near host (')
    assert "run as root, or add it to net.ipv4.tcp_allowed_congestion_control" in sentence
    assert "choose one of reno, bbr" in sentence


def test_less_evidence_is_a_warning_with_the_reason_and_the_throughput_stands(folder: Path) -> None:
    done = run(folder, "-O", "0.1", "-t", "0.2", "--evidence", "segments", "--json")
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
    assert texts["less_evidence"].endswith(f" side is user, not counters: {reason.rstrip('.')}.")
    assert texts["no_log"].endswith(f"has no segment log; its evidence level is user: {reason.rstrip('.')}.")


def test_stacks_that_may_not_be_sampled_are_missed_by_name(folder: Path) -> None:
    done = run(folder, "-t", "1", "--evidence", "profile")
    assert done.status == 0, done.err
    assert "side could not be sampled: the kernel does not let this user" in done.out
    cost = whyperf("cost", str(folder / "results"), folder=folder)
    assert cost.status == 1
    assert "The near side could not be sampled: the kernel does not let this user" in cost.err
    assert "has no stack samples" in cost.err.splitlines()[-1]
