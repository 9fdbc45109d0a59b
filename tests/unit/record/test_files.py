"""Files of a record: whole, as private as their folder, locked, named; and the sentences where the system refuses."""

import errno
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.unit.record.record_samples import PROFILE_TEXT, record, sample_plan
from whyperf.record import Experiment, RecordError, planned_folder, quick_folder
from whyperf.record.durable import partial_name, remove, remove_partial, write_file
from whyperf.record.errors import failure
from whyperf.record.kept import fingerprint_of, read_kept, write_kept
from whyperf.record.lock import Lock
from whyperf.record.seal import is_made_here, signature, write_seal


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own files, in a folder of this test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "whyperf"


@pytest.mark.parametrize(
    ("code", "action", "has_out", "advice"),
    [
        (errno.ENOSPC, "write", True, "; free some space and run the same command again: it resumes"),
        (errno.EDQUOT, "write", True, "; free some of the quota and run the same command again: it resumes"),
        (errno.EACCES, "write", True, "; choose another folder with --out"),
        (errno.EROFS, "write", True, "; choose another folder with --out"),
        # Another folder helps neither a reader nor a command without --out.
        (errno.EACCES, "read", True, ""),
        (errno.EACCES, "write", False, ""),
        (errno.EMFILE, "read", True, "; raise the limit of open files (ulimit -n)"),
        (errno.ELOOP, "read", True, "; remove the link, or copy what it leads to"),
        (errno.EFBIG, "write", True, "; raise the limit of file size (ulimit -f)"),
        (errno.EIO, "write", True, ""),
    ],
)
def test_a_failure_is_one_sentence_with_its_remedy(code: int, action: str, has_out: bool, advice: str) -> None:
    error = failure(action, Path("x"), OSError(code, "Reason."), has_out=has_out)
    assert str(error) == f"cannot {action} x: reason{advice}"


