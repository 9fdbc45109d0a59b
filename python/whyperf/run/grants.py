"""The commands by which an administrator lets users collect evidence without root. They are printed, never run.

File capabilities (capabilities(7)) on a binary that only root can change, and that only a group can start: members get
the capabilities while the agent runs, and nothing else of theirs does.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from whyperf.wire import Ability, HostFacts, Privileges

GROUP = "whyperf"
INSTALLED = "/usr/local/bin/whyperf-agent"
#: CAP_BPF and CAP_PERFMON are of this version; before it, both were part of CAP_SYS_ADMIN.
_FIRST_BPF = (5, 8)
#: Before it, BPF maps count as locked memory, which the agent must be allowed to raise.
_FIRST_UNLOCKED = (5, 11)
#: Since then the programs of the log of calls load (docs/background/evidence.md).
_FIRST_CALLS = (6, 3)
State = Literal["allowed", "missing", "impossible"]


@dataclass(frozen=True)
class Grant:
    """The needs of an evidence level on a host: `reason` says why it is in its state, `commands` grant it."""

    level: str
    state: State
    reason: str
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Grants:
    """By level, and the commands that take everything back."""

    levels: tuple[Grant, ...]
    undo: tuple[str, ...]


def grants(facts: HostFacts) -> Grants:
    """The commands for each evidence level on a host, described with its hooks.

    Raises:
        ValueError: the description lacks the privileges.
    """
    privileges = facts.get("privileges")
    if privileges is None:
        raise ValueError("the host was described without its privileges")
    abilities = {ability["name"]: ability for ability in facts["abilities"]}
    user = _user(abilities)
    counters = _counters(facts, privileges, abilities)
    segments = _segments(facts, counters)
    binary, _ = _placed(privileges)
    undo = [f"sudo setcap -r {shlex.quote(binary)}", f"sudo groupdel {GROUP}"] if counters.commands else []
    return Grants((user, counters, segments), tuple(undo))


def _user(abilities: dict[str, Ability]) -> Grant:
    if abilities["icmp_probe"]["can"]:
        return Grant("user", "allowed", "it needs no privilege", ())
    # Of the network namespace alone, and the default of systemd.
    command = 'sudo sysctl -w net.ipv4.ping_group_range="0 2147483647"'
    return Grant("user", "allowed", "it needs no privilege; for the RTT probe by ICMP", (command,))


def _counters(facts: HostFacts, privileges: Privileges, abilities: dict[str, Ability]) -> Grant:
    wanted = capabilities(_version(facts["kernel"]))
    lacking = [name for name in wanted if name not in privileges["bounding"]]
    refused = next((hook["reason"] for hook in facts["hooks"] if not hook["can"]), "")
    bpf = abilities["bpf"]
    if "BTF" in bpf["reason"] and not bpf["can"]:
        return Grant("counters", "impossible", f"{bpf['reason']}; no privilege helps", ())
    if lacking:
        added = " ".join(f"--cap-add {name.removeprefix('cap_').upper()}" for name in lacking)
        reason = (
            f"the bounding set of this container or service lacks {' and '.join(lacking)}, so no file can give that; "
            f"start the container with {added}"
        )
        return Grant("counters", "impossible", reason, ())
    if privileges["no_new_privileges"]:
        reason = "programs started here get no capabilities from files (no_new_privs); start the session without it"
        return Grant("counters", "impossible", reason, ())
    commands = (*_prepare(privileges), f"sudo setcap {','.join(wanted)}+ep {shlex.quote(_placed(privileges)[0])}")
    if not refused and facts["hooks"]:
        return Grant("counters", "allowed", "this user's agent loads the BPF programs", commands)
    return Grant("counters", "missing", refused or bpf["reason"], commands)


def _segments(facts: HostFacts, counters: Grant) -> Grant:
    calls = "" if _version(facts["kernel"]) >= _FIRST_CALLS else "; the log of calls needs Linux 6.3"
    return Grant("segments", counters.state, f"it needs the same as counters{calls}", ())


def capabilities(kernel: tuple[int, int]) -> tuple[str, ...]:
    """The capabilities that loading the BPF programs takes, by the names of capabilities(7)."""
    bpf = ("cap_bpf", "cap_perfmon") if kernel >= _FIRST_BPF else ("cap_sys_admin",)
    return bpf if kernel >= _FIRST_UNLOCKED else (*bpf, "cap_sys_resource")


def _placed(privileges: Privileges) -> tuple[str, bool]:
    """Where the binary with capabilities lies, and whether it is there already."""
    stays = privileges["is_binary_safe"] and not privileges["is_nosuid"]
    return (privileges["binary"], True) if stays else (INSTALLED, False)


def _prepare(privileges: Privileges) -> Iterator[str]:
    binary, is_there = _placed(privileges)
    yield f"sudo groupadd --force --system {GROUP}"
    yield f'sudo usermod --append --groups {GROUP} "$USER"'
    if is_there:
        # A change of the group takes capabilities away, so they come last.
        yield f"sudo chgrp {GROUP} {shlex.quote(binary)}"
        yield f"sudo chmod 0750 {shlex.quote(binary)}"
    else:
        yield f"sudo install -o root -g {GROUP} -m 0750 {shlex.quote(privileges['binary'])} {INSTALLED}"


def _version(kernel: str) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", kernel)
    return (int(found[1]), int(found[2])) if found else (0, 0)
