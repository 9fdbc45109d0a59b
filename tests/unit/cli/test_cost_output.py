"""What `whyperf cost` prints."""

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
    assert lines[0].startswith("sender: ")
    assert " cycles per transaction, " in lines[0]
    assert any(line.startswith(" Class, function ") and "transaction" in line for line in lines)
    assert not any("KByte" in line for line in lines)
    (long,) = [line for line in lines if "__netif" in line]
    assert long.startswith("   __netif_receive_skb_list")


def test_costs_of_streams_are_per_kbyte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made.write(tmp_path / "stream", [made.Trial(duration_s=2)])
    add_samples(folder, {"near": (*SENDER, *UNNAMED)})
    lines = printed(folder, capsys)
    assert " cycles per KByte (TSC" in lines[0]
    assert any(line.startswith(" Class, function ") and " KB " in line for line in lines)
    assert any(line.startswith("   [unknown]") for line in lines)
