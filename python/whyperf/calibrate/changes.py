"""The changes of a what-if: `window=256k,offload=off` as factors."""

from collections.abc import Mapping
from typing import Any

from whyperf.calibrate.errors import QuestionError
from whyperf.profile import BY_NAME
from whyperf.profile.errors import ProfileError, suggestion

#: Short words of the command line, each with the factors it sets.
_SHORT = {
    "window": "window_bytes",
    "write": "write_size_bytes",
    "write_size": "write_size_bytes",
    "read": "read_size_bytes",
    "read_size": "read_size_bytes",
    "mtu": "mtu_bytes",
    "cc": "congestion_control",
    "congestion": "congestion_control",
    "rtt": "path_rtt_ms",
    "pacing": "pacing_rate_bps",
}
_SWITCHES = {"on": True, "off": False, "true": True, "false": False}
#: Switches that stand for several factors, or for the opposite of one.
_OFFLOADS = ("tso", "gso", "gro")
#: Congestion controls of the model (ALGORITHMS in crates/sim/src/linux/profile.rs).
MODELED_CONTROLS = ("reno", "cubic")
#: Factors that the model of a calibrated host takes.
TAKEN = (
    "window_bytes", "send_buffer_bytes", "receive_buffer_bytes", "write_size_bytes", "read_size_bytes", "no_delay",
    "quick_ack", "congestion_control", "mss_bytes", "mtu_bytes", "connections", "direction", "path_rtt_ms",
    "pacing_rate_bps", *_OFFLOADS,
)  # fmt: skip


def changes(text: str) -> dict[str, object]:
    """The factors that the text sets, by name.

    Raises:
        QuestionError: a word that is no change, or one that the model cannot make.
    """
    found: dict[str, object] = {}
    for part in text.split(","):
        name, equals, level = (piece.strip() for piece in part.partition("="))
        if not equals or not name or not level:
            raise QuestionError(f'--what-if: "{part.strip()}" changes nothing; write it as window=256k')
        for factor, value in _one(name, level).items():
            if factor in found:
                raise QuestionError(f"--what-if: {factor} is changed twice")
            found[factor] = value
    return found


def _one(name: str, level: str) -> Mapping[str, Any]:
    if name in {"offload", "offloads"}:
        return dict.fromkeys(_OFFLOADS, _switch(name, level))
    if name == "nagle":
        return {"no_delay": not _switch(name, level)}
    factor = _SHORT.get(name, name)
    if factor not in TAKEN:
        known = [*TAKEN, *_SHORT, "offload", "nagle"]
        what = "is no factor that the model takes" if factor in BY_NAME else "is no factor"
        raise QuestionError(f"--what-if: {name} {what}{suggestion(name, known)}")
    if level in _SWITCHES and BY_NAME[factor].kind == "bool":
        return {factor: _SWITCHES[level]}
    text = level[:-2] if factor == "path_rtt_ms" and level.endswith("ms") else level
    try:
        value = BY_NAME[factor].parse(text)
    except ProfileError as error:
        raise QuestionError(f"--what-if: {name}: {error.problem}") from None
    if factor == "connections" and value != 1:
        raise QuestionError(f"--what-if: {name}: costs are fitted with one connection, not {value}")
    if factor == "congestion_control" and value not in MODELED_CONTROLS:
        raise QuestionError(f"--what-if: {name}: the model has {' and '.join(MODELED_CONTROLS)}, not {value}")
    return {factor: value}


def _switch(name: str, level: str) -> bool:
    if level not in _SWITCHES:
        raise QuestionError(f"--what-if: {name} is on or off, not {level}")
    return _SWITCHES[level]
