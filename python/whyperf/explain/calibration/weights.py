"""The checked-in weights of the decision, by their names."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

WEIGHTS = Path(__file__).with_name("weights.json")


@cache
def weights() -> Mapping[str, float]:
    """The weights; what is not among them weighs nothing."""
    return json.loads(WEIGHTS.read_text(encoding="utf-8"))["weights"]
