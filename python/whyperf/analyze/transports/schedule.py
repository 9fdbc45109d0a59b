"""Which connections belong to which flow of a schedule, from a trial's manifest."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Document = Mapping[str, Any]


def scheduled_connections(manifest: Document, names: Sequence[str]) -> Iterator[dict[str, object]]:
    """A row of `inputs.SCHEDULE` for every connection of a trial with a schedule.

    `names` are the flows'. It is the view of the near hosts: each opens the connections, and numbers them in the order
    of the flows.
    """
    for host in manifest.get("hosts", {}).values():
        spec = host.get("spec") or {}
        if spec.get("opening") != "connect":
            continue
        connection = int(host.get("first_connection") or 0)
        for number, flow in enumerate(spec.get("schedule") or ()):
            for _ in range(flow["connections_count"]):
                yield {
                    "trial": manifest["trial"],
                    "cell": manifest["cell"],
                    "connection": connection,
                    "flow": number,
                    "name": names[number] if number < len(names) else f"flow {number + 1}",
                    "protocol": protocol(flow, spec),
                    "direction": "receive" if flow.get("role") == "receiver" else "send",
                    "dscp": flow.get("dscp"),
                    "start_ns": flow["start_ns"],
                    "stop_ns": flow["stop_ns"],
                    "trial_start_ns": int(manifest.get("start_mono_ns") or 0),
                }
                connection += 1


def protocol(flow: Document, spec: Document) -> str:
    """What carries a flow, in a word: the congestion control of TCP, else the transport."""
    transport = flow.get("transport") or spec.get("transport") or "tcp"
    if transport != "tcp":
        return str(transport)
    socket = spec.get("socket") or {}
    return str(flow.get("congestion_control") or socket.get("congestion_control") or "tcp")
