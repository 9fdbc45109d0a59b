"""The agent of a host: found there, or copied there and checked, over the pipe alone."""

import hashlib
import re
import secrets
import shlex
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from whyperf import __version__
from whyperf.run.agents.pipes.binary import AGENTS, RUN, RUN_ID, Binary, agent_for, this_machine
from whyperf.run.agents.pipes.calls import MAX_CALL_S, MIN_INPUT_BYTES_PER_S, Call, IdleError, call
from whyperf.run.errors import Fault, RunError

_START, _END = "whyperf-start", "whyperf-end"
"""The words that a script prints first and last. Exit statuses are not relied on: some pipes lose them."""
_MACHINE, _ARRIVED, _KEPT = "whyperf-machine ", "whyperf-arrived ", "whyperf-kept"
_MIN_PIECE_BYTES = 16 << 10
"""A pipe that passes less input than this in one call cannot carry a conversation either."""
_NO_SHELL = re.compile(r"\bsh\b.*(?:not found|no such file)", re.IGNORECASE)
_PATH_AGENT = f"whyperf-agent {__version__}"
_MARK = f"export {RUN}={RUN_ID}"
_SHOWN_BYTES = 60

_stores: dict[str, threading.Lock] = {}
_stores_lock = threading.Lock()


@dataclass(frozen=True)
class HostPipe:
    """A pipe's command to one host; ``joins_words`` and ``check`` as in `PipeKind`."""

    kind: str
    host: str
    command_line: tuple[str, ...]
    joins_words: bool | None
    check: str

    def command(self, *argv: str) -> list[str]:
        """The command line that starts ``argv`` on the host."""
        return [*self.command_line, *([f"exec {shlex.join(argv)}"] if self.joins_words else argv)]

    def in_shell(self, script: str) -> list[str]:
        """The command line that runs a script on the host, whatever shell the user has there."""
        return self.command("sh", "-c", script)

    def call(self, argv: list[str], data: bytes = b"") -> Call:
        """Run a command line to the host.

        Raises:
            RunError: the command is not there, or nothing moved for too long.
        """
        try:
            return call(argv, self.host, data)
        except IdleError as error:
            raise RunError(f"the {self.kind} to {self.host} hangs: {error}; does `{self.check}` work?") from None

    def broken(self, done: Call) -> RunError:
        """Why a call did not run its script to the end."""
        if done.status != 0:
            return RunError(
                f"{self.host} cannot be reached by {self.kind}: {done.last_line}; does `{self.check}` work?"
            )
        shown = done.output[:_SHOWN_BYTES].decode(errors="replace").strip()
        return RunError(
            f"the {self.kind} to {self.host} was cut after {len(done.output):,} bytes of output, with status 0"
            + (f": {shown!r}" if shown else "")
        )


@dataclass(frozen=True)
class _Found:
    """A host's answer about itself: `uname -sm`, and whether an agent of ours is on its PATH or in its cache."""

    machine: str
    is_installed: bool
    is_kept: bool


def serving(pipe: HostPipe, netns: str | None) -> list[str]:
    """Command of an agent: the one on the host's PATH if it is of this version, otherwise ours, pushed.

    Raises:
        RunError: the host cannot be reached, or cannot run our agent.
    """
    pipe, found = _look(pipe)
    serve = ["serve", *(["--netns", netns] if netns else [])]
    if found.is_installed and not found.machine:
        return pipe.command("whyperf-agent", *serve)
    if found.is_installed:
        return pipe.in_shell(f"{_MARK} && exec whyperf-agent {shlex.join(serve)}")
    binary = agent_for(found.machine)
    if binary is None:
        architecture = found.machine.rpartition(" ")[2]
        raise RunError(
            f"{pipe.host} is {found.machine or 'unknown'}, this host {this_machine()}; install {_PATH_AGENT} there, "
            f"or put it here as whyperf-agent-{architecture} into the folder that {AGENTS} names",
            Fault.HOST,
        )
    if not (found.is_kept and found.machine == this_machine()):
        _keep(pipe, binary)
    # The file is opened once: what has the right sum is what is started, whatever has its name by then.
    opened = "/proc/$$/fd/3"
    checked = f'{_is_safe(opened)} && [ "$(sha256sum <&3)" = "{binary.digest}  -" ]'
    changed = "{ echo the agent in $d has changed since it was copied there, run the same command again >&2; exit 1; }"
    start = f"exec {opened} {shlex.join(serve)}"
    return pipe.in_shell(f"{_ENTER} && exec 3< {_name(binary)} && {{ {checked} || {changed}; }} && {_MARK} && {start}")


NO_AGENT = "this host has no agent of whyperf yet"
"""The answer of the command of `starting` where there is none."""


