"""The commands of `whyperf doctor --grant`, run as printed: afterwards an ordinary user collects evidence.

They run in namespaces of their own, with a copy of /etc and an empty /usr/local/bin, so that the host stays as it is.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_unprivileged import AS_NOBODY, NOBODY
from tests.e2e.whyperf_command import Done, whyperf
from whyperf.explain.log_trials import logged_count
from whyperf.record import Experiment
from whyperf.run.agents import pipes

GRANTED = "cap_bpf,cap_perfmon"
#: Nobody, in a session whose files may give these capabilities. The group of the commands is `$GROUP_ID`.
SESSION = [
    word.replace("+dac_read_search", "+dac_read_search,+bpf,+perfmon") if word.startswith("--bounding-set") else word
    for word in AS_NOBODY
]
#: Makes the place, then runs each line of $COMMANDS as an administrator would, then what follows as nobody.
PLACE = """
set -eu
mount -t tmpfs -o mode=755 tmpfs /usr/local/bin
cp -a /etc "$COPY"
mount --bind "$COPY" /etc
ip link set lo up
sudo() { "$@"; }
export USER=nobody
eval "$COMMANDS" >&2
group=$(getent group whyperf | cut -d: -f3 || true)
exec setpriv --groups="${group:-65534}" --reuid=65534 --regid=65534 $SESSION "$@"
"""

pytestmark = [
    pytest.mark.root,
    pytest.mark.usefixtures("ours"),
    pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv"),
    pytest.mark.skipif(shutil.which("setcap") is None, reason="needs setcap (libcap2-bin)"),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of nobody's own, with an agent that nobody could change."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        shutil.copy(pipes.agent_binary(), path / "whyperf-agent")
        for owned in (path, path / "whyperf-agent"):
            os.chown(owned, NOBODY, NOBODY)
        yield path


def as_nobody(folder: Path, *arguments: str, commands: str = "", agent: Path | None = None) -> Done:
    """whyperf as nobody, after the commands."""
    with tempfile.TemporaryDirectory() as outside:
        environment = {
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "COMMANDS": commands,
            "SESSION": " ".join(word for word in SESSION if word.startswith(("--bound", "--inh", "--amb", "env"))),
            "COPY": f"{outside}/etc",
            "WHYPERF_AGENT": str(agent or folder / "whyperf-agent"),
        }
        before = ("unshare", "--mount", "--net", "--propagation", "private", "bash", "-c", PLACE, "place")
        return whyperf(*arguments, folder=folder, before=before, environment=environment)


def grants(folder: Path) -> dict[str, Any]:
    """What `doctor --grant` prints."""
    done = as_nobody(folder, "doctor", "--grant", "--json")
    assert done.status == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_the_printed_commands_let_an_ordinary_user_log_segments(folder: Path) -> None:
    found = grants(folder)
    by_level = {grant["level"]: grant for grant in found["levels"]}
    assert (by_level["counters"]["state"], by_level["segments"]["state"]) == ("missing", "missing")
    commands = "\n".join(line for grant in found["levels"] for line in grant["commands"])
    assert f"setcap {GRANTED}+ep /usr/local/bin/whyperf-agent" in commands
    installed = Path("/usr/local/bin/whyperf-agent")

    doctor = as_nobody(folder, "doctor", "--json", commands=commands, agent=installed)
    assert doctor.status == 0, doctor.err
    facts = json.loads(doctor.out)
    assert set(GRANTED.split(",")) == set(facts["privileges"]["effective"])
    assert [hook["name"] for hook in facts["hooks"] if not hook["can"]] == []
    assert next(ability for ability in facts["abilities"] if ability["name"] == "icmp_probe")["can"]

    options = ["-O", "0.1", "-t", "0.3", "--testbed", "loopback", "--evidence", "segments", "--no-report", "--json"]
    options += ["--out", str(folder / "results")]
    done = as_nobody(folder, "run", *options, commands=commands, agent=installed)
    assert done.status == 0, done.err
    experiment = Experiment.open(folder / "results")
    manifests = experiment.trials().manifests
    got = {name: {end.evidence["got"] for end in manifest.hosts.values()} for name, manifest in manifests.items()}
    assert got == {"001-c0001": {"counters"}, "log01-c0001": {"segments"}}
    assert logged_count(experiment, "log01-c0001") > 0


def test_a_container_that_lacks_the_capabilities_is_named(folder: Path) -> None:
    """And it is so: the kernel does not start a file with capabilities that the session cannot have."""
    environment = {"HOME": str(folder), "TMPDIR": str(folder), "WHYPERF_AGENT": str(folder / "whyperf-agent")}
    done = whyperf("doctor", "--grant", folder=folder, before=AS_NOBODY, environment=environment)
    assert done.status == 0, done.err
    said = " ".join(done.out.split())
    assert (
        "Level counters: not possible here. The bounding set of this container or service lacks cap_bpf and cap_perfmon"
        in said
    )
    assert "--cap-add BPF --cap-add PERFMON" in said
    assert "setcap" not in done.out
    agent = folder / "whyperf-agent"
    subprocess.run(["setcap", f"{GRANTED}+ep", agent], check=True)
    started = subprocess.run([*AS_NOBODY, agent, "--version"], capture_output=True, text=True, check=False)
    assert started.returncode != 0
    assert "Operation not permitted" in started.stderr
