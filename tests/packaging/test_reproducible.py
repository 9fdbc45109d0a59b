"""Two builds of one commit, in different folders, are the same byte by byte; and the files for aarch64 and Debian."""

import hashlib
import os
import platform
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.packaging.release_files import MAX_AGENT_BYTES, ROOT, dist, version, wheel_name

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="releases are made on x86_64"),
    pytest.mark.skipif(shutil.which("aarch64-linux-gnu-g++") is None, reason="needs scripts/packages dist"),
    # Two cold builds of the agent.
    pytest.mark.timeout(3600),
]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a release, made in this tree."""
    folder = tmp_path_factory.mktemp("here")
    dist(folder, "wheel", "deb", architectures="x86_64 aarch64")
    return folder


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 by file."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_a_build_elsewhere_makes_the_same_bytes(here: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "a-longer-path/than-the-first"
    subprocess.run(["git", "clone", "--quiet", ROOT, elsewhere], check=True)
    # uv and maturin are tools of the tree, too.
    if (ROOT / ".tools").exists():
        (elsewhere / ".tools").symlink_to(ROOT / ".tools")
    (tmp_path / "there").mkdir()
    target = {"CARGO_TARGET_DIR": str(tmp_path / "another-target")}
    dist(tmp_path / "there", "wheel", "deb", architectures="x86_64", tree=elsewhere, **target)
    of_there = {name: digest for name, digest in digests(tmp_path / "there").items() if name != "SHA256SUMS"}
    of_here = digests(here)
    assert len(of_there) == 3
    assert of_there == {name: of_here[name] for name in of_there}


@pytest.mark.skipif(shutil.which("qemu-aarch64-static") is None, reason="needs qemu-user-static")
def test_the_agent_for_aarch64_runs(here: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(here / wheel_name("aarch64")) as archive:
        binary = Path(archive.extract(f"whyperf-{version()}.data/scripts/whyperf-agent", tmp_path))
    binary.chmod(0o755)
    assert binary.stat().st_size <= MAX_AGENT_BYTES

    def printed(*arguments: str) -> str:
        command = ["qemu-aarch64-static", str(binary), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout

    assert printed("--version").strip() == f"whyperf-agent {version()}"
    printed("schema", "--out", str(tmp_path / "schemas"))
    for schema in (ROOT / "schemas").glob("*.json"):
        assert (tmp_path / "schemas" / schema.name).read_text() == schema.read_text()


def test_the_package_of_the_agent_is_one_program(here: Path) -> None:
    listed = subprocess.run(
        ["dpkg-deb", "--contents", here / f"whyperf-agent_{version()}_amd64.deb"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    programs = [line for line in listed.splitlines() if line.startswith("-rwx")]
    assert [line.split()[-1] for line in programs] == ["./usr/bin/whyperf-agent"]
    assert "root/root" in programs[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to build the image")
@pytest.mark.skipif(shutil.which("buildah") is None, reason="needs buildah")
def test_the_image_measures(here: Path) -> None:
    """The packages are installed in it."""
    dist(here, "image")
    image = here / f"whyperf-{version()}-image-amd64.tar"
    container = subprocess.run(
        ["buildah", "from", "--quiet", f"oci-archive:{image}"], capture_output=True, text=True, check=True
    ).stdout.strip()
    try:
        run = ["buildah", "run", "--isolation", "chroot", "--network", "host", container, "--"]
        command = [*run, "whyperf", "run", "-t", "1", "--no-report", "--testbed", "loopback"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "Goodput" in done.stdout
    finally:
        subprocess.run(["buildah", "rm", container], capture_output=True, check=True)
        subprocess.run(["buildah", "rmi", f"localhost/whyperf:{version()}"], capture_output=True, check=False)
