"""Sampling does not change what is found. Two effects are kept apart, in trials of the same load:

- *sampling*: of a trial that follows all blocks, the blocks that the rule of 1 in N chooses, against all of them;
- *observation*: trials of 1 in 64 against trials that follow all, packets of equal sizes against each other.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lab.bench.cost.experiment import Setting
from lab.bench.ratio import Ratio, ratio_of_pairs, text_of
from lab.bench.row import Row
from lab.bench.stages.trials import Staged, opened
from whyperf.plan import PlannedStages

PROFILE = """
[fixed]
duration_s = 2
warmup_s = 0.3
cooldown_s = 0.05
congestion_control = "reno"
"""

SEED = 1
PAIRS = 30
MAX_BIAS = 0.03
CHOSEN = (8, 64)
EVERY, FEW = PlannedStages(one_in=1), PlannedStages(one_in=64)
#: Stages that a stream always has, by host.
STAGES = (
    *(("near", "tcp_out"), ("near", "driver_out")),
    *(("far", "ip_in"), ("far", "tcp_in"), ("far", "copy_out")),
)
#: Of a size, at each of two trials, before it is compared.
MIN_PACKETS = 5
CLASSES_PER_OCTAVE = 2
#: The near host connects; the number of that side in crates/probe/src/stages/bpf/layout.h.
CONNECTING = 1


def run(setting: Setting) -> list[Row]:
    """Trials of 1 in 64 and of all blocks in turn."""
    every: list[Staged] = []
    few: list[Staged] = []
    with opened(PROFILE, setting.folder / "bias") as (plan, measure, _):
        cell = plan.cells[0].id
        for pair in range(setting.of(PAIRS, 2)):
            for stages in (FEW, EVERY) if pair % 2 else (EVERY, FEW):
                (every if stages is EVERY else few).append(measure(cell, stages))
    return [
        *(_sampled(every, host, stage, one_in) for one_in in CHOSEN for host, stage in STAGES),
        *(_observed(few, every, host, stage) for host, stage in STAGES),
    ]


def _sampled(trials: Sequence[Staged], host: str, stage: str, one_in: int) -> Row:
    """The blocks that the rule chooses, against all of the same trial."""
    packets = [(packets_of(trial, host, stage), trial) for trial in trials]
    chosen = [own.filter(chosen_rows(own["sequence"], trial, host, one_in)) for own, trial in packets]
    ratio = ratio_of_pairs([_mean(own) for own in chosen], [_mean(own) for own, _ in packets], SEED)
    name = f"sampling 1 in {one_in}, {stage}, {ratio.pairs} trials"
    return Row(
        "bias", name, f"≤ {MAX_BIAS:.0%}", text_of(ratio), abs(ratio.median - 1) <= MAX_BIAS, values=_values(ratio)
    )


def _observed(few: Sequence[Staged], every: Sequence[Staged], host: str, stage: str) -> Row:
    """1 in 64 against all: as measured, and with the sizes of the packets of 1 in 64 in both. No bar: it is no bias."""
    pairs = [tuple(packets_of(trial, host, stage) for trial in pair) for pair in zip(few, every, strict=True)]
    plain = ratio_of_pairs([_mean(own) for own, _ in pairs], [_mean(other) for _, other in pairs], SEED)
    alike = [at_equal_sizes(own, other) for own, other in pairs]
    ratio = ratio_of_pairs([own for own, _ in alike], [other for _, other in alike], SEED)
    name = f"observation, {stage}: 1 in 64 over all, equal sizes, {ratio.pairs} pairs"
    reached = f"{text_of(ratio)}; all sizes {plain.median - 1:+.1%}"
    return Row("bias", name, "", reached, True, is_bar=False, values=_values(ratio) | {"all_sizes": _values(plain)})


def packets_of(trial: Staged, host: str, stage: str) -> pl.DataFrame:
    """The packets or copies of a stage with their CPU time without programs (`own_ns`), sizes and `sequence`."""
    each = trial.rows(host).filter(stage=stage).group_by("connection", "direction", "sequence")
    return each.agg(pl.col("own_ns").sum(), pl.col("payload_bytes").max(), pl.col("copied_bytes").sum())


def chosen_rows(sequence: pl.Series, trial: Staged, host: str, one_in: int) -> pl.Series:
    """Which of these data of the connecting side the rule of 1 in `one_in` chooses."""
    flows = trial.table("flows", "near")
    port = int(str(flows["local_address"][0]).rpartition(":")[2])
    chosen = is_chosen(sequence.to_numpy(), CONNECTING, port, trial.report(host)["block_bytes"], one_in)
    return pl.Series(chosen)


def is_chosen(
    sequence: NDArray[np.integer], sender: int, port: int, block_bytes: int, one_in: int
) -> NDArray[np.bool_]:
    """The rule by which the programs choose blocks: crates/probe/src/stages/bpf/sampling.h, `is_block_sampled`."""
    block = sequence.astype(np.uint64) // np.uint64(block_bytes)
    mixed = np.uint64((sender << 16 | port) << 32) | block
    # Products wrap around at 64 bits, as in C.
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed = (mixed ^ mixed >> np.uint64(33)) * np.uint64(factor)
    found: NDArray[np.bool_] = (mixed >> np.uint64(33)) & np.uint64(one_in - 1) == 0
    return found


def at_equal_sizes(few: pl.DataFrame, every: pl.DataFrame) -> tuple[float, float]:
    """The mean times of both with the sizes that packets of `few` have: by classes of payload and of copied bytes.

    Raises:
        LookupError: no size has enough packets in both.
    """
    own, other = (_by_size(packets) for packets in (few, every))
    both = own.join(other, on=["size", "copied"], suffix="_every", nulls_equal=True)
    if both.is_empty():
        raise LookupError("no size has enough packets in both trials")
    shares = both["packets"] / both["packets"].sum()
    return float((both["own_ns"] * shares).sum()), float((both["own_ns_every"] * shares).sum())


def _by_size(packets: pl.DataFrame) -> pl.DataFrame:
    classes = [
        # Nothing was copied: a class of its own.
        (pl.when(pl.col(column) > 0).then(pl.col(column).log(2) * CLASSES_PER_OCTAVE).round().cast(pl.Int64)).alias(to)
        for column, to in (("payload_bytes", "size"), ("copied_bytes", "copied"))
    ]
    found = packets.group_by(*classes).agg(pl.col("own_ns").mean(), packets=pl.len())
    return found.filter(pl.col("packets") >= MIN_PACKETS)


def _mean(packets: pl.DataFrame) -> float:
    return float(packets["own_ns"].mean())  # type: ignore[arg-type]


def _values(ratio: Ratio) -> dict[str, float]:
    return {"median": ratio.median, "low": ratio.low, "high": ratio.high}
