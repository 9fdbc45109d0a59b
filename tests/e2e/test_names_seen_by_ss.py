"""What the kernel itself says of the congestion controls of a run: all of them in one trial, printed by ss(8)."""

import re
import shutil
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest

from tests.e2e.whyperf_command import argv
from whyperf.run import list_offers

pytestmark = [pytest.mark.alone, pytest.mark.root, pytest.mark.usefixtures("ours")]

WANTED = ("reno", "scalable", "highspeed", "hslp", "bic", "htcp", "fast", "ltcp", "cubic")
LASTS_S = 2.0
#: The test looks so long, more than the load and what comes before it take.
PATIENCE_S = 40.0


def words_of_ss() -> set[str]:
    """What ss says of established connections over the loopback; a congestion control's name is a word of its own."""
    printed = subprocess.run(["ss", "-tinH", "state", "established"], capture_output=True, text=True, check=True).stdout
    # A connection's line, and indented below it what its TCP knows.
    found = re.findall(r"^(\S.*)\n\s+(.*)", printed, flags=re.MULTILINE)
    return {word for line, known in found if line.count("127.0.0.1") == 2 for word in known.split()}


def test_ss_sees_every_control_in_the_run_that_asked_for_it(tmp_path: Path) -> None:
    if shutil.which("ss") is None:
        pytest.skip("needs ss, of the package iproute2, to ask the kernel for the names")
    offers = {offer["name"]: offer for offer in list_offers(None) if offer["kind"] == "congestion_control"}
    names = [name for name in WANTED if offers.get(name, {"state": "refused"})["state"] != "refused"]
    assert {"reno", "cubic"} <= set(names)
    flows = "".join(
        f'[[schedule.flow]]\nstart_s = 0\nstop_s = {LASTS_S}\ncongestion_control = "{name}"\nname = "{name}"\n'
        for name in names
    )
    profile = tmp_path / "together.toml"
    profile.write_text(
        f'about = "Together."\n[fixed]\nschedule = "together"\n[design]\ntrials = 1\n'
        f'[schedule]\nname = "together"\n{flows}'
    )
    results = tmp_path / "results"
    command = argv(
        "run", profile, "--testbed", "loopback", "--out", results, "--json", "--set", "write_rate_bps=1000000"
    )
    seen: set[str] = set()
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        end = time.monotonic() + PATIENCE_S
        while run.poll() is None and time.monotonic() < end:
            seen |= words_of_ss()
            time.sleep(0.05)
        _, said = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 0, said
    registered = {offers[name]["registered_as"] for name in names}
    assert registered <= seen
    flows_of_ends = pl.concat(pl.read_parquet(table) for table in results.glob("trials/*/flows.*.parquet"))
    assert set(flows_of_ends["congestion_control"]) == registered
