"""`whyperf-lab tools`: packaged tools next to the own load, on the testbed."""

import json
from functools import partial
from pathlib import Path

import pytest

from lab.tools.tool_runs import OWN, ToolsComparison
from tests.e2e.conftest import Ours
from tests.e2e.whyperf_command import whyperf as started

pytestmark = pytest.mark.root

whyperf = partial(started, program="whyperf-lab")

SHORT = ("--time", "1", "--both", "warmup_s=1")


@pytest.fixture
def folder(ours: Ours, tmp_path: Path) -> Path:
    """A folder in which nothing of ours is left on the host afterwards."""
    assert ours
    return tmp_path


def test_tools_and_the_own_load_are_counted_alike(folder: Path) -> None:
    tools = ("tools", "iperf3,nuttcp")
    done = whyperf(*tools, *SHORT, "--trials", "2", "--out", "tools", "--json", folder=folder)
    assert done.status == 0, done.err
    found = ToolsComparison.model_validate_json(done.out)
    figures = {each.tool: each for each in found.figures}
    assert list(figures) == [OWN, "iperf3", "nuttcp"]
    assert all(each.runs == 2 and not each.void for each in found.figures)
    ratios = {(each.tool, ratio.name): ratio.ratio for each in found.figures for ratio in each.ratios}
    # Calls are exact: iperf3 writes 128 KB as the own load does, nuttcp 64 KB.
    assert ratios["nuttcp", "call_sender"] == pytest.approx(0.5, rel=0.02)
    assert ratios["iperf3", "call_sender"] == pytest.approx(1.0, rel=0.02)
    # The own load's window is the same by its own count and by the kernel's.
    own = figures[OWN]
    assert own.window is not None
    assert own.reported == pytest.approx(own.window, rel=0.15)
    assert all(each.cpu_ns_sender and each.cpu_ns_receiver for each in found.figures)
    differences = {(report.tool, row.name): row for report in found.reports for row in report.differences}
    # What both tools say they moved is what the receiver's kernel gave them, but for iperf3's cookie.
    assert differences["nuttcp", "counted"].tool.endswith("what the receiver read")
    assert "-37 bytes" in differences["iperf3", "counted"].tool
    looks = {look.tool: look for look in found.looks}
    for look in found.looks:
        assert look.missing is None
    assert looks["iperf3"].receiver is not None
    assert looks["iperf3"].receiver.waits_per_call > 0.5
    assert looks["nuttcp"].receiver is not None
    assert looks["nuttcp"].receiver.waits_per_call < 0.1
    lines = [json.loads(line) for line in (folder / "tools" / "runs.jsonl").read_text().splitlines()]
    assert sorted(run["block"] for run in lines) == [1, 1, 1, 2, 2, 2]
    assert all((folder / "tools" / run["record"] / "plan.json").is_file() for run in lines)
    page = (folder / "tools" / "report.html").read_text()
    assert "whyperf and iperf3, nuttcp" in page
    again = whyperf("tools", "tools", folder=folder)
    assert again.status == 0
    assert "Bytes per send call" in again.out
    assert whyperf(*tools, "--out", "tools", folder=folder).status == 2


@pytest.mark.slow
def test_the_tests_of_reasons_run_the_own_load_as_the_tool_does(folder: Path) -> None:
    done = whyperf(
        *("tools", "nuttcp", *SHORT, "--trials", "2", "--verify", "--out", "tools", "--json"),
        folder=folder,
    )
    assert done.status == 0, done.err
    lines = [json.loads(line) for line in (folder / "tools" / "runs.jsonl").read_text().splitlines()]
    calls = [run for run in lines if run["variant"] == "calls"]
    assert [run["variant_of"] for run in calls] == ["nuttcp", "nuttcp"]
    # The own load's calls are those of the tool now.
    for run in calls:
        assert run["sender"]["calls_bytes"] / run["sender"]["calls_count"] == pytest.approx(65536, rel=0.02)
    found = ToolsComparison.model_validate_json(done.out)
    (report,) = found.reports
    assert {verdict.of for row in report.differences for verdict in row.verdicts} == {
        *("window", "cpu_sender", "cpu_receiver", "counting")
    }


@pytest.mark.paced
def test_datagrams_are_counted_by_the_receiving_kernel(folder: Path) -> None:
    done = whyperf(*("tools", "iperf3", "udp", *SHORT, "--trials", "1", "--out", "tools", "--json"), folder=folder)
    assert done.status == 0, done.err
    found = ToolsComparison.model_validate_json(done.out)
    own, iperf3 = found.figures
    assert own.window is not None
    assert own.reported == pytest.approx(own.window, rel=0.15)
    assert iperf3.window is not None
    assert any("over TCP only" in note for note in found.notes)


def test_what_a_tool_cannot_do_is_named(folder: Path) -> None:
    done = whyperf("tools", "iperf3,nuttcp", "rr", folder=folder)
    assert (done.status, "iperf3 has no request/response over TCP" in done.err) == (2, True)


def test_a_missing_tool_is_named_with_its_package(folder: Path) -> None:
    environment = {"PATH": f"{folder / 'bin'}:/usr/sbin:/sbin"}
    (folder / "bin").mkdir()
    for program in ("ip", "unshare", "nsenter", "sh"):
        found = next(path for path in ("/usr/bin", "/bin", "/usr/sbin", "/sbin") if Path(path, program).exists())
        (folder / "bin" / program).symlink_to(Path(found, program))
    done = whyperf("tools", "nuttcp,iperf3", "--dry-run", folder=folder, environment=environment)
    assert done.status == 2
    assert "the program nuttcp is missing; install the package nuttcp" in done.err
