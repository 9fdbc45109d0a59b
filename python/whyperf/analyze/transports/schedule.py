"""Which connections belong to which flow of a schedule, from a trial's manifest."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from whyperf.analyze.fleet.inputs import pair_of
from whyperf.profile.schedule.own_schedule import MAX_FLOWS

Document = Mapping[str, Any]
MAX_CONNECTIONS = 65_536
"""Those of a flow at most: the highest level of the factor `connections`."""
MAX_OF_TRIAL = 1_000_000
"""Those of all hosts of a trial at most: a thousand pairs of a fleet with a thousand each."""


def scheduled_connections(
    manifest: Document, names: Sequence[str], parts: Sequence[Sequence[str]] = ()
) -> Iterator[dict[str, object]]:
    """A row of `inputs.SCHEDULE` for every connection of a trial with a schedule, `MAX_OF_TRIAL` at most.

    `names` are the flows'. It is the view of the near hosts: each opens the connections, and numbers them in the order
    of the flows. `parts` are the names of the flows that each pair of a fleet has, where it does not have all.
    """
    return islice(_connections(manifest, names[:MAX_FLOWS], parts), MAX_OF_TRIAL)


def _connections(
    manifest: Document, names: Sequence[str], parts: Sequence[Sequence[str]]
) -> Iterator[dict[str, object]]:
    for label, host in manifest.get("hosts", {}).items():
        spec = host.get("spec") or {}
        if spec.get("opening") != "connect":
            continue
        connection = int(host.get("first_connection") or 0)
        own = _own(label, names, parts)
        for place, flow in enumerate(islice(spec.get("schedule") or (), MAX_FLOWS)):
            number = own[place] if place < len(own) else place
            # The numbers are of the result's author; connections have rows of their own.
            for _ in range(min(flow["connections_count"], MAX_CONNECTIONS)):
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


def _own(label: str, names: Sequence[str], parts: Sequence[Sequence[str]]) -> Sequence[int]:
    """The flows of a pair by their place in the schedule; near hosts are called near, near2 and so on."""
    pair = pair_of(label)
    if not 0 <= pair < len(parts):
        return range(len(names))
    return [place for place, name in enumerate(names) if name in parts[pair]]


def protocol(flow: Document, spec: Document) -> str:
    """The protocol that carries a flow, in a word: the congestion control of TCP, else the transport."""
    transport = flow.get("transport") or spec.get("transport") or "tcp"
    if transport != "tcp":
        return str(transport)
    socket = spec.get("socket") or {}
    return str(flow.get("congestion_control") or socket.get("congestion_control") or "tcp")
