"""The design: from a profile to cells, blocks and a stop rule."""

from whyperf.hosts import LOCAL, HostPair
from whyperf.plan.build import COMMAND_LINE, STAGED_TRANSPORTS, build
from whyperf.plan.estimate import Estimate, TimeLeft, estimate, trial_seconds
from whyperf.plan.model import (
    CONNECTION,
    EXTRA_PREFIXES,
    LOG_PREFIX,
    MODEL,
    STAGES_PREFIX,
    WATCHED,
    Cell,
    Level,
    Plan,
    PlannedConnection,
    PlannedFleet,
    PlannedFlow,
    PlannedStages,
    PlannedTrial,
    PlannedWatch,
    PlannedWorkload,
    StopRule,
)
from whyperf.plan.stop import cells_wanting, relative_width, wants_trial

__all__ = [
    "COMMAND_LINE",
    "CONNECTION",
    "EXTRA_PREFIXES",
    "LOCAL",
    "LOG_PREFIX",
    "MODEL",
    "STAGED_TRANSPORTS",
    "STAGES_PREFIX",
    "WATCHED",
    "Cell",
    "Estimate",
    "HostPair",
    "Level",
    "Plan",
    "PlannedConnection",
    "PlannedFleet",
    "PlannedFlow",
    "PlannedStages",
    "PlannedTrial",
    "PlannedWatch",
    "PlannedWorkload",
    "StopRule",
    "TimeLeft",
    "build",
    "cells_wanting",
    "estimate",
    "relative_width",
    "trial_seconds",
    "wants_trial",
]
