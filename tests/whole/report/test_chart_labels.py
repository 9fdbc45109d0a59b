"""Labels of charts fit on a screen of 400 pixels."""

import numpy as np
import pytest

from whyperf.report.charts.distribution import distribution_group
from whyperf.report.charts.figures import ANGLE
from whyperf.report.charts.models import Plot


def boxes(*names: str) -> Plot:
    """Box plots of distributions with these names."""
    parts = {name: np.arange(1, 101, dtype=np.float64) * 1e6 for name in names}
    return distribution_group("x", "Latency", "Time", parts).charts[1].figure


def labels(made: Plot) -> list[str]:
    return list(made.xaxis.major_label_overrides.values())


def is_rotated(made: Plot) -> bool:
    return vars(made.xaxis).get("major_label_orientation") == ANGLE


def test_labels_lack_the_words_that_all_names_begin_with() -> None:
    made = boxes("idle", "congestion control reno", "congestion control cubic")
    assert labels(made) == ["idle", "reno", "cubic"]
    assert not is_rotated(made)
    assert labels(boxes("001-c0001", "002-c0001")) == ["001-c0001", "002-c0001"]


@pytest.mark.parametrize(("count", "rotated"), [(3, False), (8, True)])
def test_every_box_keeps_its_label_and_long_rows_are_rotated(count: int, rotated: bool) -> None:
    made = boxes(*(f"{number:03d}-c0001" for number in range(count)))
    assert len(labels(made)) == count
    assert is_rotated(made) is rotated
