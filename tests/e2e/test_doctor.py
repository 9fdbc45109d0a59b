"""`whyperf doctor`: what the host allows, hook by hook."""

import json
from pathlib import Path

import pytest

from tests.e2e.whyperf_command import whyperf

HEADINGS = {"hooks": "Hook of the evidence", "stage_hooks": "Hook of stage times"}


@pytest.mark.parametrize(
    ("field", "first"), [("hooks", "net:net_dev_queue"), ("stage_hooks", "raw_syscalls:sys_enter")]
)
def test_every_hook_is_listed_with_yes_or_no_the_reason_and_what_it_gives(
    tmp_path: Path, field: str, first: str
) -> None:
    hooks = json.loads(whyperf("doctor", "--json", folder=tmp_path).out)[field]
    shown = whyperf("doctor", folder=tmp_path, environment={"COLUMNS": "250"}).out
    # Some hooks are in both tables.
    table = shown.partition(HEADINGS[field])[2].partition(HEADINGS["stage_hooks"])[0].splitlines()
    assert first in {hook["name"] for hook in hooks}
    for hook in hooks:
        (line,) = (line for line in table if line.split()[:1] == [hook["name"]])
        assert line.split()[1] == ("yes" if hook["can"] else "no")
        assert hook["reason"] in line
        assert hook["gives"] in line
    assert "\nStage times (--evidence stages): " in shown
