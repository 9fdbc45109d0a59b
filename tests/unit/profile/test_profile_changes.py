"""Profiles with overrides, written as TOML and read again, and where profiles are found."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.profile.uperf.uperf_profiles import BULK, VARIABLES
from whyperf.profile import Profile, ProfileError, find, load, parse, shipped_names
from whyperf.profile.uperf.load import profile_of
from whyperf.profile.workload import load_workload
from whyperf.profile.write import as_toml

WHOLE = """
about = 'Quotes " and \\ and é'
seed = 7
[testbed]
kind = "veth"
[fixed]
read_size_bytes = "=write_size_bytes"
duration_s = 4
warmup_s = 1
[design]
trials = 3
pause_ms = 250
log_trials = 1
[workload]
name = "asks"
[[workload.group]]
[[workload.group.transaction]]
steps = [{ op = "write", size = 3 }, { op = "read", size = { low = 1, high = "4K" } }]
[schedule]
name = "own"
[[schedule.flow]]
start_s = 0.0
stop_s = 10.0
[[sweep]]
name = "one"
on = "hosts"
trials = 2
log_trials = 0
stage_trials = 1
exclude = [{ no_delay = true, connections = [1, 2] }]
[sweep.fixed]
window_bytes = 4096
[sweep.factors]
no_delay = [true, false]
connections = [1, 2, 3]
[[sweep]]
name = "two"
[sweep.factors]
write_size_bytes = { from = 512, to = 1024, step = 512 }
window_bytes = [4096, "default"]
"""
STOPPING = "[design]\ntrials_max = 9\ninterval_width = 0.1\nprofile_hz = 99\n[fixed]\ntransfer_bytes = 9\n"


def whole() -> Profile:
    return parse(WHOLE, name="whole", where="whole.toml")


def asked(profile: Profile) -> dict[str, Any]:
    """What a profile asks, without its text and what is made from it."""
    names = ("about", "seed", "kind", "fixed", "design", "sweeps", "fleet", "notes")
    found = {name: getattr(profile, name) for name in names}
    return found | {"workloads": sorted(profile.workloads), "schedules": sorted(profile.schedules)}


@pytest.mark.parametrize(
    ("given", "fixed", "first", "second"),
    [
        # Levels that are given, and what of them the profile fixes and its two sweeps vary.
        ({"window_bytes": 8192}, {"window_bytes": 8192}, {}, {}),
        ({"window_bytes": (1, 2)}, {}, {"window_bytes": (1, 2)}, {"window_bytes": (1, 2)}),
        # Each end of the load takes the place of the others.
        ({"transfer_bytes": 1024}, {"transfer_bytes": 1024, "duration_s": None, "warmup_s": None}, {}, {}),
        ({"transfer_bytes": "default"}, {"transfer_bytes": "default", "duration_s": 4.0}, {}, {}),
        ({"duration_s": 9.0}, {"duration_s": 9.0, "warmup_s": 1.0, "transfer_bytes": None}, {}, {}),
        ({"schedule": "mixed"}, {"schedule": "mixed", "duration_s": None, "warmup_s": None}, {}, {}),
        ({"schedule": "none"}, {"schedule": "none", "duration_s": 4.0}, {}, {}),
        ({"schedule": "mixed", "duration_s": 3.0}, {"duration_s": 3.0, "warmup_s": None}, {}, {}),
        ({"no_delay": False}, {"no_delay": False}, {"no_delay": None, "connections": (1, 2, 3)}, {}),
    ],
)
def test_overrides(given: Any, fixed: Any, first: Any, second: Any) -> None:
    changed = whole().with_overrides(given)
    levels: list[dict[str, Any]] = [{**changed.fixed}, *(sweep.levels for sweep in changed.sweeps)]
    for found, expected in zip(levels, (fixed, first, second), strict=True):
        assert {name: found.get(name) for name in expected} == expected
    assert not changed.sweeps[0].fixed.keys() & given.keys()
    assert changed.overrides == {name: "1,2" if level == (1, 2) else level for name, level in given.items()}
    by_bytes = parse(STOPPING, name="x", where="x").with_overrides({"duration_s": 3.0})
    assert by_bytes.fixed == {"duration_s": 3.0}


@pytest.mark.parametrize("given", [{}, {"window_bytes": (1, 2)}, {"no_delay": True}, {"schedule": "mixed"}], ids=str)
@pytest.mark.parametrize("text", [WHOLE, STOPPING, "", "about = 'x'\n[fixed]\nnear_cpus = '0-3'\n"])
def test_a_written_profile_asks_the_same(text: str, given: Any) -> None:
    profile = parse(text, name="x", where="x.toml").with_overrides(given)
    again = parse(as_toml(profile), name="x", where="x.toml")
    assert asked(again) == asked(profile)
    own = profile.workloads.get("asks")
    assert own is None or again.workloads["asks"].document({"connections": 2}) == own.document({"connections": 2})


@pytest.mark.parametrize("name", shipped_names())
def test_a_shipped_profile_asks_the_same_when_it_is_written(name: str) -> None:
    profile = find(name)
    assert profile.about.endswith((".", "?"))
    assert asked(parse(as_toml(profile), name=name, where="x.toml")) == asked(profile)


def test_a_workload_of_a_file_is_written_with_the_profile(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[[group]]\n[[group.transaction]]\nsteps = [{ op = "read", size = 3 }]\n')
    mine = load_workload(tmp_path / "mine.toml")
    again = parse(as_toml(find("quick").with_workload(mine)), name="x", where="x").workloads["mine"]
    assert again.document({"connections": 1}) == mine.document({"connections": 1})
    uperfs = profile_of(BULK, name="bulk", where="bulk.xml", environment=VARIABLES)
    with pytest.raises(ProfileError, match=r"bulk.xml: this is a profile of uperf, which has no form in TOML"):
        as_toml(uperfs)


def test_where_profiles_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text("about = 'Mine.'\n")
    Path("a b.toml").write_text("about = 'Mine.'\n")
    Path("empty.toml").write_text("\n")
    Path("bytes.toml").write_bytes(b"\xff\xfe\x00")
    Path("folder.toml").mkdir()
    assert [find(name).name for name in ("mine.toml", "./mine.toml", "demo")] == ["mine", "mine", "demo"]
    for name, says in (
        ("none.toml", "there is no such file; `whyperf list` names the shipped profiles"),
        ("folder.toml", "this is a folder; a profile is a TOML file: name one in it"),
        ("bytes.toml", "this is not a text file; a profile is TOML in UTF-8"),
        ("empty.toml", "the file is empty; a profile states factors, such as"),
        ("a b.toml", '"a b" cannot name results; rename the file to letters, digits, ".", "_", "-"'),
        ("window-swep", "there is no shipped profile of this name; did you mean window-sweep?"),
        ("mine", "there is no shipped profile of this name"),
    ):
        with pytest.raises(ProfileError) as caught:
            find(name)
        assert (caught.value.where, caught.value.problem[: len(says)]) == (name, says)
    with pytest.raises(ProfileError, match=r"folder.toml: cannot be read: "):
        load(Path("folder.toml"))
