"""Calibrates the model of a Linux host: timed steps, a live grid, a fit of the costs, and what-if with the result."""

from whyperf.calibrate.calibration import Calibration, calibration_of
from whyperf.calibrate.changes import changes
from whyperf.calibrate.costs import Prior, priors, profile
from whyperf.calibrate.errors import CalibrationError, QuestionError
from whyperf.calibrate.fit import Fit, Member, fit
from whyperf.calibrate.grid import Point, held_out, read_grid
from whyperf.calibrate.host_file import CalibratedHost, read_host, write_host
from whyperf.calibrate.identify import Found, Narrowed, identify, narrowing
from whyperf.calibrate.judge import Judged, Verdict, judge
from whyperf.calibrate.simulator import MEASURE_NS, MEASURE_ROUND_TRIPS, Answer, Model, model, question
from whyperf.calibrate.stages import StepCheck, stage_costs, step_checks
from whyperf.calibrate.steps import Measured, Steps, read_steps, time_steps
from whyperf.calibrate.what_if import Range, WhatIf, ask_what_if, extrapolates

__all__ = [
    "MEASURE_NS",
    "MEASURE_ROUND_TRIPS",
    "Answer",
    "CalibratedHost",
    "Calibration",
    "CalibrationError",
    "Fit",
    "Found",
    "Judged",
    "Measured",
    "Member",
    "Model",
    "Narrowed",
    "Point",
    "Prior",
    "QuestionError",
    "Range",
    "StepCheck",
    "Steps",
    "Verdict",
    "WhatIf",
    "ask_what_if",
    "calibration_of",
    "changes",
    "extrapolates",
    "fit",
    "held_out",
    "identify",
    "judge",
    "model",
    "narrowing",
    "priors",
    "profile",
    "question",
    "read_grid",
    "read_host",
    "read_steps",
    "stage_costs",
    "step_checks",
    "time_steps",
    "write_host",
]
