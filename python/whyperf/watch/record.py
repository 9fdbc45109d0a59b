"""Makes a result of what was watched: a cell and a trial for each connection, busiest first."""

import errno
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from whyperf import __version__
from whyperf.analyze.text import count
from whyperf.plan import Cell, PlannedTrial
from whyperf.record import RECORD_VERSION, Experiment, RecordError, known_cost
from whyperf.record.errors import failure, is_full
from whyperf.record.kinds import UNREADABLE
from whyperf.watch.plan import watched_plan
from whyperf.watch.request import WatchedSide, WatchQuestion
from whyperf.watch.session import address_of
from whyperf.watch.sockets import Host, Socket, WatchedEnds, paired, read_sockets
from whyperf.watch.split import SideTables, TrialEnd

T = TypeVar("T")
#: Ports that a sentence names.
MAX_PORTS = 8


def keep_watched(
    folder: Path,
    question: WatchQuestion,
    sides: Sequence[WatchedSide],
    on_lost: Callable[[str], None] = lambda _sentence: None,
) -> Experiment:
    """Writes the result into the new folder `folder`; the caller closes it.

    `sides` are one or two. Tables that cannot be read are left out, and the plan's warnings say so. So are the largest
    tables where the disk is full; `on_lost` is called with a sentence on each, and the trials' manifests have it.

    Raises:
        RecordError: no connection was watched, a side's list of them cannot be read, the folder holds something else,
            or it cannot be written.
    """
    tables: dict[Host, SideTables] = {side.host: SideTables(side) for side in sides}
    sockets: dict[Host, list[Socket]] = {host: read_sockets(host, found.paths) for host, found in tables.items()}
    near, far = sockets.get("near", []), sockets.get("far", [])
    connections = paired(near, far, same_host=_are_one_host(sides))
    if not connections:
        raise RecordError("no connection was watched, so there is nothing to keep")
    plan = watched_plan(question, connections, list(_warnings(question, sides, tables, connections)))
    lost: list[str] = []
    experiment = _with_room(tables, folder, lost, partial(Experiment.create, folder, plan, _profile_text(question)))
    try:
        _with_room(tables, folder, lost, partial(_write_hosts, experiment, tables, connections))
        planned = zip(experiment.plan.trials(), experiment.plan.cells, connections, strict=True)
        for part in planned:
            _with_room(
                tables,
                folder,
                lost,
                partial(_write_trial, experiment, question, tables, part, sockets, lost=lost),
            )
        for sentence in lost:
            on_lost(sentence)
    except BaseException:
        experiment.discard_if_empty()
        experiment.close()
        raise
    return experiment


def _are_one_host(sides: Sequence[WatchedSide]) -> bool:
    return len({side.facts["boot_id"] for side in sides}) == 1 and len(sides) > 1


def _profile_text(question: WatchQuestion) -> str:
    """There was no question to repeat: the profile of a watched result is a remark."""
    command = question.command_line.encode("unicode_escape").decode()
    return f"# There is no profile: connections of other programs were watched with\n# {command}\n"


def _warnings(
    question: WatchQuestion,
    sides: Sequence[WatchedSide],
    tables: Mapping[Host, SideTables],
    connections: Sequence[WatchedEnds],
) -> Iterator[str]:
    if question.far_host is not None:
        alone = [ends for ends in connections if len(ends.sockets) == 1]
        if alone:
            yield (
                f"{len(alone):,} of {count(len(connections), 'connection')} were seen on one side only: no socket of "
                f"the other host has the same addresses and ports. Something between {question.host or 'this host'} "
                f"and {question.far_host} may translate addresses (NAT, a proxy)."
            )
    elif half := [ends.first for ends in connections if len(ends.sockets) == 1 and _ends_here(ends.first)]:
        # A range of ports for clients is above those of servers.
        ports = sorted({min(_port_of(socket.local), _port_of(socket.remote)) for socket in half} - {0})
        named = f":{','.join(map(str, ports[:MAX_PORTS]))}" if ports else ":PORT"
        command = " ".join(["whyperf watch", *([question.host] if question.host else []), named])
        yield (
            f"The other end of {count(len(half), 'connection')} is on the same host and was not watched: "
            f"`{command}` watches both sides."
        )
    for side in sides:
        yield from _of_notes(side)
        yield from tables[side.host].left_out


MAX_PORT_DIGITS = 5
"""Of a port: they end at 65,535 (RFC 9293, section 3.1)."""


def _ends_here(socket: Socket) -> bool:
    """True where a socket's connection stays on its host: it is of the loopback, or has one address on both sides."""
    local, remote = address_of(socket.local), address_of(socket.remote)
    return local == remote or remote.startswith("127.") or remote == "::1"


def _port_of(end: str) -> int:
    """The port of an address; 0 where an agent says none."""
    port = end.rpartition(":")[2]
    return int(port) if port.isascii() and port.isdigit() and len(port) <= MAX_PORT_DIGITS else 0


def _of_notes(side: WatchedSide) -> Iterator[str]:
    """Says what the agent could not watch one by one."""
    notes: Sequence[Mapping[str, Any]] = side.finished["notes"]
    for note in notes:
        match note:
            case {"note": "connections_beyond_limit", "count": int(number)} if number:
                yield (
                    f"{count(number, 'more connection')} of the {side.host} side fitted the selection and were not "
                    "watched: those that moved most were. Name a port or a program, or raise --max-connections."
                )
            case {"note": "brief_connections", "count": int(number), "payload_bytes": int(moved)} if number:
                yield (
                    f"{count(number, 'connection')} of the {side.host} side opened and closed too quickly to be "
                    f"watched; they moved {moved:,} bytes."
                )
            case {"note": "samples_thinned", "sample_ns": int(distance)}:
                yield (
                    f"The watch of the {side.host} side was long: it kept one sample every {distance / 1e6:,.0f} ms."
                )


