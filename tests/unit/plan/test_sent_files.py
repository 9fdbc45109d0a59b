"""Files that workloads send: only those below the folder of the profile, or of an option."""

from pathlib import Path

import pytest

from tests.unit.record.record_samples import PROFILE_TEXT
from whyperf.cli.exits import UsageError
from whyperf.cli.workflows import why_question
from whyperf.cli.workflows.made_elsewhere import refuse_other_files as refuse_files_of_others
from whyperf.cli.workflows.made_elsewhere import refuse_variables
from whyperf.explain.causes import Cause
from whyperf.explain.experiments.goals import RATE, First
from whyperf.explain.experiments.question import question_of
from whyperf.explain.experiments.tries import Planned
from whyperf.explain.explanation import CellExplanation
from whyperf.plan import LOCAL, Plan, announcements, build, own_folders, refuse_other_files, sent_files
from whyperf.profile import ProfileError, find, parse
from whyperf.record import Experiment

SENDING = """
[workload]
name = "files"
[[workload.group]]
name = "g"
connected = true
[[workload.group.transaction]]
name = "t"
steps = [{{ op = "sendfile", files = {files} }}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a profile's files, next to one with a secret."""
    for name in ("own/a", "own/sub/b", "own/.ssh/id", "other/secret"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("content")
    (tmp_path / "own" / "link").symlink_to(tmp_path / "other" / "secret")
    (tmp_path / "own" / "linked").symlink_to(tmp_path / "other")
    return tmp_path


def planned(folder: Path, *files: str) -> tuple[Plan, list[Path]]:
    """The plan of a profile that sends the files, and the folders of the profile."""
    (folder / "own" / "p.toml").write_text(SENDING.format(files=list(files)))
    profile = find(str(folder / "own" / "p.toml"))
    return build(profile, target="far7", near=(LOCAL, "near8")), own_folders(profile)


def test_files_below_the_folder_of_the_profile_are_sent_and_named(folder: Path) -> None:
    plan, own = planned(folder, "a", "sub/b", "a")
    refuse_other_files(plan, own)
    named = f"{folder}/own/a, {folder}/own/sub/b"
    assert announcements(plan) == [f"The workload sends files of this host, near8 to far7: {named}"]


@pytest.mark.parametrize(
    ("file", "sent", "reason"),
    [
        ("../other/secret", "other/secret", "not below the folder of the profile"),
        ("sub/../../other/secret", "other/secret", "not below the folder of the profile"),
        ("link", "other/secret", "not below the folder of the profile"),
        ("linked/secret", "other/secret", "not below the folder of the profile"),
        (".ssh/id", "own/.ssh/id", "a hidden file, or in a hidden folder"),
    ],
)
def test_other_files_are_refused_with_the_option_that_allows_them(
    folder: Path, file: str, sent: str, reason: str
) -> None:
    plan, own = planned(folder, "a", file)
    path = folder / sent
    with pytest.raises(ProfileError) as caught:
        refuse_other_files(plan, own)
    option = f"--files-below {path.parent}"
    assert str(caught.value) == f"the workload sends {path}, which is {reason}; if it may leave, add {option}"
    refuse_other_files(plan, [*own, path.parent])


def test_a_file_is_named_by_its_whole_path(folder: Path) -> None:
    plan, own = planned(folder, str(folder / "other" / "secret"))
    assert sent_files(plan) == [folder / "other" / "secret"]
    with pytest.raises(ProfileError):
        refuse_other_files(plan, own)


def test_a_workload_in_a_file_of_its_own_sends_what_is_below_its_folder(folder: Path) -> None:
    text = SENDING.format(files=["a"]).replace('[workload]\nname = "files"\n', "").replace("workload.", "")
    (folder / "own" / "w.toml").write_text(text)
    from whyperf.cli.inputs.question import with_workload  # noqa: PLC0415 - loads the commands

    profile = with_workload(find("quick"), str(folder / "own" / "w.toml"))
    assert own_folders(profile) == [folder / "own"]
    refuse_other_files(build(profile, target="testbed"), own_folders(profile))


def test_a_folder_of_uperf_is_allowed_by_the_option_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("dir", str(folder / "other"))
    (folder / "own" / "p.xml").write_text(
        '<?xml version="1.0"?>\n<profile name="files">\n<group nthreads="1">\n'
        '<transaction iterations="1">\n<flowop type="connect" options="remotehost=127.0.0.1 protocol=tcp"/>\n'
        '</transaction>\n<transaction iterations="1">\n<flowop type="sendfile" options="dir=$dir"/>\n'
        "</transaction>\n</group>\n</profile>\n"
    )
    profile = find(str(folder / "own" / "p.xml"))
    plan = build(profile, target="testbed")
    with pytest.raises(ProfileError, match="--files-below"):
        refuse_other_files(plan, own_folders(profile))
    refuse_other_files(plan, [folder / "other"])


def test_what_sends_no_file_is_not_announced() -> None:
    assert announcements(build(find("quick"), target="testbed")) == []


def test_variables_of_the_environment_are_named_without_their_values(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("secret_number", "4711")
    (folder / "own" / "p.xml").write_text(
        '<?xml version="1.0"?>\n<profile name="p">\n<group nthreads="1">\n<transaction iterations="1">\n'
        '<flowop type="connect" options="remotehost=h protocol=tcp"/>\n</transaction>\n'
        '<transaction iterations="1">\n<flowop type="write" options="size=$secret_number"/>\n</transaction>\n'
        "</group>\n</profile>\n"
    )
    plan = build(find(str(folder / "own" / "p.xml")), target="testbed")
    said = "The profile takes values of the environment: $secret_number; the hosts and the result get them"
    assert announcements(plan) == [said]


def test_many_files_and_hosts_are_counted(folder: Path) -> None:
    names = [f"n{number:02}" for number in range(30)]
    for name in names:
        (folder / "own" / name).write_text("content")
    plan, _ = planned(folder, *names)
    (sentence,) = announcements(plan)
    assert sentence.endswith(f"{folder}/own/n19, and 10 more below {folder}/own")


def test_experiments_name_the_variables_and_send_none_for_a_result_of_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http-user-word")
    profile = parse(
        '<?xml version="1.0"?>\n<profile name="p">\n<group name="$http_proxy" nthreads="1">\n'
        '<transaction iterations="1">\n<flowop type="connect" options="remotehost=h protocol=tcp"/>\n</transaction>\n'
        '<transaction duration="1s">\n<flowop type="write" options="size=64"/>\n</transaction>\n</group>\n</profile>\n',
        name="p",
        where="p.xml",
    )
    plan = build(profile, target="far7")
    _, made = question_of(profile, plan, plan.cells[0], [Planned("other", {"no_delay": False}, (Cause.POLICER,))], None)
    assert "http-user-word" in made.to_json()
    said = "The profile takes values of the environment: $http_proxy; the hosts and the result get them"
    assert announcements(made) == [said]
    with Experiment.create(folder / "result", plan, profile.text):
        pass
    refuse_variables(Experiment.open(folder / "result"), made)
    (folder / "result" / "seal").unlink()
    refuse_variables(Experiment.open(folder / "result"), build(find("quick"), target="far7"))
    # There is no question that could be measured, or announced as if it were.
    found = CellExplanation(
        cell=plan.cells[0].id, trial=None, rate_bps=None, dominant_state=None, missing=[], budgets=[], patterns=[],
        verdicts=[], headline="",
    )  # fmt: skip
    here = {"hostname": "here", "cpu_model": "a CPU"}
    monkeypatch.setattr(why_question, "describe_host", lambda _: here)
    monkeypatch.setattr(Experiment, "hosts", lambda _: {"near": here})
    said = r"was changed since, and measuring it again sends \$http_proxy of the environment; measure"
    look = why_question.FirstLook(None, [], RATE, First(None, "bit/s"))
    with pytest.raises(UsageError, match=said):
        why_question.question_about(
            Experiment.open(folder / "result"), found, look, 1.0, allows_harm=False, profile=profile
        )


def test_experiments_with_a_result_of_others_send_no_file(folder: Path) -> None:
    plan, _ = planned(folder, "a")
    with Experiment.create(folder / "result", plan, PROFILE_TEXT):
        pass
    refuse_files_of_others(Experiment.open(folder / "result"), plan)
    other, _ = planned(folder, "../other/secret")
    with pytest.raises(UsageError, match=r"measuring it again sends .*other/secret; measure"):
        refuse_files_of_others(Experiment.open(folder / "result"), other)
    (folder / "result" / "seal").unlink()
    with pytest.raises(
        UsageError, match=r"was not made here, or was changed since, and measuring it again sends .*own/a"
    ):
        refuse_files_of_others(Experiment.open(folder / "result"), plan)
