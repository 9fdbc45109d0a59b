"""Pods that idle until `kubectl exec` starts an agent in them, with the privileges of the evidence that is wanted.

They open no port, have no token of a service account and need no role: who may `kubectl exec` may measure.

Sources: the API reference of Pod v1 and DaemonSet apps/v1; Pod Security Standards for what counts as restricted.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from whyperf.run.grants import capabilities

Object = dict[str, object]

#: Kernels since then need fewest capabilities.
NEWEST_KERNEL = (5, 11)
#: Names of the kernel's functions are hidden without it (kptr_restrict 1, proc_sys_kernel(5)).
NAMES_OF_FUNCTIONS = "cap_syslog"
ADMIN = "cap_sys_admin"
#: Of no person. Only root keeps the capabilities of a container: Kubernetes sets no ambient ones.
USER_ID = 65_532
#: A container's first process ignores signals that it does not handle, and inherits what lost its parent.
IDLE = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"
#: The only place that can be written to: pushed agents, logs before they are sent, Unix sockets.
SCRATCH = "/tmp"
STOPS_WITHIN_S = 5
APPLICATION = "whyperf"
LABEL = "app.kubernetes.io/name"
#: Which sysctl lets the agent time ICMP echoes without a privilege: one of those that Kubernetes calls safe.
PING_GROUPS: Object = {"name": "net.ipv4.ping_group_range", "value": "0 2147483647"}


@dataclass(frozen=True)
class Wanted:
    """Which pods are wanted.

    `evidence` has levels as of `--evidence`, `nodes` names of nodes (none: the scheduler chooses two), and `kernel` the
    oldest kernel of the nodes. `seccomp` is `RuntimeDefault`, `Unconfined` or the path of a profile on the nodes.
    """

    image: str
    evidence: Collection[str] = ("user",)
    name: str = APPLICATION
    namespace: str | None = None
    nodes: Sequence[str] = ()
    is_daemon_set: bool = False
    uses_host_network: bool = False
    seccomp: str = "RuntimeDefault"
    kernel: tuple[int, int] = NEWEST_KERNEL


def manifest(wanted: Wanted) -> Object:
    """A DaemonSet, or a list of pods: one for each node, two without nodes."""
    if wanted.is_daemon_set:
        return _daemon_set(wanted)
    count = len(wanted.nodes) or 2
    pods: list[Object] = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": _metadata(wanted, f"{wanted.name}-{number}"),
            "spec": _pod(wanted, wanted.nodes[number - 1 : number]),
        }
        for number in range(1, count + 1)
    ]
    return {"apiVersion": "v1", "kind": "List", "items": pods}


def container_capabilities(evidence: Iterable[str], kernel: tuple[int, int] = NEWEST_KERNEL) -> tuple[str, ...]:
    """The capabilities that levels of evidence take in a container that has no others."""
    levels = set(evidence)
    if levels <= {"user"}:
        return ()
    needed = capabilities(kernel)
    return (*needed, NAMES_OF_FUNCTIONS) if "profile" in levels else needed


def _daemon_set(wanted: Wanted) -> Object:
    labels = _labels(wanted)
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": _metadata(wanted, wanted.name),
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": _pod(wanted, wanted.nodes)},
        },
    }


def _labels(wanted: Wanted) -> Object:
    return {LABEL: APPLICATION, "app.kubernetes.io/instance": wanted.name}


def _metadata(wanted: Wanted, name: str) -> Object:
    place: Object = {} if wanted.namespace is None else {"namespace": wanted.namespace}
    return {"name": name, **place, "labels": _labels(wanted)}


def _pod(wanted: Wanted, nodes: Sequence[str]) -> Object:
    spec: Object = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": STOPS_WITHIN_S,
        "securityContext": _pod_security(wanted),
        "containers": [_container(wanted)],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
    }
    if wanted.uses_host_network:
        spec["hostNetwork"] = True
    if affinity := _affinity(wanted, nodes):
        spec["affinity"] = affinity
    return spec


def _pod_security(wanted: Wanted) -> Object:
    profile: Object = {"type": wanted.seccomp}
    if wanted.seccomp not in {"RuntimeDefault", "Unconfined"}:
        profile = {"type": "Localhost", "localhostProfile": wanted.seccomp}
    # The network's sysctls are the host's where the network is; the API refuses them there.
    sysctls: Object = {} if wanted.uses_host_network else {"sysctls": [PING_GROUPS]}
    return {"seccompProfile": profile, **sysctls}


def _container(wanted: Wanted) -> Object:
    added = container_capabilities(wanted.evidence, wanted.kernel)
    user: Object = {"runAsNonRoot": True, "runAsUser": USER_ID, "runAsGroup": USER_ID}
    if added:
        user = {"runAsUser": 0, "runAsGroup": 0}
    names = [name.removeprefix("cap_").upper() for name in added]
    return {
        "name": "agent",
        "image": wanted.image,
        "command": ["sh", "-c", IDLE],
        "env": [{"name": name, "value": SCRATCH} for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME")],
        "securityContext": {
            **user,
            # With this capability the API takes nothing else.
            "allowPrivilegeEscalation": ADMIN in added,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"], **({"add": names} if names else {})},
        },
        "volumeMounts": [{"name": "scratch", "mountPath": SCRATCH}],
    }


def _affinity(wanted: Wanted, nodes: Sequence[str]) -> Object:
    if nodes:
        # A selector of fields has one value, and its terms are alternatives.
        terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]} for node in nodes]
        return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    if wanted.is_daemon_set:
        return {}
    apart: Object = {"labelSelector": {"matchLabels": _labels(wanted)}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
