"""Files of hosts from the list of pods."""

import json
import tomllib
from typing import Any

import pytest

from whyperf.sites.pods import PodsError, RunningPod, hosts_file, running_pods


def pod(name: str, node: str | None = "n1", address: str | None = "10.0.0.1", phase: str = "Running") -> dict[str, Any]:
    """A pod as the API has it, without what does not matter."""
    return {
        "metadata": {"name": name},
        "spec": {} if node is None else {"nodeName": node},
        "status": {"phase": phase, **({} if address is None else {"podIP": address})},
    }


def listed(*pods: object) -> bytes:
    """What kubectl prints."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}).encode()


def test_pods_that_run_are_hosts() -> None:
    content = listed(pod("b", "n2", "fd00::2"), pod("a"), pod("c", phase="Pending"), pod("d", address=None))
    assert running_pods(content) == (RunningPod("a", "n1", "10.0.0.1"), RunningPod("b", "n2", "fd00::2"))


def test_a_pod_alone_on_its_node_has_the_nodes_name() -> None:
    pods = [
        RunningPod("w-1", "n1", "10.0.0.1"),
        RunningPod("w-2", "n2", "10.0.0.2"),
        RunningPod("w-3", "n2", "10.0.0.3"),
    ]
    assert tomllib.loads(hosts_file(pods)) == {
        "groups": {"pods": ["n1", "w-2", "w-3"]},
        "hosts": {
            "n1": {"destination": "w-1", "address": "10.0.0.1"},
            "w-2": {"destination": "w-2", "address": "10.0.0.2"},
            "w-3": {"destination": "w-3", "address": "10.0.0.3"},
        },
    }


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"No resources found", "the pods are no JSON"),
        (b"\xff", "the pods are no JSON"),
        (b"[]", "the input is no list of pods; give what `kubectl get pods -o json` prints"),
        (json.dumps(pod("a")).encode(), "the input is no list of pods"),
        (listed(), "of 0 pods none runs and has an address"),
        (listed(pod("a", phase="Pending"), 7, {"metadata": []}), "of 3 pods none runs and has an address"),
        (listed(pod("a", address="x\x1b")), "a has no numeric address: x"),
        (b"[" * 100_000, "the pods are no JSON"),
    ],
)
def test_what_is_no_list_of_pods_is_one_sentence(content: bytes, says: str) -> None:
    with pytest.raises(PodsError) as raised:
        running_pods(content)
    assert says in str(raised.value)
    assert str(raised.value).isprintable()