def _write_hosts(experiment: Experiment, tables: Mapping[Host, SideTables], connections: Sequence[WatchedEnds]) -> None:
    facts = {host: found.side.facts for host, found in tables.items()}
    if any(ends.on_one_host for ends in connections):
        facts.setdefault("far", facts["near"])
    for host, known in facts.items():
        experiment.write_host(host, known)
    first = next(iter(facts.values()))
    cost = known_cost(first["hostname"], first["kernel"])
    if cost is not None:
        experiment.write_probe_cost(cost)


def _with_room(tables: Mapping[Host, SideTables], folder: Path, lost: list[str], write: Callable[[], T]) -> T:
    """The result of `write`, on a full disk after removing the largest tables; `lost` are sentences on all of those.

    Raises:
        RecordError: `write` raises it, or there is no room even without them.
    """
    while True:
        try:
            return write()
        except RecordError as error:
            if not is_full(error, folder):
                raise
            more = next(filter(None, (side.free_room() for side in tables.values())), None)
            if more is None:
                kept = len(list(folder.glob("trials/*/manifest.json")))
                raise RecordError(
                    f"no space left in {folder}: {count(kept, 'connection')} kept; free some space, and watch again"
                ) from error
            lost.append(more)


def _write_trial(
    experiment: Experiment,
    question: WatchQuestion,
    tables: Mapping[Host, SideTables],
    planned: tuple[PlannedTrial, Cell, WatchedEnds],
    sockets: Mapping[Host, Sequence[Socket]],
    *,
    lost: Sequence[str],
) -> None:
    trial, cell, ends = planned
    with experiment.begin_trial(trial.id) as writer:
        hosts: dict[str, dict[str, object]] = {}
        try:
            for host, socket in ends.sockets.items():
                side = tables[socket.side]
                counts = side.write(socket, TrialEnd(writer.folder, host, ends.roles[host]))
                hosts[host] = _end(side.side, host, ends, counts, sockets[socket.side])
            if _are_one_host([tables[socket.side].side for socket in ends.sockets.values()]):
                for end in hosts.values():
                    end["own_cpus_exclusive"] = False
        except OSError as error:
            raise failure("write", writer.folder, error) from error
        except UNREADABLE as error:
            if is_full(error, writer.folder):
                full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                raise failure("write", writer.folder, full) from full
            why = str(error).partition("\n")[0]
            raise RecordError(f"the tables of connection {cell.id} cannot be split: {why}") from None
        status, reason = _status([tables[socket.side].side for socket in ends.sockets.values()])
        versions: dict[str, str] = {
            host: tables[socket.side].side.facts["agent_version"] for host, socket in ends.sockets.items()
        }
        writer.commit({
            "record_version": RECORD_VERSION,
            "trial": trial.id,
            "cell": cell.id,
            "block": trial.block,
            "status": status,
            "reason": reason,
            "origin": "watched",
            "testbed": experiment.plan.testbed.kind,
            "started_realtime": question.started_realtime,
            "versions": {"controller": __version__, **versions},
            "factors": dict(cell.factors),
            "evidence_asked": question.evidence,
            "hosts": hosts,
            "warnings": list(lost),
        })  # fmt: skip
        written = writer.folder
    for side in tables.values():
        side.moved(written, experiment.folder / "trials" / trial.id)


def _status(sides: Sequence[WatchedSide]) -> tuple[str, str | None]:
    """A watch that was ended early is whole: it is as long as it is."""
    for side in sides:
        outcome = side.finished["outcome"]
        if outcome["ended"] == "failed":
            return "failed", f"{side.host}: {outcome['reason']}"
    return "complete", None


def _end(
    side: WatchedSide, host: Host, ends: WatchedEnds, counts: Mapping[str, int], sockets: Sequence[Socket]
) -> dict[str, object]:
    """One side's part of the manifest."""
    socket, role = ends.sockets[host], ends.roles[host]
    own = socket.sent_bytes if role == "sender" else socket.received_bytes
    of_program = sum(other.moved_bytes for other in sockets if other.process == socket.process)
    return {
        "role": role,
        "outcome": side.finished["outcome"],
        "payload_bytes": own,
        "notes": side.finished["notes"],
        "evidence": _evidence(side.finished["evidence"], counts),
        "clock": _clock(side),
        "own_cpus": list(side.facts["cpus"]),
        "own_cpus_exclusive": not ends.on_one_host,
        "cpus_of": host,
        "tsc_hz": side.facts["tsc_hz"],
        "spec": {},
        "payload_ratio": own / of_program if of_program else 1.0,
    }


def _evidence(report: Mapping[str, Any], counts: Mapping[str, int]) -> dict[str, object]:
    """The worth of the evidence; of the logs, the number of this connection's own rows."""
    logged = {"logged_events_count": counts.get("segments", 0), "logged_calls_count": counts.get("calls", 0)}
    return {**report, **logged}


def _clock(side: WatchedSide) -> dict[str, object]:
    """The clock against the controller's; an agent on this host has the same."""
    before, after = side.clock, side.clock_after or side.clock
    if before is None or after is None:
        return {"offset_ns": 0, "uncertainty_ns": 0, "drift_ns": 0, "pairs": []}
    return {
        "offset_ns": before.offset_ns,
        "uncertainty_ns": max(before.uncertainty_ns, after.uncertainty_ns),
        "drift_ns": after.offset_ns - before.offset_ns,
        "pairs": [{"mono_ns": clock.mono_ns, "realtime_ns": clock.realtime_ns} for clock in (before, after)],
    }