def test_a_file_is_replaced_whole_and_no_part_is_left(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_file(path, b"abc")
    write_file(path, b"de")
    assert path.read_bytes() == b"de"
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_file(tmp_path / "folder", b"x")
    partial_name(tmp_path / "y").write_text("half")
    (tmp_path / ".z.partial").mkdir()
    (tmp_path / ".z.partial/a").write_text("half")
    remove_partial(tmp_path)
    assert sorted(left.name for left in tmp_path.iterdir()) == ["folder", "x"]
    remove(tmp_path / "nothing")
    remove(tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_a_link_with_the_name_of_the_new_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    monkeypatch.setattr("whyperf.record.durable.partial_name", lambda _: tmp_path / "link")
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "new", b"content")
    assert not (tmp_path / "outside").exists()


def test_a_lock_is_one_process_and_names_it(tmp_path: Path) -> None:
    before = sorted(Path("/proc/self/fd").iterdir())
    with Lock(tmp_path):
        with pytest.raises(RecordError, match=rf"is being measured by process {os.getpid()}; wait until it ends"):
            Lock(tmp_path)
        (tmp_path / ".lock").write_text("no number\n")
        with pytest.raises(RecordError, match="is being measured by another process"):
            Lock(tmp_path)
    taken = Lock(tmp_path)
    taken.release()
    taken.release()
    # None is left open, and none of others is closed.
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_results_are_named_by_plan_or_time(tmp_path: Path) -> None:
    plan = sample_plan()
    assert planned_folder(plan) == Path("results") / f"sample-{plan.id[:6]}"
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    for suffix in ("", "-2", "-3"):
        folder = quick_folder(now, tmp_path)
        assert folder.name == f"quick-20260102-030405{suffix}"
        folder.mkdir()


def test_a_seal_holds_for_the_same_texts_host_and_key(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_made_here(tmp_path, "a", "b")
    write_seal(tmp_path, "a", "b")
    assert ((state / "key").stat().st_size, (state / "key").stat().st_mode & 0o777) == (32, 0o600)
    assert is_made_here(tmp_path, "a", "b")
    for texts in (("b", "a"), ("a",), ("ab",), ("a", "b", ""), ("a", "c")):
        assert not is_made_here(tmp_path, *texts)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("platform.node", lambda: "elsewhere")
        assert not is_made_here(tmp_path, "a", "b")
    (tmp_path / "seal").write_text("é")
    assert not is_made_here(tmp_path, "a", "b")
    write_seal(tmp_path, "a", "b")
    os.truncate(state / "key", 31)
    assert not is_made_here(tmp_path, "a", "b")


def test_without_a_place_for_the_key_nothing_is_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/x")
    write_seal(tmp_path, "a")
    assert signature("a") is None
    assert list(tmp_path.iterdir()) == []


def test_a_kept_document_counts_only_as_it_was_written(tmp_path: Path) -> None:
    path, document = tmp_path / "explain.json", {"a": [1, "é"], "b": None}
    assert read_kept(path, "print") is None
    write_kept(path, "print", document)
    assert read_kept(path, "print") == document
    assert read_kept(path, "other") is None
    whole = path.read_bytes()
    unsigned = whole.replace(whole[14:78], b"")
    for content in (b"", b"{}", b"[]", whole[1:], whole.replace(b": [", b":  ["), whole + b" ", whole[:-3], unsigned):
        path.write_bytes(content)
        assert read_kept(path, "print") is None


def test_the_fingerprint_follows_what_a_result_is_computed_from(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    with Experiment.create(folder, sample_plan(), PROFILE_TEXT) as experiment:
        record(experiment, "001-c0001")
        experiment.write_host("near", {"a": 1})
    trial = folder / "trials/001-c0001"
    seen = [fingerprint_of(folder)]
    # Of documents the content counts, even with the size and time of before.
    for path in (folder / "plan.json", folder / "profile.toml", folder / "hosts/near.json", trial / "manifest.json"):
        found, text = path.stat(), path.read_bytes()
        path.write_bytes(text[:-2] + b"  ")
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
        seen.append(fingerprint_of(folder))
    # Of tables, size and time.
    table = trial / "intervals.near.parquet"
    os.utime(table, ns=(1, 2))
    seen.append(fingerprint_of(folder))
    table.write_bytes(b"x")
    os.utime(table, ns=(1, 2))
    seen.append(fingerprint_of(folder))
    (folder / "testbed.json").write_text("{}")
    seen.append(fingerprint_of(folder))
    assert len(set(seen)) == len(seen)
    # What was computed from the record is none of it, and a link is none either.
    (folder / "report.html").write_text("x")
    (trial / "link.json").symlink_to("/dev/null")
    # A trial has no folders. Those of somebody else may be nested deeper than this process can follow.
    (trial / "deeper").mkdir()
    (trial / "deeper" / "facts.json").write_text("{}")
    assert fingerprint_of(folder) == seen[-1]
    folder.rename(tmp_path / "y")
    assert fingerprint_of(tmp_path / "y") != seen[-1]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_page_belongs_to_the_user_who_called_sudo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", "1234")
    monkeypatch.setenv("SUDO_GID", "5678")
    folder = tmp_path / "result"
    folder.mkdir(0o700)
    write_file(folder / "plan.json", b"plan")
    write_file(folder / "report.html", b"page", is_page=True)
    write_file(folder / "explain.json", b"later")
    found = {path.name: path.stat() for path in (folder, *folder.iterdir())}
    assert {name: (each.st_uid, each.st_gid, each.st_mode & 0o777) for name, each in found.items()} == {
        "result": (0, 5678, 0o710),
        "plan.json": (0, 0, 0o600),
        "report.html": (1234, 5678, 0o600),
        "explain.json": (0, 0, 0o600),
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("uid", [None, "", "0", "-1", "someone"])
def test_without_sudo_a_page_stays_with_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uid: str | None
) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.setenv("SUDO_GID", "5678")
    if uid is not None:
        monkeypatch.setenv("SUDO_UID", uid)
    tmp_path.chmod(0o700)
    write_file(tmp_path / "report.html", b"page", is_page=True)
    assert (tmp_path.stat().st_gid, tmp_path.stat().st_mode & 0o777) == (0, 0o700)
    assert (tmp_path / "report.html").stat().st_uid == 0
