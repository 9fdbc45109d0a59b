"""The studies, step by step: choose, run, judge, print."""

import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from whyperf.cli.durations import duration
from whyperf.cli.exits import DONE, DOUBTFUL, INTERRUPTED, UsageError, say
from whyperf.cli.live import interrupts
from whyperf.cli.output.studies import as_json, print_entries, print_entry, print_runs
from whyperf.cli.streams import print_json
from whyperf.own_python import own_environment, own_python
from whyperf.record.durable import write_file
from whyperf.record.errors import refuse_exchangeable
from whyperf.run.agents.pipes import agent_binary
from whyperf.studies.catalog import LABORATORY, Chosen, StudyRun, UnknownStudyError, as_typed, chosen
from whyperf.studies.folder import DOCUMENTS, RunStatus, StudyResults, document_path, here
from whyperf.studies.judge import Shape, StudyVerdict, judged
from whyperf.studies.page import page_text

#: Commands that write a result, which `--out` names.
WRITING = frozenset({"run", "simulate"})
#: The option with which `whyperf compare` writes one too and prints it, and the program that does.
KEPT = frozenset({"--run", LABORATORY})
#: Folder of the results that another command or agent measured: the last ones of each run.
REPLACED = "replaced"
#: The command line, as a program of a child process.
_PROGRAM = ("-c", "import sys; from whyperf.cli import main; sys.exit(main())")
#: The time that a command may take to end by itself after Ctrl-C has reached it too.
_GRACE_S = 2.0
_STOPPING = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGTERM})
"""Signals by which somebody stops all of it; what another one ended has failed alone."""


@dataclass(frozen=True)
class StudiesRequest:
    """Everything the command line asked of `whyperf studies`."""

    names: tuple[str, ...]
    run: bool
    out: Path
    is_default_folder: bool
    page: Path | None
    dry_run: bool
    as_json: bool


def find_studies(wanted: StudiesRequest) -> int:
    """Does what was wanted; returns the exit code: 3 where a command failed or an entry was not measured by --run."""
    try:
        part = chosen(wanted.names)
    except UnknownStudyError as error:
        raise UsageError(str(error)) from None
    if wanted.dry_run:
        return _show_runs(part, wanted)
    if wanted.page is not None:
        _check_page(wanted.page)
    if wanted.run:
        _run_all(part.needed(), wanted.out)
    results = _results(wanted)
    verdicts = {entry.id: judged(entry, results) for entry in part.entries}
    _print(part, results, verdicts, wanted)
    if wanted.page is not None:
        wanted.page.write_text(page_text(part, results, verdicts), encoding="utf-8")
    lacking = any(verdict.shape is Shape.NOT_MEASURED for verdict in verdicts.values())
    return DOUBTFUL if lacking and (wanted.run or wanted.page is not None) else DONE


def _show_runs(part: Chosen, wanted: StudiesRequest) -> int:
    runs = part.needed()
    left = {name: run for name, run in runs.items() if not _is_done(wanted.out, name, run)}
    if wanted.as_json:
        print_json(
            {
                "runs": [
                    {
                        "run": name,
                        "command": as_typed(run.command),
                        "seconds": run.seconds,
                        "is_done": name not in left,
                    }
                    for name, run in runs.items()
                ],
                "seconds": sum(run.seconds for run in left.values()),
            }
        )
    else:
        print_runs(runs, left)
    return DONE


def _results(wanted: StudiesRequest) -> StudyResults | None:
    """The results of the folder; None where it is not there and nobody named it."""
    if (wanted.out / DOCUMENTS).is_dir():
        return StudyResults(wanted.out)
    if wanted.is_default_folder and not wanted.out.exists():
        return None
    raise UsageError(f"--out: {wanted.out} is no folder of `whyperf studies --run`; run that first, or name its folder")


def _check_page(path: Path) -> None:
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"--page: {path} cannot be written; name a file in a folder that is there")


def _print(
    part: Chosen, results: StudyResults | None, verdicts: Mapping[str, StudyVerdict], wanted: StudiesRequest
) -> None:
    if wanted.as_json:
        print_json(as_json(part, results, verdicts))
    elif len(part.entries) == 1 and wanted.names == (part.entries[0].id,):
        print_entry(part, results, verdicts)
    else:
        print_entries(part, results, verdicts)


def _run_all(runs: Mapping[str, StudyRun], folder: Path) -> None:
    """Runs what the folder lacks; what fails is named, and the rest goes on."""
    refuse_exchangeable(folder / DOCUMENTS)
    try:
        (folder / DOCUMENTS).mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UsageError(f"--out: {folder} is no folder; name another one") from None
    left = {name: run for name, run in runs.items() if not _is_done(folder, name, run)}
    if not left:
        return
    seconds = sum(run.seconds for run in left.values())
    say(f"{len(left)} of {len(runs)} commands to run, about {duration(seconds)}; the same command resumes")
    failed = []
    with interrupts.handled():
        for number, (name, run) in enumerate(left.items(), 1):
            say(f"{number} of {len(left)}, about {duration(run.seconds)}: {as_typed(run.command)}")
            status = _run_one(folder, name, run)
            _write(folder / DOCUMENTS / f"{name}.status.json", status.model_dump_json(indent=1))
            if not status.is_done:
                failed.append(name)
                say(f"Not measured: {name}: {status.message}")
    if failed:
        say(f"{len(failed)} of {len(left)} commands gave no result: {', '.join(failed)}")


def _is_done(folder: Path, name: str, run: StudyRun) -> bool:
    """True where the folder has the result of this very command."""
    path = folder / DOCUMENTS / f"{name}.status.json"
    if not path.is_file():
        return False
    try:
        status = RunStatus.model_validate_json(path.read_bytes())
    except ValueError:
        return False
    is_same = status.command == run.command and status.agent == _agent()
    return status.is_done and is_same and set(run.documents) <= set(status.documents)


