"""What `--cluster` takes, and what it needs."""

import os
import shlex
import signal
import subprocess
import sys
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from whyperf.cluster import HERE, Choice, Kind, choice_of, connect, connected
from whyperf.cluster.connect import _load, _slurm_options
from whyperf.cluster.versions import own_versions, refuse_other, versions_of
from whyperf.record.costs import state_folder
from whyperf.run.errors import RunError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", HERE),
        ("local", Choice(Kind.LOCAL)),
        ("local:3", Choice(Kind.LOCAL, 3)),
        ("slurm:64", Choice(Kind.SLURM, 64)),
        ("tls://[2001:db8::1]:8786/", Choice(Kind.SCHEDULER, address="tls://[2001:db8::1]:8786")),
    ],
)
def test_where_to_work(text: str, expected: Choice) -> None:
    assert choice_of(text) == expected


@pytest.mark.parametrize(
    ("text", "expected", "remedy"),
    [
        ("kubernetes", Choice(Kind.KUBERNETES), "use slurm or a tls:// address"),
        ("kubernetes:2", Choice(Kind.KUBERNETES, 2), "use slurm or a tls:// address"),
        ("tcp://head:8786", Choice(Kind.SCHEDULER, address="tcp://head:8786"), "use a tls:// address"),
        ("ws://head:8786", Choice(Kind.SCHEDULER, address="ws://head:8786"), "use a tls:// address"),
    ],
)
def test_a_scheduler_without_keys_is_taken_only_if_the_user_says_so(text: str, expected: Choice, remedy: str) -> None:
    with pytest.raises(RunError) as caught:
        choice_of(text)
    reason = "has no keys, so that everybody who reaches its port can run commands on the workers and on this host"
    assert str(caught.value) == f"--cluster {text} {reason}; {remedy}, or accept it by --cluster-without-keys"
    assert choice_of(text, without_keys=True) == expected


@pytest.mark.parametrize("text", ["none", "local", "slurm:2", "tls://head:8786"])
def test_the_option_is_refused_where_there_are_keys(text: str) -> None:
    with pytest.raises(RunError, match=r"--cluster-without-keys is for kubernetes and tcp://; leave it out"):
        choice_of(text, without_keys=True)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "is not known"),
        ("scheduler", "is not known"),
        ("none:2", "is not known"),
        ("head:8786", "tls://host:8786"),
        ("http://head", "is not known"),
        ("local:", '"" is no number'),
        ("local:0", '"0" is no number'),
        ("slurm:-1", '"-1" is no number'),
        ("slurm:10001", "from 1 to 10000"),
    ],
)
def test_what_is_no_place_to_work_is_named(text: str, named: str) -> None:
    with pytest.raises(RunError, match=named.replace(".", r"\.")):
        choice_of(text)


@pytest.mark.parametrize(
    ("choice", "module", "extra"),
    [
        ("local", "distributed", "whyperf[cluster]"),
        ("slurm", "dask_jobqueue", "whyperf[slurm]"),
        ("local", "cryptography", "whyperf[cluster]"),
        ("kubernetes", "dask_kubernetes", "whyperf[kubernetes]"),
    ],
)
def test_a_package_that_is_missing_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, choice: str, module: str, extra: str
) -> None:
    import_module("distributed")
    monkeypatch.setitem(sys.modules, module, None)
    asked = choice_of(choice, without_keys=choice == "kubernetes")
    with pytest.raises(RunError) as caught, connected(asked, print):
        pass
    name = module.replace("_", "-")
    assert str(caught.value) == f"--cluster needs the package {name}; install {extra}"


def test_a_scheduler_with_keys_needs_them(tmp_path: Path) -> None:
    import dask  # noqa: PLC0415 - loads for a second

    where = r"the Dask configuration \(distributed.comm.tls: ca-file, client.cert, client.key\)"
    with (
        pytest.raises(RunError, match=rf"^tls://h:1 needs keys; name their files in {where}$"),
        connected(choice_of("tls://h:1"), print),
    ):
        pass
    (tmp_path / "empty").touch()
    files = {name: str(tmp_path / "empty") for name in ("ca-file", "client.cert", "client.key")}
    with (
        dask.config.set({f"distributed.comm.tls.{name}": file for name, file in files.items()}),
        pytest.raises(RunError, match=rf"^the keys for tls://h:1 cannot be used \(.*\); correct {where}$"),
        connected(choice_of("tls://h:1"), print),
    ):
        pass


