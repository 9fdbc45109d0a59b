"""What goes into the wheel beside the modules: the profiles, each linked by name, and the launcher."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "python/whyperf.data"


def test_every_profile_is_in_the_wheel() -> None:
    linked = {path.name: path.read_bytes() for path in (DATA / "data/share/whyperf/profiles").iterdir()}
    assert linked == {path.name: path.read_bytes() for path in (ROOT / "profiles").glob("*.toml")}


def test_the_launcher_takes_the_environments_python() -> None:
    # The installer replaces exactly this line (PEP 427).
    assert (DATA / "scripts/whyperf").read_text().splitlines()[0] == "#!python"