def _run_one(folder: Path, name: str, run: StudyRun) -> RunStatus:
    """Runs a command, then prints its documents."""
    cpus = len(os.sched_getaffinity(0))
    if cpus < run.cpus:
        return here(run.command, 1, f"it needs {run.cpus} CPUs, and this host has {cpus}", 0.0)
    began = time.monotonic()
    try:
        _set_aside_others(folder, name, run.command)
        arguments = _arguments(folder, run.command)
        if arguments[0] in WRITING:
            code, message = _call([*arguments, "--out", str(folder / name)], None, folder, name)
            kinds = [kind for kind in run.documents if kind != "output"]
        else:
            if KEPT & set(arguments):
                # It does not resume, and takes an empty folder only.
                shutil.rmtree(folder / name, ignore_errors=True)
            target = document_path(folder, name, "output")
            out = ("--out", str(folder / name)) if KEPT & set(arguments) else ()
            code, message = _call([*arguments, *out, "--json"], target, folder, name)
            kinds = []
        if code in {DONE, DOUBTFUL}:
            for kind in kinds:
                _document(folder, name, kind)
    except (OSError, ValueError) as error:
        return here(run.command, 1, str(error).partition("\n")[0], time.monotonic() - began)
    return here(run.command, code, message, time.monotonic() - began, documents=run.documents, agent=_agent())


def _set_aside_others(folder: Path, name: str, command: str) -> None:
    """Moves away what another command or another agent measured: the run would take it for its own, and go on with it.

    Raises:
        OSError: the folder cannot be written.
    """
    maker, result = folder / DOCUMENTS / f"{name}.maker", folder / name
    made_by = f"{_agent()} {command}\n"
    if result.is_dir() and not (maker.exists() and maker.read_text() == made_by):
        replaced = folder / REPLACED / name
        shutil.rmtree(replaced, ignore_errors=True)
        replaced.parent.mkdir(exist_ok=True)
        result.rename(replaced)
    write_file(maker, made_by.encode(), in_result=True)


@lru_cache
def _agent() -> str:
    """A digest of the agent: another one measures and simulates otherwise."""
    return hashlib.sha256(agent_binary().read_bytes()).hexdigest()[:16]


def _arguments(folder: Path, command: str) -> list[str]:
    """The arguments of a command, with @RUN as the folder of a result."""
    return [str(folder / word[1:]) if word.startswith("@") else word for word in shlex.split(command)]


def _document(folder: Path, name: str, kind: str) -> None:
    """Prints a document of a result into the folder.

    Raises:
        ValueError: the command failed; the text is its message.
    """
    result = str(folder / name)
    if kind == "flow":
        _flows(folder, name)
        return
    code, message = _call([kind, result, "--json"], document_path(folder, name, kind), folder, name)
    if code not in {DONE, DOUBTFUL}:
        raise ValueError(f"`whyperf {kind}` failed: {message}")


def _flows(folder: Path, name: str) -> None:
    """The segment flow of every log trial, and the stage times of every trial made for them, in one document."""
    from whyperf.record import Experiment  # noqa: PLC0415 - loads tables

    found = []
    trials = Experiment.open(folder / name).trials()
    for trial in (*trials.logs, *trials.staged):
        target = document_path(folder, name, f"flow-{trial}")
        code, message = _call(["flow", str(folder / name), trial, "--no-page", "--json"], target, folder, name)
        if code not in {DONE, DOUBTFUL}:
            raise ValueError(f"`whyperf flow` failed: {message}")
        found.append(json.loads(target.read_text(encoding="utf-8")))
        target.unlink()
    _write(document_path(folder, name, "flow"), json.dumps({"trials": found}))


def _call(arguments: Sequence[str], target: Path | None, folder: Path, name: str) -> tuple[int, str]:
    """Runs whyperf, its standard output into a file; returns the exit code and the last line that it said.

    Ctrl-C reaches it too, and it stops as it does alone; a kill of this process alone is passed on.
    """
    log = folder / DOCUMENTS / f"{name}.log"
    part = None if target is None else target.with_suffix(".part")
    with (
        open(log, "ab", opener=_without_links) as said,
        open(os.devnull if part is None else part, "wb", opener=_without_links) as printed,
    ):
        start = said.tell()
        is_own = arguments[0] != LABORATORY
        command = own_python(*_PROGRAM, *arguments) if is_own else [_laboratory(), *arguments[1:]]
        process = subprocess.Popen(command, env=own_environment(), stdout=printed, stderr=said)
        try:
            code = process.wait()
        except KeyboardInterrupt:
            _end(process)
            raise
    if code == INTERRUPTED or -code in _STOPPING:
        raise KeyboardInterrupt
    if part is not None and target is not None:
        part.replace(target) if code in {DONE, DOUBTFUL} else part.unlink()
    with log.open("rb") as said:
        said.seek(start)
        lines = said.read().decode(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return code, "" if code == DONE else last.removeprefix("whyperf: ").removeprefix(f"{LABORATORY}: ")


def _laboratory() -> str:
    """The program of the laboratory.

    Raises:
        ValueError: it is not here.
    """
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    if (found := shutil.which(LABORATORY, path=places)) is None:
        raise ValueError(f"it needs {LABORATORY}, which the repository has: `make setup-run` there")
    return found


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Lets a command end by itself, and asks it to if it does not."""
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait()


def _write(path: Path, text: str) -> None:
    """Replaces a file at once, so that an interruption leaves the old one or the new one."""
    write_file(path, text.encode(), in_result=True)


def _without_links(path: str, flags: int) -> int:
    """Opens a file for writing; not through a link, which somebody else may have made."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)
