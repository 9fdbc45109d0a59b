"""The agent as it is released, and the wheel: what is in it, and that it measures in an empty environment."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.packaging.release_files import MAX_AGENT_BYTES, ROOT, dist, version, wheel_name

#: Built with the flags of a release (scripts/flags.sh).
AGENT = Path(sys.executable).parent / "whyperf-agent"

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="wheels are made on x86_64")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel for this host."""
    folder = tmp_path_factory.mktemp("dist")
    dist(folder, "wheel")
    return folder / wheel_name("x86_64")


def test_all_versions_agree() -> None:
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    locked = {package["version"] for package in lock if package["name"].startswith("whyperf-")}
    assert {cargo, *locked} == {version()}


def test_the_agent_is_small_static_and_stripped() -> None:
    size = AGENT.stat().st_size
    assert size <= MAX_AGENT_BYTES, f"{size:,} bytes"
    printed = subprocess.run(["readelf", "-dSW", AGENT], capture_output=True, text=True, check=True).stdout
    assert "(NEEDED)" not in printed
    assert ".symtab" not in printed
    assert ".debug_info" not in printed


def test_the_agent_has_all_transports() -> None:
    printed = subprocess.run([AGENT, "doctor"], capture_output=True, text=True, check=True).stdout
    abilities = {ability["name"]: ability for ability in json.loads(printed)["abilities"]}
    assert abilities["udt_library"]["can"], abilities["udt_library"]["reason"]
    assert abilities["srt_library"]["can"], abilities["srt_library"]["reason"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_no_path_of_this_machine_is_in_the_wheel(wheel: Path) -> None:
    machines = {str(ROOT), str(Path.home() / ".cargo"), os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            assert [path for path in machines if path.encode() in content] == [], name


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_the_wheel_has_the_product_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    own = f"whyperf-{version()}"
    assert {name.split("/")[0] for name in names} == {"whyperf", f"{own}.data", f"{own}.dist-info"}
    assert [name for name in names if f"{own}.data/scripts/whyperf-lab" in name] == []


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_it_measures_after_its_installation(wheel: Path, tmp_path: Path) -> None:
    """Into an empty environment, with nothing of this tree; the package index has the libraries."""
    bare = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    # Where the index and its certificates are: what installers read.
    kept = {
        name: value for name, value in os.environ.items() if re.match(r"(?i)(pip|uv|ssl|requests|http|https|no)_", name)
    }
    environment = {**kept, **bare}
    programs = tmp_path / "venv/bin"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], env=environment, check=True)
    install = [str(programs / "pip"), "install", "--quiet", "--disable-pip-version-check", str(wheel)]
    done = subprocess.run(install, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    command = [str(programs / "whyperf"), "run", "-t", "1", "--json", "--report"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (cell,) = json.loads(done.stdout)["cells"]
    assert cell["goodput_bps"]["median"] > 1e8
    manifest = json.loads(next(tmp_path.glob("results/*/trials/001-c0001/manifest.json")).read_text())
    assert set(manifest["versions"].values()) == {version()}
    # Its charts need no package of the index.
    (page,) = tmp_path.glob("results/*/report.html")
    assert page.stat().st_size > 300_000
    assert list(programs.parent.glob("lib/*/site-packages/bokeh")) == []
