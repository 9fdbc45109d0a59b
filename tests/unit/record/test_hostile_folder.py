"""A result folder of somebody else: nothing in it leads out of it, hangs, or stops the experiment."""

import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.record.record_samples import PROFILE_TEXT, record, sample_plan
from whyperf.cli.workflows.watch import _refuse_used
from whyperf.explain.experiments.goals import Obstacle, refuse_unwritable
from whyperf.foreign import exchangeable, refuse_many_values
from whyperf.record import Experiment, RecordError, WrongFolderError
from whyperf.record import experiment as experiment_module
from whyperf.record.durable import write_file
from whyperf.record.export import copying, export_anonymized
from whyperf.record.lock import Lock
from whyperf.record.manifest import MAX_SHORT_VALUES, MIN_VALUE_BYTES, Manifest

PLAN = sample_plan()
TRIAL = next(iter(PLAN.trials())).id


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A folder of the user with files, which must stay as they are."""
    folder = tmp_path / "victim"
    folder.mkdir()
    for name in ("file", ".mine.partial"):
        (folder / name).write_text("precious")
    yield folder
    assert sorted(path.name for path in folder.iterdir()) == [".mine.partial", "file"]
    assert all(path.read_text() == "precious" for path in folder.iterdir())


@pytest.fixture
def result(tmp_path: Path) -> Path:
    """An experiment with one of its trials."""
    with Experiment.create(tmp_path / "sample", PLAN, PROFILE_TEXT) as experiment:
        record(experiment, TRIAL)
    return tmp_path / "sample"


def resume(folder: Path) -> Experiment:
    with Experiment.create(folder, PLAN, PROFILE_TEXT) as experiment:
        for trial in experiment.missing_trials():
            record(experiment, trial.id)
        assert experiment.missing_trials() == []
    return experiment


@pytest.mark.parametrize("name", [".report.html.partial", "report.html"])
def test_what_is_written_replaces_a_link_and_never_follows_it(result: Path, victim: Path, name: str) -> None:
    (result / name).symlink_to(victim / "file")
    write_file(result / "report.html", b"page")
    assert (result / "report.html").read_bytes() == b"page"
    assert not (result / "report.html").is_symlink()


@pytest.mark.root
def test_root_writes_into_no_result_of_another_user(result: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owner could put a link in its place meanwhile; the user who called sudo may do as he likes."""
    monkeypatch.delenv("SUDO_UID", raising=False)
    os.chown(result, 65534, -1)
    with pytest.raises(PermissionError, match=r"root writes nothing into a result of another user \(65534\); copy it"):
        write_file(result / "report.html", b"page", in_result=True)
    assert not (result / "report.html").exists()
    for name in ("SUDO_UID", "SUDO_GID"):
        monkeypatch.setenv(name, "65534")
    write_file(result / "report.html", b"page", in_result=True)
    assert (result / "report.html").read_bytes() == b"page"


