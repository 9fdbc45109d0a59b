"""What `--cluster` takes, and what it needs."""

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
