"""`whyperf doctor`: what the host allows, hook by hook."""

import json
from pathlib import Path

from tests.e2e.whyperf_command import whyperf


def test_every_hook_is_listed_with_yes_or_no_the_reason_and_what_it_gives(tmp_path: Path) -> None:
    environment = {"COLUMNS": "250"}
    hooks = json.loads(whyperf("doctor", "--json", folder=tmp_path).out)["hooks"]
    shown = whyperf("doctor", folder=tmp_path, environment=environment).out.splitlines()
    assert "net:net_dev_queue" in {hook["name"] for hook in hooks}
    for hook in hooks:
        (line,) = (line for line in shown if line.split()[:1] == [hook["name"]])
        assert line.split()[1] == ("yes" if hook["can"] else "no")
        assert hook["reason"] in line
        assert hook["gives"] in line