@pytest.mark.parametrize(
    "configured",
    [{}, {"interface": None}, {"interface": "eth0", "scheduler-options": {"host": "0.0.0.0"}}],
)
def test_slurm_needs_an_interface(configured: dict[str, Any]) -> None:
    import dask  # noqa: PLC0415 - as above

    # Brings its own settings, which would come over ours.
    _load("dask_jobqueue", "slurm")
    with (
        dask.config.set({f"jobqueue.slurm.{name}": value for name, value in configured.items()}),
        pytest.raises(RunError, match=r"^--cluster slurm listens on one interface, the one that the nodes reach; name"),
        connected(choice_of("slurm"), print),
    ):
        pass


@pytest.mark.parametrize(
    ("configured", "started"),
    [(None, f"{shlex.quote(sys.executable)} -P"), ("apptainer exec image python3", "apptainer exec image python3 -P")],
)
def test_a_job_of_slurm_imports_nothing_from_its_folder(configured: str | None, started: str) -> None:
    import dask  # noqa: PLC0415 - as above

    _load("dask_jobqueue", "slurm")
    with dask.config.set({"jobqueue.slurm.interface": "lo", "jobqueue.slurm.python": configured}):
        assert _slurm_options()["python"] == started


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for /tmp, where another user may have made Dask's folder."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_the_scheduler_of_local_workers_imports_nothing_from_a_shared_folder(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: started(["true"]))
    before = [*sys.path]
    with ExitStack() as ending:
        connect._local(ending, 1)
        added = [path for path in sys.path if path not in before]
        assert [Path(path).is_relative_to(state_folder()) for path in added] == [True]
    assert [*shared.iterdir()] == []


@pytest.mark.parametrize(
    ("configured", "expected"),
    [({}, None), ({"local_directory": "/scratch/me"}, "/scratch/me")],
)
def test_the_scheduler_of_slurm_workers_has_a_folder_of_the_user(
    configured: dict[str, str], expected: str | None
) -> None:
    import dask  # noqa: PLC0415 - as above

    _load("dask_jobqueue", "slurm")
    with dask.config.set({"jobqueue.slurm.interface": "lo", "jobqueue.slurm.scheduler-options": configured}):
        options = _slurm_options()["scheduler_options"]
    assert options["local_directory"] == (expected or str(state_folder() / "workers"))


def job_script(configured: dict[str, Any], folder: Path) -> str:
    """As dask-jobqueue hands it in, with this Dask configuration."""
    import dask  # noqa: PLC0415 - as above

    slurm = _load("dask_jobqueue.slurm", "slurm")
    base = {"interface": "lo", "cores": 1, "memory": "1GB", "shared-temp-directory": str(folder)}
    with dask.config.set({f"jobqueue.slurm.{name}": value for name, value in base.items()} | configured):
        options = _slurm_options()
        of_job = {name: options[name] for name in options if not name.startswith(("scheduler", "security"))}
        return str(slurm.SLURMJob("tls://head:8786", name="w", **of_job).job_script())


#: In place of the worker: it prints where its folder is, who can enter it, and what it is.
WORKER = 'worker() { for last; do [ "$before" = --local-directory ] && stat -c "%n %a %F" $last; before=$last; done; }'


def run_of_job(folder: Path, *prologue: str, **configured: Any) -> "subprocess.CompletedProcess[str]":
    """A job that `WORKER` runs in, with its TMPDIR."""
    names = {"python": "worker", "job-script-prologue": [WORKER, *prologue], **configured}
    script = job_script({f"jobqueue.slurm.{name}": value for name, value in names.items()}, folder)
    environment = os.environ | {"TMPDIR": str(folder), "whyperf_folder": str(folder)}
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, env=environment)