def starting(pipe: HostPipe, netns: str | None) -> list[str] | None:
    """Command of an agent that the host has already, with no call before; where it has none it ends with `NO_AGENT`.

    None where it is not known how the pipe takes words, or what this host would copy.
    """
    try:
        binary = agent_for(this_machine())
    except RunError:
        return None
    if pipe.joins_words is None or binary is None:
        return None
    serve = shlex.join(["serve", *(["--netns", netns] if netns else [])])
    opened = "/proc/$$/fd/3"
    name = _name(binary)
    installed = f'[ "$(whyperf-agent --version 2>/dev/null)" = "{_PATH_AGENT}" ] && exec whyperf-agent {serve}'
    is_same = f'[ "$(uname -sm)" = "{this_machine()}" ]'
    is_right = f'{_is_safe(opened)} && [ "$(sha256sum <&3)" = "{binary.digest}  -" ]'
    kept = f"{is_same} && {_ENTER} && [ -f {name} ] && exec 3< {name} && {is_right} && exec {opened} {serve}"
    return pipe.in_shell(f"{_MARK}; {installed}; {{ {kept}; }} 2>/dev/null; echo {shlex.quote(NO_AGENT)} >&2; exit 1")


def _look(pipe: HostPipe) -> tuple[HostPipe, _Found]:
    """Ask the host what it is and has; the pipe returned says how its command takes words."""
    try:
        kept = _kept(agent_for(this_machine()))
    except RunError:
        kept = "false"
    script = _marked(
        f'command -v whyperf-agent >/dev/null && whyperf-agent --version; echo "{_MACHINE}$(uname -sm)"; {kept}'
    )
    done = None
    for joins_words in (False, True) if pipe.joins_words is None else (pipe.joins_words,):
        tried = replace(pipe, joins_words=joins_words)
        latest = tried.call(tried.in_shell(script))
        done = done or latest
        if (lines := _said(tried, latest)) is not None:
            machine = next((line.removeprefix(_MACHINE) for line in lines if line.startswith(_MACHINE)), "")
            return tried, _Found(machine, _PATH_AGENT in lines, _KEPT in lines)
    assert done is not None
    if not pipe.joins_words and _NO_SHELL.search(done.errors):
        # An image may hold nothing but the agent.
        alone = replace(pipe, joins_words=False)
        if _PATH_AGENT in alone.call(alone.command("whyperf-agent", "--version")).lines:
            return alone, _Found("", is_installed=True, is_kept=False)
        raise RunError(f"{pipe.host} has neither a shell (sh) nor {_PATH_AGENT} on its PATH; install one of them there")
    raise pipe.broken(done)


def _marked(script: str) -> str:
    return f"echo {_START}; {script}; echo {_END}"


def _said(pipe: HostPipe, done: Call) -> list[str] | None:
    """The lines that a marked script printed; None where it did not run.

    Raises:
        RunError: they are not whole.
    """
    _, start, text = done.output.decode(errors="replace").rpartition(f"{_START}\n")
    if not start:
        return None
    text, end, _ = text.partition(f"{_END}\n")
    if not end:
        raise pipe.broken(done)
    return [line.strip() for line in text.splitlines()]


def _name(binary: Binary) -> str:
    return f"agent-{__version__}-{binary.digest[:16]}"


def _kept(binary: Binary | None) -> str:
    """A script that prints whether the host has this agent already. It leaves the folder that it is started in."""
    if binary is None:
        return "false"
    name = _name(binary)
    return f"{{ {_ENTER} && {_is_safe(name)} && {_has_sum(name, binary.digest)}; }} 2>/dev/null && echo {_KEPT}"


def _keep(pipe: HostPipe, binary: Binary) -> None:
    """Copy the agent to the host. Of several that want to, one does, and the others wait for it.

    Raises:
        RunError: the host cannot keep it, or the pipe does not pass it.
    """
    with _stores_lock:
        lock = _stores.setdefault(pipe.host, threading.Lock())
    is_first = lock.acquire(blocking=False)
    if not is_first:
        lock.acquire()
    try:
        if not is_first and _KEPT in (_said(pipe, pipe.call(pipe.in_shell(_marked(_kept(binary))))) or []):
            return
        data = binary.path.read_bytes()
        # Written under another name and renamed, so that an interrupted copy leaves no partial agent.
        partial = f".{_name(binary)}.{secrets.token_hex(8)}"
        arrived = _stored(pipe, partial, _rename(partial, binary), data)
        if arrived is not None:
            with _removed_at_last(pipe, partial):
                _store_in_pieces(pipe, partial, binary, data, arrived)
    finally:
        lock.release()


def _rename(partial: str, binary: Binary) -> str:
    return f"{_has_sum(partial, binary.digest)} && chmod 700 {partial} && mv {partial} {_name(binary)}"


