"""Connects to the workers that `--cluster` names, and starts and ends those that are ours.

A scheduler or worker that is started here takes peers with the keys of this run only, listens on one interface, and has
no HTTP server.
"""

import logging
import os
import re
import shlex
import signal
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from whyperf.cluster.choice import DEFAULT_WORKERS, HERE, SCHEMES_WITH_KEYS, Choice, Kind
from whyperf.cluster.versions import PACKAGES, own_versions, refuse_other, versions_of
from whyperf.cluster.workers import Workers
from whyperf.foreign import exchangeable
from whyperf.own_python import SAFE_PATH, own_environment, own_python
from whyperf.record.costs import state_folder
from whyperf.run.errors import Fault, RunError

if TYPE_CHECKING:
    from distributed import Client, Security
    from distributed.client import VersionsDict

#: A scheduler answers within that, on any network.
CONNECT_S = 10.0
#: Workers that somebody else started are there, or are about to be.
WORKERS_S = 30.0
#: A local worker loads within a second or two on an idle host.
LOCAL_WORKERS_S = 120.0
END_S = 5.0
POLL_S = 0.2

LOOPBACK = "127.0.0.1"
WORKER_CLASS = ("--no-dashboard", "--worker-class", "whyperf.cluster.without_http.Worker")
#: Addresses that stand for all interfaces.
EVERYWHERE = frozenset({"", "0.0.0.0", "::", "[::]", "*"})

FOLDER_OF_JOB = '"$whyperf_folder"'
"""As the shell of a job reads it."""
BEFORE_PROLOGUE = ("whyperf_folder=", f"trap 'rm -rf -- {FOLDER_OF_JOB}' EXIT")
"""The prologue of the user may have a trap of its own, and set TMPDIR."""
#: The TMPDIR of a job may be that of another host.
BEHIND_PROLOGUE = ("whyperf_folder=$(mktemp -d || mktemp -d /tmp/whyperf.XXXXXX) || exit",)

#: Package and class that start workers, and what pip calls the extra of whyperf that has them.
BATCH = {
    Kind.SLURM: ("dask_jobqueue", "SLURMCluster"),
    Kind.KUBERNETES: ("dask_kubernetes.operator", "KubeCluster"),
}


