"""`make test` runs its own tests: pytest collects a file that is named whatever its folder ignores."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_make_test_names_no_test_of_another_target() -> None:
    conftests = sorted((ROOT / "tests").glob("*/conftest.py"))
    others = {path.parent.name for path in conftests if "collect_ignore_glob" in path.read_text(encoding="utf-8")}
    assert others == {"kernels", "oracle", "sites", "wan"}
    printed = subprocess.run(["make", "-n", "test"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    named = re.findall(r"\btests/(\w+)/test_\w+\.py", printed)
    assert "e2e" in named
    assert not others & set(named)