@pytest.mark.root
@pytest.mark.parametrize("planted", ["result", "empty", "link"])
def test_root_measures_into_no_folder_of_another_user(
    result: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    """`link` is one of another user, to a folder of root's."""
    monkeypatch.delenv("SUDO_UID", raising=False)
    folder = result if planted == "result" else result.with_name(planted)
    if planted == "link":
        folder.symlink_to(result)
    else:
        folder.mkdir(exist_ok=True)
    os.chown(folder, 65534, -1, follow_symlinks=False)
    before = sorted(result.parent.rglob("*"))
    with pytest.raises(WrongFolderError, match=rf"/{folder.name} belongs to another user \(65534\), and root writes"):
        Experiment.create(folder, PLAN, PROFILE_TEXT)
    assert sorted(result.parent.rglob("*")) == before
    for name in ("SUDO_UID", "SUDO_GID"):
        monkeypatch.setenv(name, "65534")
    Experiment.create(folder, PLAN, PROFILE_TEXT).close()


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder below which a result is to be made."""
    folder = tmp_path / "shared"
    folder.mkdir()
    return folder


def copy(folder: Path, result: Path) -> None:
    export_anonymized(Experiment.open(result), folder)


@pytest.mark.root
@pytest.mark.parametrize("make", [lambda folder, _: resume(folder), copy, lambda folder, _: _refuse_used(folder)])
@pytest.mark.parametrize(
    ("mode", "owner", "group", "says"),
    [
        (0o755, 4711, 0, r"belongs to another user \(4711\)"),
        (0o1777, 4711, 0, r"belongs to another user \(4711\)"),
        (0o775, 0, 4711, r"can be changed by its group \(4711\)"),
    ],
)
def test_root_makes_no_folder_where_another_user_can_exchange_it(  # noqa: PLR0917 - a table
    shared: Path,
    result: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Path, Path], object],
    mode: int,
    owner: int,
    group: int,
    says: str,
) -> None:
    """Who called sudo is none; in a container the same variables name the user whose folder is mounted. No account here
    has these numbers.
    """
    monkeypatch.delenv("SUDO_UID", raising=False)
    shared.chmod(mode)
    os.chown(shared, owner, group)
    with pytest.raises(WrongFolderError, match=f"/shared {says}, who could exchange what is made there; name another"):
        make(shared / "results" / "sample", result)
    assert list(shared.iterdir()) == []
    for name in ("SUDO_UID", "SUDO_GID"):
        monkeypatch.setenv(name, "4711")
    make(shared / "results" / "sample", result)


@pytest.mark.root
@pytest.mark.parametrize(
    ("members", "others", "is_own"),
    [
        ([], [], True),
        (["me", "root"], [], True),
        (["me", "mallory"], [], False),
        ([], [4712], False),
        (["mallory"], [4712], False),
    ],
)
def test_the_group_of_who_called_sudo_is_his_own_without_other_members(
    shared: Path, monkeypatch: pytest.MonkeyPatch, members: list[str], others: list[int], *, is_own: bool
) -> None:
    """`others` are the accounts that have it as their primary group, too."""
    for name in ("SUDO_UID", "SUDO_GID"):
        monkeypatch.setenv(name, "4711")
    accounts = [
        SimpleNamespace(pw_name="root", pw_uid=0, pw_gid=0),
        SimpleNamespace(pw_name="me", pw_uid=4711, pw_gid=4711),
    ]
    accounts += [SimpleNamespace(pw_name="mallory", pw_uid=other, pw_gid=4711) for other in others]
    monkeypatch.setattr("pwd.getpwall", lambda: accounts)
    monkeypatch.setattr("grp.getgrgid", lambda _: SimpleNamespace(gr_mem=members))
    shared.chmod(0o775)
    os.chown(shared, 4711, 4711)
    refused = None if is_own else f"{shared} can be changed by its group (4711)"
    assert exchangeable(shared / "sample") == refused


@pytest.mark.parametrize("mode", [0o1777, 0o775, 0o700])
def test_a_folder_is_made_where_nobody_else_can_exchange_it(shared: Path, result: Path, mode: int) -> None:
    shared.chmod(mode)
    resume(shared / "results" / "sample")
    resume(shared / "results" / "sample")
    copy(shared / "results" / "copy", result)


def test_no_folder_is_made_where_every_user_can_exchange_it(shared: Path) -> None:
    shared.chmod(0o777)
    with pytest.raises(WrongFolderError, match="/shared can be changed by every user, who could exchange what is made"):
        Experiment.create(shared / "sample", PLAN, PROFILE_TEXT)
    assert list(shared.iterdir()) == []


def test_a_folder_that_every_user_can_change_gets_no_result(shared: Path) -> None:
    sample = shared / "sample"
    sample.mkdir()
    sample.chmod(0o777)
    with pytest.raises(WrongFolderError, match="/sample can be changed by every user, who could exchange what is made"):
        resume(sample)
    sample.chmod(0o755)
    resume(sample)


@pytest.mark.root
@pytest.mark.parametrize("link", ["link", "link/..", "inside/../link"])
def test_a_link_of_another_user_leads_to_no_result(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link: str
) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    shared.chmod(0o1777)
    for folder in (tmp_path / "elsewhere", shared / "inside"):
        folder.mkdir()
    (shared / "link").symlink_to("../elsewhere")
    resume(shared / link / "sample")
    os.chown(shared / "link", 65534, -1, follow_symlinks=False)
    assert exchangeable(shared / link / "sample") == f"{shared / 'link'} belongs to another user (65534)"
    # What the link leads to counts, too.
    os.chown(shared / "link", 0, -1, follow_symlinks=False)
    os.chown(tmp_path / "elsewhere", 65534, -1)
    assert exchangeable(shared / link / "sample") == f"{tmp_path / 'elsewhere'} belongs to another user (65534)"


def test_links_without_end_lead_nowhere(shared: Path) -> None:
    (shared / "link").symlink_to("link")
    assert exchangeable(shared / "link" / "sample") is None


@pytest.mark.root
def test_a_user_shares_a_folder_with_his_group_and_with_nobody_else(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    os.chown(shared, 1000, 100)
    shared.chmod(0o770)
    assert exchangeable(shared / "sample") is None
    shared.chmod(0o777)
    assert exchangeable(shared / "sample") == f"{shared} can be changed by every user"


@pytest.mark.root
def test_a_user_works_in_the_folder_of_a_colleague_and_takes_no_code_from_it(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    os.chown(shared, 1001, 1001)
    assert exchangeable(shared / "sample") is None
    assert exchangeable(shared / "cache", is_code=True) == f"{shared} belongs to another user (1001)"


@pytest.mark.root
@pytest.mark.parametrize("user", [0, 1000])
def test_the_owner_of_a_sticky_folder_can_exchange_what_is_in_it(
    shared: Path, monkeypatch: pytest.MonkeyPatch, user: int
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    shared.chmod(0o1777)
    for owner in (0, user):
        os.chown(shared, owner, -1)
        assert exchangeable(shared / "sample") is None
    os.chown(shared, 1001, -1)
    assert str(exchangeable(shared / "sample")).startswith(f"{shared} ")


def exchange(folder: Path, victim: Path) -> None:
    """Has another folder of the same name take the place of a new one, as the owner of the folder around it can."""
    folder.parent.rename(folder.parent.with_name("moved"))
    folder.parent.symlink_to(victim.parent)


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """A folder of the user with a file, of the name of the new folder."""
    folder = tmp_path / "srv" / "data"
    folder.mkdir(parents=True)
    (folder / "file").write_text("precious")
    yield folder
    assert (folder / "file").read_text() == "precious"


def test_what_takes_the_place_of_a_new_folder_is_not_removed(
    shared: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lock(folder: Path) -> Lock:
        exchange(folder, data)
        return Lock(folder)

    monkeypatch.setattr(experiment_module, "Lock", lock)
    with pytest.raises(WrongFolderError, match="has files that are not an experiment's"):
        Experiment.create(shared / "data", PLAN, PROFILE_TEXT)


def test_what_takes_the_place_of_an_empty_result_is_not_removed(shared: Path, data: Path) -> None:
    with Experiment.create(shared / "data", PLAN, PROFILE_TEXT) as experiment:
        exchange(experiment.folder, data)
        (data / "trials").mkdir()
        with pytest.raises(RecordError, match="another folder has taken its place"):
            experiment.discard_if_empty()


def test_what_takes_the_place_of_a_copy_is_not_removed(
    result: Path, shared: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Experiment, target: Path) -> None:
        exchange(target, data)
        raise RecordError("the disk is full")

    monkeypatch.setattr(copying, "_write", fail)
    with pytest.raises(RecordError, match="the disk is full"):
        copy(shared / "data", result)


@pytest.mark.root
def test_root_stores_no_experiments_in_a_folder_of_another_user(result: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owner knows the name that the experiments will have."""
    monkeypatch.delenv("SUDO_UID", raising=False)
    refuse_unwritable(result)
    os.chown(result.parent, 65534, -1)
    with pytest.raises(
        Obstacle, match=r"belongs to another user \(65534\), so root stores no experiments there\. Copy"
    ):
        refuse_unwritable(result)


@pytest.mark.parametrize("name", ["trials", "hosts", "set-aside"])
def test_no_link_is_followed_where_a_result_is_to_be_made(tmp_path: Path, victim: Path, name: str) -> None:
    folder = tmp_path / "sample"
    folder.mkdir()
    (folder / name).symlink_to(victim)
    with pytest.raises(RecordError, match=rf"cannot use .*/{name}: it is a symbolic link"):
        Experiment.create(folder, PLAN, PROFILE_TEXT)
    assert [path.name for path in folder.iterdir()] == [name]


def test_nothing_is_written_where_a_link_stands_for_the_result(result: Path, victim: Path) -> None:
    link = result.with_name("link")
    link.symlink_to(victim)
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        write_file(link / "file", b"page", in_result=True)


@pytest.mark.parametrize("target", ["nothing", "file", "."])
def test_links_in_the_place_of_partial_trials_do_not_stop_resuming(result: Path, victim: Path, target: str) -> None:
    missing = Experiment.open(result).missing_trials()[0].id
    (result / "trials" / f".{missing}.partial").symlink_to(victim / target)
    (result / ".plan.json.partial").symlink_to(victim / target)
    resume(result)


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to], ids=["symbolic", "hard"])
def test_the_lock_is_no_link_to_a_file_of_the_user(
    result: Path, victim: Path, link: Callable[[Path, Path], None]
) -> None:
    (result / ".lock").unlink()
    link(result / ".lock", victim / "file")
    with pytest.raises(RecordError, match=r"cannot lock .*/\.lock: .*remove"):
        Experiment.create(result, PLAN, PROFILE_TEXT)


