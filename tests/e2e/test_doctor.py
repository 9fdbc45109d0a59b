"""`whyperf doctor`: what the host allows, hook by hook."""

import json
from pathlib import Path

from tests.e2e.whyperf_command import whyperf

HEADINGS = {"hooks": "Hook of the evidence", "stage_hooks": "Hook of stage times"}


def test_every_hook_is_listed_with_yes_or_no_the_reason_and_what_it_gives(tmp_path: Path) -> None:
    found = json.loads(whyperf("doctor", "--json", folder=tmp_path).out)
    shown = whyperf("doctor", folder=tmp_path, environment={"COLUMNS": "250"}).out
    for field, first in (("hooks", "net:net_dev_queue"), ("stage_hooks", "raw_syscalls:sys_enter")):
        # Some hooks are in both tables.
        table = shown.partition(HEADINGS[field])[2].partition(HEADINGS["stage_hooks"])[0].splitlines()
        assert first in {hook["name"] for hook in found[field]}
        for hook in found[field]:
            (line,) = (line for line in table if line.split()[:1] == [hook["name"]])
            assert line.split()[1] == ("yes" if hook["can"] else "no")
            assert hook["reason"] in line
            assert hook["gives"] in line
    assert "\nStage times (--evidence stages): " in shown
