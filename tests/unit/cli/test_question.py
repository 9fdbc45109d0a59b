"""What the argument of `run` means."""

import re
from pathlib import Path

import pytest

from whyperf.cli.exits import UsageError
from whyperf.cli.inputs.question import understand, with_workload
from whyperf.profile import ProfileError, find
from whyperf.run import RunError


def test_a_shipped_name_and_a_path_are_profiles(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('about = "Mine."\n')
    assert understand("window-sweep", None)[0].name == "window-sweep"
    assert understand(str(tmp_path / "mine.toml"), "host7")[0].name == "mine"


@pytest.mark.parametrize(("name", "kind"), [("rr", "workload"), ("demo", "profile")])
def test_what_is_shipped_comes_before_a_file_or_folder_of_its_name(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    usual = understand(name, None)
    assert capsys.readouterr().err == ""
    (tmp_path / name).mkdir()
    assert understand(name, None) == usual
    hint = f"{name} means the shipped {kind}; for the folder of that name give ./{name}\n"
    assert capsys.readouterr().err == hint
    (tmp_path / name / "plan.json").write_text("{}")
    assert understand(name, None) == usual
    with pytest.raises(UsageError, match=f"./{name} holds results"):
        understand(f"./{name}", None)


def test_a_host_comes_before_a_file_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "host7").write_text("x")
    assert understand("host7", None)[1] == "host7"
    assert capsys.readouterr().err == "host7 means a host; for the file of that name give ./host7\n"


def test_a_file_of_another_kind_is_no_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.json").touch()
    with pytest.raises(
        UsageError, match=r"empty.json is a file that whyperf cannot measure with; .* --host empty.json"
    ):
        understand("empty.json", None)
    assert understand(None, "empty.json")[1] == "empty.json"


@pytest.mark.parametrize("host", ["user@host7.example.org", "fe80::1%eth0", "[::1]"])
def test_anything_else_is_a_host_for_the_quick_profile(host: str) -> None:
    profile, found = understand(host, None)
    assert (profile.name, found) == ("quick", host)


def test_a_misspelled_profile_is_not_taken_for_a_host() -> None:
    with pytest.raises(UsageError, match=r"did you mean window-sweep\? \(a host of that name: --host windowsweep\)"):
        understand("windowsweep", None)
    assert understand(None, "windowsweep")[1] == "windowsweep"


@pytest.mark.parametrize("host", ["-oProxyCommand=touch x", "", "host;reboot", "$(id)"])
def test_what_ssh_could_take_for_something_else_is_refused(host: str) -> None:
    with pytest.raises(RunError, match="cannot be a host"):
        understand(None, host)


def test_a_folder_is_neither_profile_nor_host_unless_named_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "profiles").mkdir()
    with pytest.raises(UsageError, match=r"profiles is a folder; .* \(a host of that name: --host profiles\)"):
        understand("profiles", None)
    assert understand(None, "profiles")[1] == "profiles"


WORKLOAD = """
about = "Asks."
[[group]]
[[group.transaction]]
steps = [{ op = "write", size = 1 }, { op = "think", time = "=think_us" }]
"""


def test_a_file_with_a_workload_is_one(tmp_path: Path) -> None:
    (tmp_path / "ask.toml").write_text(WORKLOAD)
    profile, host = understand(str(tmp_path / "ask.toml"), "host7")
    assert (profile.name, profile.about, host) == ("quick", "Asks.", "host7")
    assert profile.overrides == {"workload": "ask"}


@pytest.mark.parametrize(("name", "hint"), [("rrr", "did you mean rr?"), ("nosuch", "known: bidirectional, burst")])
def test_a_workload_that_is_not_there_is_the_options_mistake(name: str, hint: str) -> None:
    with pytest.raises(ProfileError, match=f'^--workload: there is no workload "{name}"; {re.escape(hint)}'):
        with_workload(find("quick"), name)


def test_a_schedule_is_not_taken_for_a_host() -> None:
    with pytest.raises(
        UsageError, match=r"`whyperf run --set schedule=seven-regions` \(a host .* --host seven-regions\)"
    ):
        understand("seven-regions", None)
    assert understand(None, "seven-regions")[1] == "seven-regions"
