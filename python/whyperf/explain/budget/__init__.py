"""The time budget: each nanosecond of a connection is in one state of its sender and in one of its receiver.

`budgets_of` merges a trial's evidence of each host (segment log, read and write calls, tcp_info) into
spans of states and their shares. Where there is no log, the kernel's chronographs give a coarse
budget of the sender. Instants are ns after the start of the load on the controller's clock.
"""

from whyperf.explain.budget.shares import SPAN_COLUMNS
from whyperf.explain.budget.trial import TrialBudgets, budgets_of

__all__ = ["SPAN_COLUMNS", "TrialBudgets", "budgets_of"]
