"""No change that is printed of a stored record equals its plan, lowers a setting of its hosts, or gains nothing."""

import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.unit.records.golden import FOLDER, KINDS, stored
from whyperf.explain.predicted import MIN_GAIN
from whyperf.explain.rules.commands import is_host_wide
from whyperf.explain.setup import Setup
from whyperf.plan import Plan


def record(kind: str) -> tuple[Plan, dict[str, Any]]:
    """The plan, and the facts of the hosts."""
    with tarfile.open(FOLDER / f"{kind}.tar.xz") as archive:
        names = [f"{kind}/{name}" for name in ("plan.json", "hosts/near.json", "hosts/far.json")]
        texts = {Path(name).name: archive.extractfile(name) for name in names if name in archive.getnames()}
        content = {name: json.loads(file.read()) for name, file in texts.items() if file is not None}
    plan = Plan.model_validate_json(json.dumps(content.pop("plan.json")))
    return plan, {Path(name).stem: host for name, host in content.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_printed_change_can_help(kind: str) -> None:
    plan, hosts = record(kind)
    cells = stored(kind)["explain"]["document"]["cells"]
    for cell in cells:
        setup = Setup(plan.cell(cell["cell"]).factors, plan.testbed.kind, hosts)
        for verdict in cell["verdicts"]:
            change = verdict["change"]
            if change is None:
                continue
            for name, level in change["factors"].items():
                assert not setup.has(name, level), (name, level)
            gain = verdict["predicted_gain"]
            assert gain is None or gain >= MIN_GAIN or not (change["factors"] or change["command"])
            assert change["is_host_wide"] == is_host_wide(change["command"])
            assert lowered(change["command"], hosts.get(change["command_host"], {})) == []


def lowered(command: str, host: dict[str, Any]) -> list[str]:
    """The settings that a command would lower."""
    found = []
    for name, quoted, single in re.findall(r"([\w.]+)=(?:\"([\d ]+)\"|(\d+))", command):
        present = [int(word) for word in str(host.get("sysctls", {}).get(name, "")).split()]
        asked = [int(word) for word in (quoted or single).split()]
        if len(present) != len(asked) or any(then < now for now, then in zip(present, asked, strict=False)):
            found.append(name)
    return found


def test_a_lowered_setting_is_found() -> None:
    host = {"sysctls": {"net.ipv4.tcp_rmem": "4096 131072 33554432"}}
    assert lowered('sysctl -w net.ipv4.tcp_rmem="4096 131072 4194304"', host) == ["net.ipv4.tcp_rmem"]
    assert lowered('sysctl -w net.ipv4.tcp_rmem="4096 131072 67108864"', host) == []