def test_a_job_of_slurm_makes_a_folder_for_its_worker_and_removes_it(tmp_path: Path) -> None:
    done = run_of_job(tmp_path)
    folder, mode, kind = done.stdout.rstrip().split(" ", 2)
    assert (Path(folder).parent, mode, kind) == (tmp_path, "700", "directory"), done.stderr
    assert [*tmp_path.iterdir()] == []


def test_a_job_without_its_temporary_folder_makes_one_below_tmp(tmp_path: Path) -> None:
    done = run_of_job(tmp_path, f"TMPDIR={tmp_path}/gone")
    folder, mode, _ = done.stdout.split(" ", 2)
    assert (folder.startswith("/tmp/whyperf."), mode, Path(folder).exists()) == (True, "700", False), done.stderr


def test_the_prologue_of_the_user_comes_before_the_folder_is_made_and_its_trap_stays(tmp_path: Path) -> None:
    done = run_of_job(tmp_path, "mkdir $TMPDIR/own; TMPDIR=$TMPDIR/own", "trap 'echo cleaned up' EXIT")
    folder, cleaned = done.stdout.splitlines()
    assert (folder.startswith(f"{tmp_path}/own/"), cleaned) == (True, "cleaned up")


def test_a_job_that_ends_early_removes_nothing_of_the_user(tmp_path: Path) -> None:
    done = run_of_job(tmp_path, "exit 3")
    assert (done.returncode, done.stdout, tmp_path.is_dir()) == (3, "", True)


@pytest.mark.parametrize(
    ("configured", "option"),
    [
        ({"jobqueue.slurm.local-directory": "/scratch/me"}, "--local-directory /scratch/me"),
        ({"temporary-directory": "/scratch/me"}, None),
    ],
)
def test_a_folder_that_the_user_names_for_workers_of_slurm_is_taken(
    configured: dict[str, Any], option: str | None, tmp_path: Path
) -> None:
    script = job_script({"jobqueue.slurm.env-extra": None, **configured}, tmp_path)
    assert ("mktemp" in script, "--local-directory" in script) == (False, option is not None)
    assert option is None or option in script


@pytest.mark.filterwarnings("ignore:env_extra has been renamed:FutureWarning")
def test_a_prologue_of_the_older_name_stays(tmp_path: Path) -> None:
    assert "\nmodule load whyperf\n" in job_script({"jobqueue.slurm.env-extra": ["module load whyperf"]}, tmp_path)


@pytest.mark.parametrize("kind", ["local:1", "slurm"])
@pytest.mark.parametrize(
    ("state", "reason"),
    [("open", "/open can be changed by every user"), ("file", "/file/whyperf/workers: Not a directory")],
)
def test_a_scheduler_without_a_folder_of_the_user_is_refused(
    kind: str, state: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dask  # noqa: PLC0415 - as above

    _load("dask_jobqueue", "slurm")
    (tmp_path / "file").touch()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / state))
    with (
        dask.config.set({"jobqueue.slurm.interface": "lo"}),
        pytest.raises(RunError, match=rf"^Dask has no folder of yours alone \(.*{reason}\); name another one by XDG"),
        connected(choice_of(kind), print),
    ):
        pass


def test_ctrl_c_goes_on_to_interrupt_where_slurm_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("dask_jobqueue")]:
        monkeypatch.delitem(sys.modules, name)
    before = signal.getsignal(signal.SIGINT)
    _load("dask_jobqueue", "slurm")
    assert signal.getsignal(signal.SIGINT) is before


def reported(**changed: str | None) -> dict[str, Any]:
    """As Dask reports this host's versions, with changes."""
    own = own_versions()
    packages: dict[str, str | None] = {name: own[name] for name in own if name != "Python"}
    python = changed.pop("python", f"{own['Python']}.4.final.0")
    return {"host": {"python": python}, "packages": packages | changed}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"python": "3.9.1.final.0"}, "the worker tcp://w:1 has Python 3.9, and this host"),
        ({"polars": "0.1"}, "has polars 0.1, and this host"),
        ({"whyperf": None}, "has no whyperf, and this host"),
    ],
)
def test_a_worker_that_differs_is_named_with_both_versions(changed: dict[str, str | None], named: str) -> None:
    with pytest.raises(RunError, match=named):
        refuse_other("tcp://w:1", versions_of(reported(**changed)), own_versions())
