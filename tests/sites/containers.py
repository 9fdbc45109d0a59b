"""Containers that idle, each in a network namespace that is there already, by podman with a store of its own.

Tests run where they may not make control groups or raise limits: on a host in a container, or one whose control groups
are of both versions. So containers have none, and low limits. The program that is called `podman`
here adds that; everything else of it is the distribution's.
"""

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from whyperf.run.agents.pipes import agent_binary

ROOT = Path(__file__).resolve().parents[2]
IMAGE = "localhost/whyperf-agent:test"
PROGRAMS = ("podman", "crun", "buildah", "busybox")
#: An unprivileged user who owns nothing.
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
#: Hides them; the command that follows sees none.
NO_CONTROL_GROUPS = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh")
WRAPPER = """#!/bin/sh
exec {without_groups} {podman} \\
    --root {store}/images --runroot {store}/run --tmpdir {store}/tmp \\
    --storage-driver vfs --cgroup-manager cgroupfs --events-backend none "$@"
"""


def missing() -> str | None:
    """Why there can be no containers; None where there can."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"needs {' and '.join(lacking)}" if lacking else None


def build_context(folder: Path) -> None:
    """Writes what the image is built from: the project's Containerfile, and the tree with this agent."""
    shutil.copy(ROOT / "packaging/agent.Containerfile", folder / "Containerfile")
    subprocess.run([ROOT / "packaging/agent-root", folder, agent_binary()], check=True)


@dataclass(frozen=True)
class Containers:
    """A store with the image, and the containers in it."""

    folder: Path

    @property
    def programs(self) -> Path:
        """The folder with the program `podman`, to be the first on PATH."""
        return self.folder / "bin"

    def podman(self, *arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs podman.

        Raises:
            AssertionError: it failed, and is not expected to.
        """
        command = [str(self.programs / "podman"), *map(str, arguments)]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0 or not check, f"{command}: {done.stderr}"
        return done

    @contextmanager
    def idling(
        self, name: str, netns: str | None = None, options: Sequence[str] = (), settings: Mapping[str, str] = {}
    ) -> Iterator[None]:
        """Starts a container, in a network namespace or without a network."""
        network = "none" if netns is None else f"ns:{netns}"
        # Podman asks for more than the test may have.
        limits = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024", "--cgroups=disabled")
        given = [f"--env={key}={value}" for key, value in settings.items()]
        self.podman(
            *("run", "--detach", "--name", name, f"--network={network}", *limits, "--read-only", "--tmpfs=/tmp"),
            *("--security-opt=no-new-privileges", *given, *options, IMAGE),
        )
        try:
            yield
        finally:
            self.podman("rm", "--force", "--time=1", name)


@contextmanager
def containers() -> Iterator[Containers]:
    """A store with the image, in a folder with a short name: sockets in it are named by their paths (unix(7))."""
    folder = Path(tempfile.mkdtemp(prefix="whyperf-podman-"))
    made = Containers(folder)
    try:
        for name in ("bin", "context", "images", "run", "tmp"):
            (folder / name).mkdir()
        wrapper = made.programs / "podman"
        wrapper.write_text(
            WRAPPER.format(without_groups=shlex.join(NO_CONTROL_GROUPS), podman=shutil.which("podman"), store=folder)
        )
        wrapper.chmod(0o755)
        build_context(folder / "context")
        made.podman("build", "--quiet", "--isolation=chroot", "--network=host", f"--tag={IMAGE}", folder / "context")
        yield made
    finally:
        # A container that a failed test has left holds mounts below the folder.
        if (made.programs / "podman").exists():
            made.podman("rm", "--force", "--all", "--time=0", check=False)
        shutil.rmtree(folder)
