"""The costs that a fit may move: the keys of a Linux host's profile, each with its prior.

A prior is what the micro-measurements say of a cost, with bounds between which it stays plausible: a step that was
timed may be off by a factor, because caches are warmer in a loop than in a program; one that cannot be timed alone has
bounds an order of magnitude wide and is what the fit has to find.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whyperf.calibrate.steps import Measured

#: The factor, both ways, by which a cost may differ from what was timed.
TIMED = 3.0
#: The same where only a sum of several costs was timed.
SHARED = 6.0
#: The same of what was not timed here.
UNTIMED = 10.0
#: The same of what the stages of real packets show: no loop warms their caches, and each is one cost alone.
STAGED = 1.5
STAGE_TIMES = "stage times"
"""The source of such a prior."""


@dataclass(frozen=True)
class Prior:
    """The knowledge of a cost before the fit: `value` within `low` to `high`, in the unit its key ends with."""

    key: str
    value: float
    low: float
    high: float
    source: str


@dataclass(frozen=True)
class _Recipe:
    """The way that a prior follows from what was timed: a share of a quantity, less another one; or a number."""

    key: str
    timed: str
    share: float = 1.0
    less: str = ""
    factor: float = TIMED
    usual: float = 0.5
    #: The bound; what is above it was other work of the host.
    most: float = math.inf


#: In the order of the data: sender first.
RECIPES: Sequence[_Recipe] = (
    _Recipe("write_call_us", "write_call_us", usual=0.4),
    _Recipe("copy_in_us", "", usual=0.05, factor=UNTIMED),
    _Recipe("copy_in_ns_per_byte", "write_ns_per_byte", usual=0.1),
    _Recipe("new_buffer_us", "", usual=0.3, factor=UNTIMED),
    _Recipe("output_us", "send_us", share=0.5, factor=SHARED, usual=0.8),
    _Recipe("transmit_us", "send_us", share=0.5, factor=SHARED, usual=0.8),
    _Recipe("handover_us", "other_cpu_us", less="ack_us", usual=1.0, most=20.0),
    _Recipe("segmentation_us", "", usual=0.3, factor=UNTIMED),
    _Recipe("softirq_us", "take_us", share=0.5, factor=SHARED, usual=0.8),
    _Recipe("softirq_ns_per_byte", "", usual=0.005, factor=UNTIMED),
    _Recipe("merge_us", "", usual=0.1, factor=UNTIMED),
    _Recipe("input_us", "take_us", share=0.5, factor=SHARED, usual=0.8),
    _Recipe("backlog_us", "", usual=0.1, factor=UNTIMED),
    _Recipe("ack_output_us", "ack_us", share=0.5, factor=SHARED, usual=0.8),
    _Recipe("ack_input_us", "ack_us", share=0.5, factor=SHARED, usual=0.8),
    _Recipe("free_buffer_us", "", usual=0.2, factor=UNTIMED),
    _Recipe("wake_up_us", "hop_here_us", share=0.3, factor=SHARED, usual=1.0),
    _Recipe("switch_us", "hop_here_us", share=0.4, factor=SHARED, usual=1.0),
    _Recipe("idle_exit_us", "hop_across_us", less="hop_here_us", factor=UNTIMED, usual=5.0, most=20.0),
    _Recipe("propagation_us", "", factor=UNTIMED, usual=8.0),
    _Recipe("interrupt_us", "", factor=UNTIMED, usual=1.0),
    _Recipe("read_call_us", "read_call_us", usual=0.4),
    _Recipe("copy_out_us", "", usual=0.05, factor=UNTIMED),
    _Recipe("copy_out_ns_per_byte", "read_ns_per_byte", usual=0.1),
)


def priors(measured: Mapping[str, Measured], staged: Mapping[str, Measured] | None = None) -> list[Prior]:
    """The priors of all costs, from what was timed and from usual values where nothing was.

    What stage times show of a cost (`staged`, by its key) comes before what was timed.
    """
    seen = staged or {}
    return [_staged(seen[recipe.key]) if recipe.key in seen else _prior(recipe, measured) for recipe in RECIPES]


def _staged(found: Measured) -> Prior:
    """A prior from stage times: plausible within a factor, or within its interval where that is wider."""
    low, high = min(found.value / STAGED, found.low), max(found.value * STAGED, found.high)
    return Prior(found.name, found.value, max(low, found.value / UNTIMED), high, STAGE_TIMES)


def profile(base: str, known: Sequence[Prior]) -> str:
    """A host of the model as TOML: `base` with these costs at their priors, plausible within their own bounds."""
    lines = [
        f'{prior.key} = {{ value = {prior.value!r}, low = {prior.low!r}, high = {prior.high!r}, source = "prior" }}'
        for prior in known
    ]
    return "\n".join(['part = "host"', f'base = "{base}"', 'about = "being calibrated"', "[values]", *lines, ""])


def _prior(recipe: _Recipe, measured: Mapping[str, Measured]) -> Prior:
    timed = measured.get(recipe.timed)
    less = measured.get(recipe.less)
    if timed is None or (recipe.less and less is None):
        return _around(recipe.key, recipe.usual, UNTIMED, "usual on today's hosts; not timed here")
    value = recipe.share * (timed.value - (less.value if less else 0.0))
    if value <= 0:
        return _around(recipe.key, recipe.usual, UNTIMED, f"usual; {recipe.timed} was lost in the noise")
    origin = f"{recipe.share:.0%} of {recipe.timed}" if recipe.share < 1 else recipe.timed
    value = min(value, recipe.most)
    return _around(recipe.key, value, recipe.factor, f"timed: {origin}" + (f" less {recipe.less}" if less else ""))


def _around(key: str, value: float, factor: float, source: str) -> Prior:
    return Prior(key, value, value / factor, value * factor, source)
