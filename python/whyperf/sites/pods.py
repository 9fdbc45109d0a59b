"""A file of hosts for `--hosts` from what `kubectl get pods -o json` prints: the names of pods do not resolve."""

import ipaddress
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whyperf.foreign import parse_json, quoted


class PodsError(ValueError):
    """The input has no pods that can be measured; the text is a sentence."""


@dataclass(frozen=True)
class RunningPod:
    """A pod with an address, and the node that it runs on."""

    name: str
    node: str
    address: str


def running_pods(content: bytes) -> tuple[RunningPod, ...]:
    """The running pods of a list, by name.

    Raises:
        PodsError: it is no list of pods, or none of them runs.
    """
    try:
        document: object = parse_json(content)
    except ValueError as error:
        raise PodsError(
            f"the pods are no JSON ({quoted(str(error), 80)}); give what `kubectl get pods -o json` prints"
        ) from None
    items = document.get("items") if isinstance(document, dict) else None
    if not isinstance(items, list):
        raise PodsError("the input is no list of pods; give what `kubectl get pods -o json` prints")
    pods = sorted(_running(items), key=lambda pod: pod.name)
    if not pods:
        raise PodsError(f"of {len(items)} pods none runs and has an address; `kubectl get pods` prints their states")
    return tuple(pods)


def hosts_file(pods: Sequence[RunningPod]) -> str:
    """The hosts in TOML, with all of them as the group `pods`.

    A pod that is alone on its node has the node's name, so that sets such as `node[1-15]` can be used.
    """
    on_node = Counter(pod.node for pod in pods)
    named = {pod.node if on_node[pod.node] == 1 else pod.name: pod for pod in pods}
    hosts = "".join(
        f"\n[hosts.{json.dumps(name)}]\ndestination = {json.dumps(pod.name)}\naddress = {json.dumps(pod.address)}\n"
        for name, pod in named.items()
    )
    return f"[groups]\npods = {json.dumps(list(named))}\n{hosts}"


def _running(items: Sequence[object]) -> Iterator[RunningPod]:
    for item in items:
        pod = _mapping(item)
        name, status = _mapping(pod.get("metadata")).get("name"), _mapping(pod.get("status"))
        node, address = _mapping(pod.get("spec")).get("nodeName"), status.get("podIP")
        if status.get("phase") != "Running" or not all(isinstance(text, str) for text in (name, node, address)):
            continue
        try:
            yield RunningPod(str(name), str(node), str(ipaddress.ip_address(str(address))))
        except ValueError:
            raise PodsError(f"{quoted(str(name))} has no numeric address: {quoted(str(address))}") from None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