@contextmanager
def connected(choice: Choice, say: Callable[[str], None]) -> Iterator[Workers | None]:
    """The workers, or None for `HERE`; those that were started here end with the block. `say` gets a line where workers
    are waited for.

    Raises:
        RunError: a package is missing, the scheduler cannot be reached or has no workers, or a worker has other
            versions.
    """
    if choice == HERE:
        yield None
        return
    _load("distributed", "cluster")
    if os.environ.get("WHYPERF_DEBUG", "") in {"", "0"}:
        # What matters of their warnings becomes an error here.
        for name in ("distributed", "tornado.application", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    with ExitStack() as ending:
        match choice.kind:
            case Kind.SCHEDULER:
                where = choice.address
                client = _client(ending, choice.address, _keys_of_user(choice.address))
                _await_workers(client, where, WORKERS_S)
            case Kind.LOCAL:
                where = "the local cluster"
                client = _client(ending, *_local(ending, choice.workers or _cpus()))
                _await_workers(client, where, LOCAL_WORKERS_S, at_least=choice.workers or _cpus())
            case Kind.SLURM | Kind.KUBERNETES:
                where = str(choice.kind).capitalize()
                cluster = _batch(choice.kind, choice.workers or DEFAULT_WORKERS)
                ending.callback(cluster.close)
                client = _client(ending, cluster)
                say(f"Waiting for a worker of {choice.workers or DEFAULT_WORKERS} that {where} was asked for")
                _await_workers(client, where, None, cluster=cluster)
            case _:
                raise ValueError(choice.kind)
        _refuse_other_workers(client)
        yield Workers(client, where, can_wait=choice.kind in BATCH)


def _load(package: str, extra: str) -> Any:
    """A package of one of whyperf's extras. Ctrl-C goes on to do what it did: to load dask-jobqueue has it end Python.

    Raises:
        RunError: it is missing.
    """
    on_interrupt = signal.getsignal(signal.SIGINT)
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if not package.startswith(str(error.name)):
            raise
        name = str(error.name).partition(".")[0].replace("_", "-")
        raise RunError(f"--cluster needs the package {name}; install whyperf[{extra}]", Fault.USAGE) from None
    finally:
        if signal.getsignal(signal.SIGINT) is not on_interrupt:
            signal.signal(signal.SIGINT, on_interrupt)


def _client(ending: ExitStack, of: Any, security: "Security | None" = None) -> "Client":
    from distributed import Client  # noqa: PLC0415 - loads for a second

    try:
        client = Client(of, timeout=CONNECT_S, set_as_default=False, security=security)
    except (OSError, ValueError) as error:
        # Without the object that failed, such as "in <… object at 0x7f…>: ".
        reason = re.sub(r"^in <[^>]*>: ", "", str(error.__cause__ or error).partition("\n")[0])
        raise RunError(
            f"the Dask scheduler at {of} cannot be reached ({reason}); is `dask scheduler` running there?"
        ) from None
    ending.callback(_close, client)
    return client


def _close(client: "Client") -> None:
    """A scheduler that is gone is no reason to fail now."""
    with suppress(Exception):
        client.close(timeout=END_S)


def _keys_of_user(address: str) -> "Security | None":
    """The keys of the user's Dask configuration; None for an address without any.

    Raises:
        RunError: it has none, or they cannot be used.
    """
    from distributed import Security  # noqa: PLC0415 - as above

    scheme = address.partition(":")[0]
    if scheme not in SCHEMES_WITH_KEYS:
        return None
    security = Security(require_encryption=True)
    tls = security.get_tls_config_for_role("client")
    missing = [name for name in ("ca_file", "cert", "key") if not tls[name]]
    where = "the Dask configuration (distributed.comm.tls: ca-file, client.cert, client.key)"
    if missing:
        raise RunError(f"{address} needs keys; name their files in {where}", Fault.USAGE)
    try:
        security.get_connection_args("client")
    except OSError as error:
        raise RunError(f"the keys for {address} cannot be used ({error}); correct {where}", Fault.USAGE) from None
    return security


def _own_keys(extra: str) -> "Security":
    """Keys of this run, in memory only."""
    from distributed import Security  # noqa: PLC0415 - as above

    _load("cryptography", extra)
    security: Security = Security.temporary()
    return security


def _environment_of(security: "Security") -> dict[str, str]:
    """The keys for a child process. Other users cannot read the environment of a process."""
    tls = security.get_tls_config_for_role("worker")
    names = {"CA_FILE": "ca_file", "WORKER__CERT": "cert", "WORKER__KEY": "key"}
    keys = {f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(tls[field]) for name, field in names.items()}
    return {**keys, "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True"}


def _local(ending: ExitStack, count: int) -> "tuple[str, Security]":
    """A scheduler in this process and `count` worker processes of one thread each; its address and keys.

    The workers are commands, not forks of this process: the module from which this process started is none to be
    imported by them. They end by themselves when their scheduler is gone.
    """
    from distributed import SpecCluster  # noqa: PLC0415 - as above

    from whyperf.cluster.without_http import Scheduler  # noqa: PLC0415 - as above

    security, scratch = _own_keys("cluster"), str(_scratch_folder())
    options = {"host": LOOPBACK, "protocol": "tls://", "security": security, "dashboard": False}
    options["local_directory"] = scratch
    cluster = SpecCluster(
        scheduler={"cls": Scheduler, "options": options}, security=security, silence_logs=logging.CRITICAL
    )
    ending.callback(cluster.close)
    own = {"DASK_LOGGING__DISTRIBUTED": "critical", "POLARS_MAX_THREADS": "1"}
    environment = own_environment() | own | _environment_of(security)
    arguments = [
        *("--nworkers", str(count), "--nthreads", "1", "--host", LOOPBACK, "--local-directory", scratch),
        *("--death-timeout", str(int(CONNECT_S)), *WORKER_CLASS),
    ]
    process = subprocess.Popen(
        own_python("-m", "distributed.cli.dask_worker", str(cluster.scheduler_address), *arguments),
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Ctrl-C is for this process, which ends them.
        start_new_session=True,
    )
    ending.callback(_end, process)
    return str(cluster.scheduler_address), security


def _scratch_folder() -> Path:
    """The folder for the files of a scheduler or worker on this host, which imports modules from there first.

    Dask's own folder below /tmp may be one that another user has made. The next ones remove what killed ones left.

    Raises:
        RunError: it cannot be made, or another user could exchange it.
    """
    folder = state_folder() / "workers"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        reason = exchangeable(folder, is_code=True)
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}"
    if reason is not None:
        raise RunError(f"Dask has no folder of yours alone ({reason}); name another one by XDG_STATE_HOME", Fault.USAGE)
    return folder


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _batch(kind: Kind, count: int) -> Any:
    """Asks the batch system for workers; where and how large is in the user's own Dask configuration."""
    package, name = BATCH[kind]
    make = getattr(_load(package, str(kind)), name)
    options = _slurm_options() if kind is Kind.SLURM else {"n_workers": count, "quiet": True}
    try:
        with warnings.catch_warnings():
            # Where the files of keys are, which documentation says.
            warnings.simplefilter("ignore", UserWarning)
            cluster = make(**options)
        if kind is Kind.SLURM:
            cluster.scale(jobs=count)
        return cluster
    except Exception as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise RunError(f"{name} cannot start workers: {reason}; see the Dask configuration (~/.config/dask)") from error


