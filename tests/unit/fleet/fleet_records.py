"""Records of fleets with a known truth: synthetic pairs put together as one trial."""

import copy
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from tests.unit.analyze import synthetic as made
from whyperf.hosts import HostPair, Pattern
from whyperf.plan.plan_document import Plan, PlannedFleet, Testbed, identify


@dataclass(frozen=True)
class PairOfHosts:
    """A pair: its hosts, what its trial was like, and what differs in the facts of its hosts.

    `counters` are rows of `host_counters` of the near host: counter, subject, kind, before, after.
    """

    near: str
    far: str
    trial: made.Trial = field(default_factory=lambda: made.Trial(duration_s=2.0))
    near_facts: Mapping[str, Any] = field(default_factory=dict)
    far_facts: Mapping[str, Any] = field(default_factory=dict)
    counters: Sequence[tuple[str, str, str, int | None, int | None]] = ()
    mtu_bytes: int = 1500


def end(side: str, pair: int) -> str:
    """The name of an end in the record."""
    return side if pair == 0 else f"{side}{pair + 1}"


def write_fleet(
    folder: Path,
    pattern: Pattern,
    pairs: Sequence[PairOfHosts],
    *,
    rates: Sequence[Sequence[float]] = (),
    groups: Mapping[str, tuple[str, ...]] | None = None,
) -> Path:
    """Writes a result whose trials have all pairs; `rates` are those of the pairs in bit/s, a row a trial."""
    rows = rates or [[pair.trial.rate_bps for pair in pairs]]
    trials = [replace(pairs[0].trial, block=block) for block in range(1, len(rows) + 1)]
    made.write(folder, trials)
    for (block, row), trial in zip(enumerate(rows, start=1), trials, strict=True):
        home = folder / "trials" / trial.name
        manifest = json.loads((home / "manifest.json").read_text())
        manifest["hosts"] = {}
        shutil.rmtree(home)
        home.mkdir()
        connections = 0
        for number, (pair, rate) in enumerate(zip(pairs, row, strict=True)):
            own = replace(pair.trial, block=block, rate_bps=rate)
            hosts = made.manifest(own)["hosts"]
            for side in ("near", "far"):
                hosts[side]["first_connection"] = connections
                manifest["hosts"][end(side, number)] = hosts[side]
            connections += own.connections
            for (table, side), frame in made.tables(own).items():
                named = frame.with_columns(pl.lit(end(side, number)).alias("host"))
                named.write_parquet(home / f"{table}.{end(side, number)}.parquet")
            _write_host(home, number, pair)
        (home / "manifest.json").write_text(json.dumps(manifest))
    for number, pair in enumerate(pairs):
        for side, own_facts in (("near", pair.near_facts), ("far", pair.far_facts)):
            facts = copy.deepcopy(dict(made.HOST_FACTS)) | {"devices": [_device(pair.mtu_bytes)]}
            sysctls = {**facts["sysctls"], **own_facts.get("sysctls", {})}
            facts |= {**own_facts, "sysctls": sysctls}
            (folder / "hosts" / f"{end(side, number)}.json").write_text(json.dumps(facts))
    as_fleet(folder, pattern, [HostPair(pair.near, pair.far) for pair in pairs], groups)
    return folder


def _device(mtu_bytes: int) -> dict[str, Any]:
    offloads = {"tso": True, "gso": True, "gro": True, "tx_checksum": True, "rx_checksum": True}
    return {"name": "eth0", "driver": "mlx5_core", "mtu_bytes": mtu_bytes, "speed_mbps": 25_000, "offloads": offloads}


def _write_host(home: Path, number: int, pair: PairOfHosts) -> None:
    for side in ("near", "far"):
        rows = [(end(side, number), 0, 10**9, *row) for row in (pair.counters if side == "near" else ())]
        schema = {"host": made.TEXT, "start_mono_ns": made.U64, "end_mono_ns": made.U64, "counter": made.TEXT}
        schema |= {"subject": made.TEXT, "kind": made.TEXT, "value_at_start": made.U64, "value_at_end": made.U64}
        pl.DataFrame(rows, schema=schema, orient="row").write_parquet(
            home / f"host_counters.{end(side, number)}.parquet"
        )
        devices = {"host": [end(side, number)], "device": ["eth0"], "tx_packets": [1000], "rx_packets": [1000]}
        pl.DataFrame(devices).write_parquet(home / f"devices.{end(side, number)}.parquet")


def as_fleet(
    folder: Path, pattern: Pattern, pairs: Sequence[HostPair], groups: Mapping[str, tuple[str, ...]] | None = None
) -> None:
    """Makes the plan of a record one of a fleet of these pairs."""
    path = folder / "plan.json"
    plan = Plan.model_validate_json(path.read_text())
    far = tuple(pair.far for pair in pairs)
    planned = plan.model_copy(
        update={
            "near": tuple(pair.near for pair in pairs),
            "target": ",".join(dict.fromkeys(far)),
            "testbed": Testbed(kind="network"),
            "fleet": PlannedFleet(pattern=pattern, far=far, groups=dict(groups or {})),
        }
    )
    planned = planned.model_copy(update={"id": identify(planned)})
    path.write_text(planned.to_json())