def _stored(pipe: HostPipe, partial: str, then: str, data: bytes) -> int | None:
    """Write data to a file on the host and run a script with it; None, or how much arrived where it was cut.

    Raises:
        RunError: the host cannot keep it, or the pipe broke or damaged it.
    """
    old = "find . -maxdepth 1 -name '.agent-*' -mmin +60 -exec rm -f {} + 2>/dev/null"
    # Not `cat`: some pipes do not pass on the end of their input.
    script = (
        f"{_MAKE} && {_ENTER} && {{ {old}; head -c {len(data)} > {partial} "
        f'&& echo "{_ARRIVED}$(($(wc -c < {partial})))" '
        f"&& {then} && echo {_KEPT} || rm -f {partial}; }}"
    )
    done = pipe.call(pipe.in_shell(_marked(script)), data)
    if done.status < 0 or (lines := _said(pipe, done)) is None:
        raise pipe.broken(done)
    if _KEPT in lines:
        return None
    counts = [line.removeprefix(_ARRIVED) for line in lines if line.startswith(_ARRIVED)]
    if not counts or not counts[0].isdecimal():
        raise _cannot_keep(pipe, done.last_line)
    arrived = int(counts[0])
    if arrived == len(data):
        # All is there: it is damaged, or what came after it failed.
        raise _cannot_keep(pipe, done.errors.strip().splitlines()[-1] if done.errors.strip() else "it arrived damaged")
    if arrived == 0:
        raise _cannot_keep(pipe, f"the {pipe.kind} passes no input")
    if arrived < _MIN_PIECE_BYTES or arrived > len(data):
        raise _cannot_keep(pipe, f"it arrived incomplete, {arrived:,} of {len(data):,} bytes")
    return arrived


def _store_in_pieces(pipe: HostPipe, partial: str, binary: Binary, data: bytes, piece_bytes: int) -> None:
    """Write a file in calls of their own, through a pipe that cuts the input of one. All of them together may take as
    long as one.

    Raises:
        RunError: as `_stored`, or they are too small or take too long.
    """
    piece = f"{partial}.piece"
    offset = 0
    longest_s = MAX_CALL_S + len(data) / MIN_INPUT_BYTES_PER_S
    end_s = time.monotonic() + longest_s
    while offset < len(data):
        if time.monotonic() > end_s:
            raise _cannot_keep(pipe, f"only {offset:,} of {len(data):,} bytes arrived in {longest_s:.0f} s")
        taken = data[offset : offset + piece_bytes]
        digest = hashlib.sha256(taken).hexdigest()
        append = f"{_has_sum(piece, digest)} && cat {piece} {'>>' if offset else '>'} {partial} && rm {piece}"
        arrived = _stored(pipe, piece, append, taken)
        if arrived is None:
            offset += len(taken)
            continue
        # What was cut less once may be cut less again: without this, a host could have a byte less each time.
        piece_bytes = min(arrived, len(taken) // 2)
        if piece_bytes < _MIN_PIECE_BYTES:
            raise _cannot_keep(pipe, f"it arrived incomplete, {arrived:,} of {len(taken):,} bytes")
    script = f"{_ENTER} && {_rename(partial, binary)} && echo {_KEPT}"
    done = pipe.call(pipe.in_shell(_marked(script)))
    if _KEPT not in (_said(pipe, done) or []):
        raise _cannot_keep(pipe, "its pieces arrived damaged")


@contextmanager
def _removed_at_last(pipe: HostPipe, partial: str) -> Iterator[None]:
    try:
        yield
    except RunError:
        with suppress(RunError):
            pipe.call(pipe.in_shell(f"{_ENTER} && rm -f {partial}"))
        raise


def _cannot_keep(pipe: HostPipe, why: str) -> RunError:
    return RunError(f"{pipe.host} cannot keep the agent: {why}; put that right, or install {_PATH_AGENT} there")


_FOLDER = 'd="${XDG_CACHE_HOME:-$HOME/.cache}/whyperf"'
_MAKE = f'umask 077 && {_FOLDER} && mkdir -p "$d"'


def _is_safe(path: str) -> str:
    """The shell test that a file or folder is the user's own, and nobody else may write to it."""
    return f"[ -O {path} ] && case $(ls -ldL {path}) in ?????w*|????????w*) false;; esac"


# A folder that is a link, or that somebody else may write to, could hold another agent by the time it is started.
# It is looked at from inside: what is entered cannot be exchanged for another one.
_ENTER = (
    f'{_FOLDER} && {{ [ ! -L "$d" ] || {{ echo "$d is a symbolic link" >&2; false; }}; }} && cd -P "$d" && '
    f'{{ {{ {_is_safe(".")}; }} || {{ echo "$d belongs to another user, or others can write to it" >&2; false; }}; }}'
)


def _has_sum(name: str, digest: str) -> str:
    return f'echo "{digest}  {name}" | sha256sum -c --status'
