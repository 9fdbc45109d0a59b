"""What `--dry-run` prints of a fleet, and of a duration on the model."""

import json
from pathlib import Path

import pytest

from whyperf.cli import main


def printed(arguments: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines of a dry run."""
    assert main(["run", "--dry-run", *arguments.split()]) == 0
    return capsys.readouterr().out.splitlines()


def test_the_pairs_of_a_fleet_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Pairs: pairs, 2 pairs of 4 hosts by ssh: a1 → b1, a2 → b2" in printed(
        "--from a[1-2] --to b[1-2] -t 1", capsys
    )
    assert (
        "Pairs: fan-in, 15 pairs of 16 hosts by kubectl: "
        "node1 → server, node2 → server, node3 → server, node4 → server, node5 → server and 10 more"
    ) in printed("--from node[1-15] --to server -t 1 --via kubectl", capsys)


def test_a_duration_is_given_on_the_model_as_in_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "two-adapters-model", "-t", "1", "--dry-run", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert {cell["factors"]["duration_s"] for cell in cells} == {1.0}


def test_what_each_pair_does_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "fleet" / "mixed.toml").read_text()
    Path("mixed.toml").write_text(text)
    (line,) = [line for line in printed("./mixed.toml", capsys) if line.startswith("Pairs")]
    assert line == (
        "Pairs: fan-in, 3 pairs of 4 hosts by ssh: node1 → node4 (web), node2 → node4 (web), node3 → node4 (backup)"
    )
