"""From factors to what each side receives."""

import json
from collections.abc import Mapping
from pathlib import Path

import jsonschema
import pytest

from whyperf.plan import PlannedTrial, build
from whyperf.profile import parse
from whyperf.run.ends import FAR, NEAR, Cpus
from whyperf.run.spec import trial_specs
from whyperf.wire import RequestPrepare

SCHEMA = json.loads((Path(__file__).parents[3] / "schemas" / "request.json").read_text())
CPUS = {NEAR: Cpus((0,), (0,), True), FAR: Cpus((1,), (1,), True)}


def _specs(fixed: str) -> Mapping[str, RequestPrepare]:
    profile = parse(f'about = "a"\n[fixed]\n{fixed}', name="test", where="test.toml")
    (cell,) = build(profile).cells
    return trial_specs(PlannedTrial("001-c0001", 1, cell.id), cell.factors, CPUS, "198.18.0.2", 0)


@pytest.mark.parametrize(
    "fixed",
    ["", "transfer_bytes = 1", "window_bytes = 4096\nno_delay = true", 'direction = "receive"', "ip_version = 6"],
)
def test_every_spec_is_one_the_agent_knows(fixed: str) -> None:
    for spec in _specs(fixed).values():
        jsonschema.validate({"id": 1, "body": spec}, SCHEMA)


def test_the_near_side_connects_whoever_sends() -> None:
    for direction, roles in (("send", ("sender", "receiver")), ("receive", ("receiver", "sender"))):
        specs = _specs(f'direction = "{direction}"')
        assert (specs[NEAR]["role"], specs[FAR]["role"]) == roles
        assert (specs[NEAR]["opening"], specs[FAR]["opening"]) == ("connect", "listen")
        assert (specs[NEAR]["listen_address"], specs[FAR]["listen_address"]) == (None, "198.18.0.2")


def test_both_sides_know_the_token_and_no_two_trials_share_it() -> None:
    first, other = _specs(""), _specs("")
    assert first[NEAR]["token"] == first[FAR]["token"] != other[NEAR]["token"]
    assert len(bytes.fromhex(first[NEAR]["token"])) == 32


@pytest.mark.parametrize(
    ("fixed", "stop"),
    [
        (
            "warmup_s = 0.25\nduration_s = 2\ncooldown_s = 0.5",
            {"by": "duration", "warmup_ns": 250_000_000, "measure_ns": 2_000_000_000, "cooldown_ns": 500_000_000},
        ),
        ("transfer_bytes = 4096", {"by": "bytes", "payload_bytes": 4096}),
    ],
)
def test_each_phase_has_its_own_length(fixed: str, stop: dict[str, object]) -> None:
    for spec in _specs(fixed).values():
        assert spec["stop"] == stop
