"""What the host has of each kernel object and file that a run makes, so that growth over many runs can be seen."""

import re
import time
from dataclasses import dataclass
from pathlib import Path

from tests.e2e import host_state
from tests.e2e.bpf_objects import Objects, held_by

#: Caches of /proc/slabinfo whose objects a run makes: network namespaces, open files, mounts, processes, sockets.
CACHES = ("net_namespace", "filp", "mnt_cache", "task_struct", "TCP", "UNIX", "dentry", "kernfs_node_cache")
#: Lines of /proc/meminfo that say what the kernel has for itself.
MEMORY = ("SUnreclaim", "Percpu", "VmallocUsed", "KernelStack", "PageTables")
#: Files outside the folders that a test gives to a run.
FILES = ("/tmp/whyperf-*/socket", "/var/tmp/whyperf*", "/run/whyperf*", "/run/netns/*", "/sys/fs/bpf/*")
GROUPS = Path("/sys/fs/cgroup")
#: What is registered comes and goes with the runs of others; it is looked at as BPF objects.
REGISTERED = {f"/proc/sys/net/ipv4/tcp_{which}_congestion_control" for which in ("available", "allowed")}


@dataclass(frozen=True)
class Counts:
    """A look at the host. Others may use it at the same time, so single looks differ by what they do."""

    #: Objects in use by cache.
    objects: dict[str, int]
    #: KiB by line of /proc/meminfo.
    memory_kib: dict[str, int]
    #: Open files of the whole host.
    open_files: int

    @property
    def figures(self) -> dict[str, int]:
        """All of them by name."""
        return {**self.objects, **self.memory_kib, "open files": self.open_files}


def look() -> Counts:
    """Counts now; caches that this kernel has under another name, or not for itself, are left out."""
    slabs = dict(re.findall(r"^(\S+) +(\d+)", Path("/proc/slabinfo").read_text(), re.M))
    memory = dict(re.findall(r"^(\w+): +(\d+) kB", Path("/proc/meminfo").read_text(), re.M))
    return Counts(
        {name: int(slabs[name]) for name in CACHES if name in slabs},
        {name: int(memory[name]) for name in MEMORY if name in memory},
        int(Path("/proc/sys/fs/file-nr").read_text().split()[0]),
    )


def held_bpf_objects() -> Objects:
    """Those that a living process has open."""
    processes = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return set().union(*(held_by(process) for process in processes))


def files() -> set[str]:
    """Files that whyperf could have left in folders that all programs share."""
    return {str(path) for pattern in FILES for path in Path("/").glob(pattern.lstrip("/"))}


def control_groups() -> set[str]:
    """Control groups made to disturb a trial whose keeper, which their name has, is gone."""
    return {
        str(path) for path in GROUPS.glob("**/whyperf-*") if not Path("/proc", path.name.rpartition("-")[2]).exists()
    }


@dataclass(frozen=True)
class Names:
    """What has a name or a number, and must be the same after a run."""

    devices: frozenset[str]
    mounted_namespaces: frozenset[str]
    sysctls: frozenset[tuple[str, str]]
    files: frozenset[str]
    control_groups: frozenset[str]

    def differences(self, earlier: "Names") -> list[str]:
        """What is new and what is gone, as text. Of files only what is new: runs next to this one have theirs."""
        found = []
        for name in self.__dataclass_fields__:
            before, now = getattr(earlier, name), getattr(self, name)
            found += [f"new in {name}: {item}" for item in sorted(now - before)]
            found += [f"gone from {name}: {item}" for item in sorted(before - now) if name != "files"]
        return found


def names() -> Names:
    """The named things now."""
    return Names(
        frozenset(host_state.devices()),
        frozenset(host_state.mounted_namespaces()),
        frozenset(item for item in host_state.sysctls().items() if item[0] not in REGISTERED),
        frozenset(files()),
        frozenset(control_groups()),
    )


def differences_that_stay(earlier: Names) -> list[str]:
    """What differs; other programs of this host may have something for a moment, so looks are repeated."""
    for _ in range(20):
        if not (found := names().differences(earlier)):
            return []
        time.sleep(0.5)
    return found
