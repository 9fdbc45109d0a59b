"""The pods that `whyperf k8s manifest` prints: their privileges, and that kubectl reads every field of them."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from whyperf.sites.kubernetes import NEWEST_KERNEL, Object, Wanted, container_capabilities, manifest

IMAGE = "registry.example/whyperf-agent:1"


def specs(document: Object) -> list[Any]:
    """The specifications of all pods of a manifest."""
    plain: Any = document
    return [plain["spec"]["template"]["spec"]] if "spec" in plain else [item["spec"] for item in plain["items"]]


@pytest.mark.parametrize(
    ("evidence", "kernel", "capabilities"),
    [
        (["user"], NEWEST_KERNEL, []),
        (["counters"], NEWEST_KERNEL, ["BPF", "PERFMON"]),
        (["segments"], NEWEST_KERNEL, ["BPF", "PERFMON"]),
        (["stages"], NEWEST_KERNEL, ["BPF", "PERFMON"]),
        (["profile"], NEWEST_KERNEL, ["BPF", "PERFMON", "SYSLOG"]),
        (["segments", "profile"], NEWEST_KERNEL, ["BPF", "PERFMON", "SYSLOG"]),
        (["counters"], (5, 10), ["BPF", "PERFMON", "SYS_RESOURCE"]),
        (["counters"], (5, 7), ["SYS_ADMIN", "SYS_RESOURCE"]),
        (["user"], (5, 7), []),
    ],
)
def test_each_level_has_its_capabilities_and_no_others(
    evidence: list[str], kernel: tuple[int, int], capabilities: list[str]
) -> None:
    assert [name.upper().removeprefix("CAP_") for name in container_capabilities(evidence, kernel)] == capabilities
    for is_daemon_set in (False, True):
        wanted = Wanted(IMAGE, evidence, kernel=kernel, is_daemon_set=is_daemon_set)
        for spec in specs(manifest(wanted)):
            (container,) = spec["containers"]
            security = container["securityContext"]
            assert security["capabilities"] == {"drop": ["ALL"], **({"add": capabilities} if capabilities else {})}
            # The API server takes false with any capability but this one.
            assert security["allowPrivilegeEscalation"] is ("SYS_ADMIN" in capabilities)
            # A user who is not root loses the capabilities when a program is started (capabilities(7)).
            assert (security["runAsUser"] == 0) is bool(capabilities)
            assert security.get("runAsNonRoot", False) is not bool(capabilities)
            assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}


@pytest.mark.parametrize("evidence", ["user", "counters"])
@pytest.mark.parametrize("host_network", [False, True])
def test_no_pod_has_a_port_a_token_or_a_writable_root(evidence: str, host_network: bool) -> None:
    for spec in specs(manifest(Wanted(IMAGE, [evidence], uses_host_network=host_network))):
        assert spec["automountServiceAccountToken"] is False
        (container,) = spec["containers"]
        assert "ports" not in container
        assert "privileged" not in container["securityContext"]
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        # The network's sysctls are the node's there, and the API refuses them.
        assert ("sysctls" in spec["securityContext"]) is not host_network
        assert spec.get("hostNetwork", False) is host_network


def test_two_pods_are_on_two_nodes() -> None:
    document: Any = manifest(Wanted(IMAGE, name="lab", namespace="net"))
    assert [item["metadata"]["name"] for item in document["items"]] == ["lab-1", "lab-2"]
    for item in document["items"]:
        assert item["metadata"]["namespace"] == "net"
        (apart,) = item["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert apart["topologyKey"] == "kubernetes.io/hostname"
        labels = apart["labelSelector"]["matchLabels"]
        assert labels.items() <= item["metadata"]["labels"].items()


def nodes_of(spec: Any) -> list[list[str]]:
    """The names of nodes that a pod may run on, by term."""
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return [term["matchFields"][0]["values"] for term in required["nodeSelectorTerms"]]


def test_named_nodes_have_a_pod_each() -> None:
    pods = specs(manifest(Wanted(IMAGE, nodes=["a", "b", "c"])))
    assert [nodes_of(spec) for spec in pods] == [[["a"]], [["b"]], [["c"]]]
    # A selector of fields takes one value, so each node is a term.
    (template,) = specs(manifest(Wanted(IMAGE, nodes=["a", "b"], is_daemon_set=True)))
    assert nodes_of(template) == [["a"], ["b"]]
    (everywhere,) = specs(manifest(Wanted(IMAGE, is_daemon_set=True)))
    assert "affinity" not in everywhere


@pytest.mark.parametrize(
    ("seccomp", "profile"),
    [
        ("Unconfined", {"type": "Unconfined"}),
        ("profiles/bpf.json", {"type": "Localhost", "localhostProfile": "profiles/bpf.json"}),
    ],
)
def test_another_seccomp_profile(seccomp: str, profile: Object) -> None:
    for spec in specs(manifest(Wanted(IMAGE, seccomp=seccomp))):
        assert spec["securityContext"]["seccompProfile"] == profile


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
@pytest.mark.parametrize("is_daemon_set", [False, True])
@pytest.mark.parametrize("nodes", [[], ["a", "b"]])
def test_kubectl_reads_every_field(is_daemon_set: bool, nodes: list[str], tmp_path: Path) -> None:
    """It drops what its types do not have, so a misspelled field would be missing from what it prints."""
    wanted = Wanted(
        IMAGE, ["counters"], "lab", "net", nodes, is_daemon_set=is_daemon_set, uses_host_network=bool(nodes)
    )
    document = manifest(wanted)
    path = tmp_path / "pods.json"
    path.write_text(json.dumps(document))
    command = ["kubectl", "set", "image", "--local", "--filename", str(path), f"agent={IMAGE}x", "--output=json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    printed, at, decoder = [], 0, json.JSONDecoder()
    while at < len(done.stdout.rstrip()):
        found, end = decoder.raw_decode(done.stdout, at)
        printed.append(found)
        at = end + 1
    plain: Any = document
    expected = plain.get("items", [document])
    items = [item for found in printed for item in (found["items"] if found["kind"] == "List" else [found])]
    assert len(items) == len(expected)
    for item, given in zip(items, expected, strict=True):
        assert list(lacking(json.loads(json.dumps(given).replace(IMAGE, f"{IMAGE}x")), item)) == []


def lacking(given: Any, read: Any, where: str = "") -> list[str]:
    """Places of a document that another one lacks, or has otherwise."""
    if isinstance(given, dict):
        return [
            place
            for key, value in given.items()
            for place in (lacking(value, read[key], f"{where}.{key}") if key in read else [f"{where}.{key}"])
        ]
    if isinstance(given, list):
        if len(given) != len(read):
            return [where]
        return [place for item, other in zip(given, read, strict=True) for place in lacking(item, other, f"{where}[]")]
    return [] if given == read else [where]
