"""Results with stack samples: synthetic trials and tables of samples, for tests of what is made of a record."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.unit.analyze.cost.cost_samples import Stack, tables
from whyperf.record import Experiment

WRITE = "main entry_SYSCALL_64 do_syscall_64 tcp_sendmsg"
RECEIVE = "handle_softirqs net_rx_action tcp_v4_rcv"
#: Of a sender: copying, sending, ACKs on top of a call, ACKs elsewhere.
SENDER: tuple[Stack, ...] = (
    ("load", "process", f"{WRITE} _copy_from_iter", 400),
    ("load", "process", f"{WRITE} __tcp_transmit_skb ip_queue_xmit", 90),
    ("load", "process", "main", 10),
    ("load", "softirq", f"{WRITE} {RECEIVE} tcp_ack", 80),
    ("idle", "softirq", f"do_idle {RECEIVE} tcp_ack", 20),
    ("idle", "idle", "do_idle", 100),
)
RECEIVER: tuple[Stack, ...] = (
    ("load", "process", "main entry_SYSCALL_64 do_syscall_64 tcp_recvmsg _copy_to_iter", 300),
    ("idle", "softirq", f"do_idle {RECEIVE} tcp_queue_rcv", 100),
)
#: Of a sender: many functions with long names, each a small part.
NARROW_STACKS: tuple[Stack, ...] = tuple(
    ("load", "process", f"{WRITE} tcp_sendmsg_locked_with_a_name_that_is_long_{place} skb_release_data_{place}", 9)
    for place in range(24)
)
STACKS: Mapping[str, Sequence[Stack]] = {"near": SENDER, "far": RECEIVER}


def add_samples(folder: Path, stacks: Mapping[str, Sequence[Stack]] = STACKS, lost: int = 10) -> Experiment:
    """Adds samples of these hosts to all trials of a results folder; each host lost some, and sampling took 1 ms."""
    for home in sorted((folder / "trials").iterdir()):
        manifest = json.loads((home / "manifest.json").read_text())
        for host, own in stacks.items():
            for name, table in zip(("stacks", "functions"), tables(own, home.name, host), strict=True):
                table.drop("trial", "cell", strict=False).write_parquet(home / f"{name}.{host}.parquet")
            report = {"event": "cpu_clock", "reason": None, "unnamed": None, "own_ns": 1_000_000}
            samples = sum(stack[3] for stack in own) + lost
            manifest["hosts"][host]["evidence"] = {
                "profile": {**report, "samples_count": samples, "lost_samples_count": lost}
            }
        (home / "manifest.json").write_text(json.dumps(manifest))
    return Experiment.open(folder)
