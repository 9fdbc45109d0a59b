"""What `whyperf cost` prints."""

import re
from pathlib import Path

import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.cost.cost_samples import Stack
from tests.unit.analyze.cost.sampled_results import SENDER, STACKS, add_samples
from tests.unit.analyze.workload_samples import Exchange, in_blocks
from tests.unit.analyze.workload_samples import write as write_exchanges
from whyperf.cli.app import main

#: A name as long as they come, and one in brackets, which is no markup.
LONG: tuple[Stack, ...] = (("load", "process", "__netif_receive_skb_list_core.constprop.0.isra.0", 90),)
UNNAMED: tuple[Stack, ...] = (("load", "process", "main [unknown]", 90),)


def printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["cost", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    return lines


def test_costs_are_per_transaction_where_the_rate_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_exchanges(tmp_path / "rr", in_blocks(Exchange(made.Trial(duration_s=2)), (1000.0, 1200.0)))
    add_samples(folder, {**STACKS, "near": (*SENDER, *LONG)})
    lines = printed(folder, capsys)
    assert lines[0].startswith("Sender: ")
    assert " costs most, " in lines[0]
    head = next(line for line in lines if line.startswith("sender: "))
    assert " cycles per transaction, " in head
    assert any(line.startswith(" Class, function ") and "transaction" in line for line in lines)
    assert not any("KByte" in line for line in lines)
    (long,) = [line for line in lines if "__netif" in line]
    assert long.startswith("   __netif_receive_skb_list")


def test_costs_of_streams_are_per_kbyte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made.write(tmp_path / "stream", [made.Trial(duration_s=2)])
    add_samples(folder, {"near": (*SENDER, *UNNAMED)})
    lines = printed(folder, capsys)
    assert re.fullmatch(r"Sender: .+ costs most, \S+ of \S+ cycles per KByte\.", lines[0])
    head = next(line for line in lines if line.startswith("sender: "))
    assert " cycles per KByte (TSC reference cycles of threads, " in head
    assert any(line.startswith(" Class, function ") and " KB " in line for line in lines)
    assert any(line.startswith("   [unknown]") for line in lines)


def test_softirqs_are_not_those_of_proc_stat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trial = made.Trial(duration_s=2, traced_softirq={"sender": 0.1, "receiver": 0.1})
    folder = made.write(tmp_path / "stream", [trial])
    add_samples(folder)
    lines = printed(folder, capsys)
    assert "/proc/stat has more softirq time: also that on top of these threads, by ticks." in lines


def test_of_several_cells_what_grew_most_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trials = [made.Trial(cell=f"c000{number}", duration_s=2, rate_bps=rate) for number, rate in ((1, 1e9), (2, 5e8))]
    add_samples(made.write(tmp_path / "two", trials))
    lines = printed(tmp_path / "two", capsys)
    assert lines[0].startswith("Sender of c0002: Copying payload costs most, ")
    assert re.fullmatch(r"  \S+ more than c0001; Copying payload \S+ more\.", lines[1])
