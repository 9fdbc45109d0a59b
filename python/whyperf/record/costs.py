"""The cost of watching on this host, as it was measured last: kept next to all experiments, copied into each."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whyperf.foreign import parse_json, read_bytes
from whyperf.record.durable import write_file
from whyperf.record.errors import as_record_error


def state_folder() -> Path:
    """`$XDG_STATE_HOME/whyperf`, or the same under ~/.local/state (XDG Base Directory)."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "whyperf"


def costs_file() -> Path:
    """The file of all hosts and kernels."""
    return state_folder() / "probe-cost.json"


def known_cost(hostname: str, kernel: str) -> dict[str, Any] | None:
    """The cost that `keep_cost` kept for this host under this kernel; None when nothing fits or can be read."""
    try:
        kept = parse_json(read_bytes(costs_file(), is_users=True))
        cost = kept[f"{hostname} {kernel}"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return cost if isinstance(cost, dict) else None


def keep_cost(hostname: str, kernel: str, cost: Mapping[str, object]) -> Path:
    """Keeps the cost on this host under this kernel in place of an earlier one; returns the file.

    Raises:
        RecordError: it cannot be written.
    """
    file = costs_file()
    with as_record_error("write", file):
        try:
            kept = parse_json(read_bytes(file, is_users=True))
        except (OSError, ValueError):
            kept = {}
        kept = (kept if isinstance(kept, dict) else {}) | {f"{hostname} {kernel}": dict(cost)}
        file.parent.mkdir(parents=True, exist_ok=True)
        write_file(file, (json.dumps(kept, indent=1, ensure_ascii=False) + "\n").encode())
    return file