def _slurm_options() -> dict[str, Any]:
    """Options that the user's configuration does not decide: keys, one interface, no HTTP server, folders of this user.

    dask-jobqueue writes the keys to files for the jobs, readable by the user alone, and removes them at the end.

    Raises:
        RunError: the configuration names no interface, or the scheduler has no folder.
    """
    import dask  # noqa: PLC0415 - as above

    from whyperf.cluster.without_http import Scheduler  # noqa: PLC0415 - as above

    interface = dask.config.get("jobqueue.slurm.interface", None)
    of_scheduler = dict(dask.config.get("jobqueue.slurm.scheduler-options", None) or {})
    if not interface or str(of_scheduler.get("host", interface)) in EVERYWHERE:
        raise RunError(
            "--cluster slurm listens on one interface, the one that the nodes reach; name it in the Dask configuration "
            "(jobqueue.slurm.interface; another one of this host: jobqueue.slurm.scheduler-options.interface)",
            Fault.USAGE,
        )
    of_scheduler.setdefault("local_directory", str(_scratch_folder()))
    python = dask.config.get("jobqueue.slurm.python", None)
    return {
        **_folder_of_jobs(),
        # The current folder of a job is the one in which this command was given.
        "python": f"{python} {SAFE_PATH}" if python else shlex.join(own_python()),
        "security": _own_keys("slurm"),
        "scheduler_cls": Scheduler,
        "scheduler_options": {**of_scheduler, "dashboard": False, "dashboard_address": None},
        "worker_extra_args": [*(dask.config.get("jobqueue.slurm.worker-extra-args", None) or ()), *WORKER_CLASS],
    }


def _folder_of_jobs() -> dict[str, Any]:
    """A folder for each job, made and removed by its script; nothing where the configuration names a folder.

    As on this host, Dask's own folder below /tmp may be another user's.
    """
    import dask  # noqa: PLC0415 - as above

    if dask.config.get("jobqueue.slurm.local-directory", None) or dask.config.get("temporary-directory", None):
        return {}
    # What is given comes in place of what is configured; the second name is the older one.
    names = ("job-script-prologue", "env-extra")
    configured = next(filter(None, (dask.config.get(f"jobqueue.slurm.{name}", None) for name in names)), ())
    return {
        "local_directory": FOLDER_OF_JOB,
        "job_script_prologue": [*BEFORE_PROLOGUE, *configured, *BEHIND_PROLOGUE],
    }


def _cpus() -> int:
    return len(os.sched_getaffinity(0))


def _await_workers(
    client: "Client", where: str, within_s: float | None, *, at_least: int = 1, cluster: Any = None
) -> None:
    """Waits until there are so many; for a batch system as long as it takes.

    Raises:
        RunError: none came in time, or the batch system refused.
    """
    until = None if within_s is None else time.monotonic() + within_s
    while len(client.nthreads()) < at_least:
        if cluster is not None and _is_refused(cluster):
            raise RunError(f"{where} accepts no job; WHYPERF_DEBUG=1 shows what its commands print")
        if until is not None and time.monotonic() > until:
            raise RunError(f"{where} has no workers after {within_s:.0f} s; start some with `dask worker {where}`")
        time.sleep(POLL_S)


def _is_refused(cluster: Any) -> bool:
    """True if no job of those that were asked for could be handed in. Dask logs the reason, and goes on waiting."""
    jobs = getattr(cluster, "workers", {}).values()
    return bool(jobs) and all(job.status.value == "created" for job in jobs)


def _refuse_other_workers(client: "Client") -> None:
    """Before anything runs; later ones are checked by their first task."""
    found = cast("VersionsDict", client.get_versions(packages=[*PACKAGES]))
    for worker, reported in sorted(found["workers"].items()):
        refuse_other(worker, versions_of(reported), own_versions())