@pytest.mark.parametrize("name", ["trials", "hosts", "set-aside"])
def test_a_folder_of_a_result_is_no_link(result: Path, victim: Path, name: str) -> None:
    if (result / name).exists():
        (result / name).rename(result.parent / "moved")
    (result / name).symlink_to(victim)
    for use in (Experiment.open, lambda folder: Experiment.create(folder, PLAN, PROFILE_TEXT)):
        with pytest.raises(RecordError, match=rf"cannot use .*/{name}: it is a symbolic link"):
            use(result)


def read_documents(folder: Path) -> None:
    experiment = Experiment.open(folder)
    assert experiment.profile_text == PROFILE_TEXT
    experiment.testbed()
    experiment.hosts()


def fifo(path: Path, _: Path) -> None:
    os.mkfifo(path)


def symlink(path: Path, victim: Path) -> None:
    path.symlink_to(victim / "file")


def device(path: Path, _: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path, _: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize("place", [fifo, symlink, device, huge])
@pytest.mark.parametrize("name", ["manifest.json", "intervals.far.parquet"])
def test_a_trial_with_what_is_no_file_is_damaged_and_made_again(
    result: Path, victim: Path, place: Callable[[Path, Path], None], name: str
) -> None:
    path = result / "trials" / TRIAL / name
    path.unlink()
    place(path, victim)
    (damaged,) = Experiment.open(result).trials().damaged
    assert damaged.trial == TRIAL
    assert name in damaged.reason
    assert resume(result).trials().damaged == []


def test_a_trial_with_many_values_is_damaged_before_it_is_read(result: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = result / "trials" / TRIAL / "manifest.json"
    text = path.read_text().replace("{", '{"more": [' + "[]," * 100_000 + "[]],", 1)
    path.write_text(text)
    monkeypatch.setattr(Manifest, "model_validate_json", pytest.fail)
    (damaged,) = Experiment.open(result).trials().damaged
    values = MAX_SHORT_VALUES + len(text) // MIN_VALUE_BYTES
    assert damaged.reason == f"its manifest is damaged: it has over {values:,} values"


@pytest.mark.parametrize(
    ("key", "more"),
    [
        ("hosts", {"near2": {"role": "sender"}}),
        ("lost_pairs", [{"pair": pair, "near": "a", "far": "b", "reason": "gone"} for pair in range(2)]),
    ],
)
def test_a_trial_of_more_hosts_than_the_plan_has_is_damaged(result: Path, key: str, more: Any) -> None:
    path = result / "trials" / TRIAL / "manifest.json"
    document = json.loads(path.read_text())
    document |= {"status": "failed", "reason": "gone"}
    path.write_text(json.dumps(document))
    assert Experiment.open(result).trials().damaged == []
    document[key] = {**document[key], **more} if isinstance(more, dict) else more
    path.write_text(json.dumps(document))
    (damaged,) = Experiment.open(result).trials().damaged
    assert damaged == Experiment.open(result).trial(TRIAL)
    assert damaged.reason == "it has more ends than the pairs of hosts in the plan"


def test_a_plan_that_could_not_be_read_again_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment_module, "refuse_many_values", partial(refuse_many_values, max_values=10))
    problem = r"^the plan is too large: it has over 10 values; measure fewer cells at once$"
    with pytest.raises(RecordError, match=problem):
        Experiment.create(tmp_path / "sample", PLAN, PROFILE_TEXT)
    assert not (tmp_path / "sample").exists()


def test_a_trial_that_is_a_link_is_damaged(result: Path) -> None:
    (result / "trials" / TRIAL).rename(result / "moved")
    (result / "trials" / TRIAL).symlink_to(result / "moved")
    (damaged,) = Experiment.open(result).trials().damaged
    assert "symbolic link" in damaged.reason


@pytest.mark.parametrize("place", [fifo, symlink, device, huge])
@pytest.mark.parametrize("name", ["plan.json", "profile.toml", "testbed.json", "hosts/near.json"])
def test_a_document_that_is_no_file_is_one_sentence(
    result: Path, victim: Path, place: Callable[[Path, Path], None], name: str
) -> None:
    (result / name).unlink(missing_ok=True)
    (result / name).parent.mkdir(exist_ok=True)
    place(result / name, victim)
    with pytest.raises(RecordError, match=rf"cannot read .*/{name}: it is (larger than|a symbolic link|not a plain)"):
        read_documents(result)


@pytest.mark.parametrize(("shared", "folder_mode", "file_mode"), [("", 0o700, 0o600), ("1", 0o755, 0o644)])
def test_results_are_for_their_owner_unless_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: str, folder_mode: int, file_mode: int
) -> None:
    monkeypatch.setenv("WHYPERF_SHARE_RESULTS", shared)
    before = os.umask(0o022)
    try:
        with Experiment.create(tmp_path / "results" / "sample", PLAN, PROFILE_TEXT) as experiment:
            record(experiment, TRIAL)
            experiment.write_host("near", {"hostname": "near"})
            write_file(experiment.folder / "report.html", b"page")
            with experiment.begin_pack() as pack:
                (pack.folder / "flows.near.parquet").write_bytes(b"table")
                pack.commit([])
    finally:
        os.umask(before)
    assert (tmp_path / "results").stat().st_mode & 0o777 == 0o755
    modes = {path: path.stat().st_mode & 0o777 for path in (experiment.folder, *experiment.folder.rglob("*"))}
    assert len(modes) >= 12
    assert {path: folder_mode if path.is_dir() else file_mode for path in modes} == modes


def test_a_link_that_the_user_names_is_followed_once(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere")
    with Experiment.create(tmp_path / "link", PLAN, PROFILE_TEXT) as made:
        assert made.folder == tmp_path / "elsewhere"
    assert Experiment.open(tmp_path / "link").plan.experiment == "elsewhere"
