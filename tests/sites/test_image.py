"""The image of the agent: built without root, and agents that `podman exec` starts in it."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sites.containers import NO_CONTROL_GROUPS, NOBODY, Containers, build_context, containers
from whyperf import __version__

pytestmark = [pytest.mark.root]


@pytest.fixture(scope="module")
def built() -> Iterator[Containers]:
    """A store with the image."""
    with containers() as made:
        yield made


#: For a user without privileges; the folder is that of the user, and holds the image's context.
BUILD = """
export HOME=$PWD XDG_RUNTIME_DIR=$PWD/run STORAGE_DRIVER=vfs PATH=/usr/bin:/bin
buildah build --quiet --isolation=chroot --tag=localhost/by-buildah context
podman build --quiet --isolation=chroot --tag=localhost/by-podman context
podman --cgroup-manager=cgroupfs run --detach --name=agent --network=host --cgroups=disabled \\
    --ulimit=nofile=1024:1024 --ulimit=nproc=1024:1024 localhost/by-podman
podman exec --interactive agent whyperf-agent --version
podman rm --force --time=0 agent
podman images --noheading --format='{{.Repository}} {{.Size}}'
"""


@pytest.fixture
def nobodys_folder() -> Iterator[Path]:
    """A folder of a user without privileges, with what the image is built from."""
    folder = Path(tempfile.mkdtemp(prefix="whyperf-rootless-"))
    try:
        for name in ("context", "run"):
            (folder / name).mkdir(mode=0o700)
        build_context(folder / "context")
        subprocess.run(["chown", "-R", "65534:65534", folder], check=True)
        yield folder
    finally:
        # It holds the user namespace for further commands.
        for file in folder.glob("run/libpod/tmp/pause.pid"):
            os.kill(int(file.read_text()), signal.SIGTERM)
        shutil.rmtree(folder)


def test_any_user_can_build_it_and_start_the_agent(nobodys_folder: Path) -> None:
    command = [*NO_CONTROL_GROUPS, *NOBODY, "env", "-i", "sh", "-e", "-c", BUILD]
    done = subprocess.run(command, cwd=nobodys_folder, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert f"\nwhyperf-agent {__version__}\n" in done.stdout
    sizes = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if line.startswith("localhost/"))
    # An agent of 15 MB, and a shell.
    assert {float(size.removesuffix(" MB")) <= 20 for size in sizes.values()} == {True}
    assert sizes.keys() == {"localhost/by-buildah", "localhost/by-podman"}


def test_the_agent_starts_by_exec(built: Containers) -> None:
    with built.idling("starts"):
        done = built.podman("exec", "--interactive", "starts", "sh", "-c", "whyperf-agent --version && uname -s")
    assert done.stdout == f"whyperf-agent {__version__}\nLinux\n"


def test_a_container_stops_when_asked(built: Containers) -> None:
    """Not only by SIGKILL after the time that engines grant."""
    with built.idling("stops"):
        built.podman("stop", "--time=20", "stops")
        done = built.podman("inspect", "stops", "--format={{.State.ExitCode}}")
    assert done.stdout.strip() == "0"
