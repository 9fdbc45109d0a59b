"""The design: from a profile to cells, blocks and a stop rule."""

from whyperf.hosts import LOCAL, HostPair
from whyperf.plan.build import STAGED_TRANSPORTS, build
from whyperf.plan.cells import COMMAND_LINE
from whyperf.plan.estimate import Estimate, TimeLeft, estimate, trial_seconds
from whyperf.plan.plan_document import (
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
from whyperf.plan.sent_files import announcements, own_folders, refuse_other_files, sent_files
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
    "announcements",
    "build",
    "cells_wanting",
    "estimate",
    "own_folders",
    "refuse_other_files",
    "relative_width",
    "sent_files",
    "trial_seconds",
    "wants_trial",
]
