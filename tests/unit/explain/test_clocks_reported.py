"""A state with more time than the clock of the kernel is reported with the reason."""

import pytest

from whyperf.explain.budget.shares import budget_of_sums
from whyperf.explain.explanation import Chronograph
from whyperf.report.explanation.bars import excess

MS = 1_000_000


@pytest.mark.parametrize(("waited_ns", "is_reported"), [(106 * MS, True), (5 * MS, False)])
def test_a_longer_state_is_reported_with_its_clock(waited_ns: int, is_reported: bool) -> None:
    sums = {"send_buffer": (waited_ns, 40)}
    budget = budget_of_sums(
        trial="log01-c0001", host="near", role="sender", connection=0, begin_ns=0, end_ns=2000 * MS, sums=sums
    )
    clock = Chronograph(name="sndbuf_limited", kernel_ns=0, budget_ns=0, agrees=True)
    assert ("106 ms" in excess(budget, clock)) is is_reported
