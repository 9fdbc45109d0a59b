"""`whyperf site k8s`: pods for agents, as `kubectl apply` takes them, and the hosts that these pods are."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from whyperf.cli.commands import completion
from whyperf.cli.exits import DONE
from whyperf.cli.streams import print_json

NAME = "k8s"
EXAMPLE = (
    "Examples: whyperf site k8s manifest --image registry.example/whyperf-agent:0.2.0 | kubectl apply -f - · "
    "whyperf site k8s manifest --daemonset --evidence counters --host-network · "
    "kubectl get pods -o json | whyperf site k8s hosts > pods.toml"
)


class What(StrEnum):
    """The choice of what is printed."""

    MANIFEST = "manifest"
    HOSTS = "hosts"


def command(  # noqa: PLR0917 - typer fills them by name
    context: typer.Context,
    what: Annotated[
        What,
        typer.Argument(
            metavar="manifest|hosts",
            help="Print the manifest of the pods, or a file for --hosts from the output of `kubectl get pods -o json`.",
        ),
    ],
    image: Annotated[
        str | None,
        typer.Option(
            "--image", metavar="IMAGE", help="Image with the agent. Default: whyperf-agent with the version of whyperf."
        ),
    ] = None,
    daemonset: Annotated[
        bool, typer.Option("--daemonset", help="A pod on each node, or on each of --node, instead of two pods.")
    ] = False,
    node: Annotated[
        str | None,
        typer.Option("--node", metavar="NAME,…", help="Nodes for the pods. Default: two that Kubernetes chooses."),
    ] = None,
    evidence: Annotated[
        str,
        typer.Option(
            "--evidence",
            metavar="LEVEL,…",
            help="Evidence that the privileges suffice for: user (none), counters, segments, profile, stages.",
            autocompletion=completion.evidence,
        ),
    ] = "user",
    host_network: Annotated[
        bool, typer.Option("--host-network", help="Measure the network of the nodes instead of that of the pods.")
    ] = False,
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", metavar="NAME", help="Namespace of the pods.")
    ] = None,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Name of the DaemonSet; of pods, followed by a number.")
    ] = "whyperf",
    seccomp: Annotated[
        str,
        typer.Option(
            "--seccomp",
            metavar="PROFILE",
            help="RuntimeDefault, Unconfined, or the file of a profile on the nodes, below the folder of the kubelet.",
        ),
    ] = "RuntimeDefault",
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel", metavar="VERSION", help="Oldest kernel of the nodes, such as 5.10. Default: 5.11 or newer."
        ),
    ] = None,
) -> int:
    """Prints pods in which kubectl exec starts agents, with the privileges of an evidence level and no others."""
    from whyperf.cli.inputs.sites import wanted_pods  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.sites.kubernetes import manifest  # noqa: PLC0415

    if what is What.HOSTS:
        return _print_hosts(context)
    wanted = wanted_pods(
        image=image,
        evidence=evidence,
        name=name,
        namespace=namespace,
        nodes=node,
        is_daemon_set=daemonset,
        uses_host_network=host_network,
        seccomp=seccomp,
        kernel=kernel,
    )
    # JSON is YAML, too (YAML 1.2, section 1.3), and needs no library.
    print_json(manifest(wanted))
    return DONE


def _print_hosts(context: typer.Context) -> int:
    from whyperf.cli.exits import UsageError  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.cli.inputs.sites import given_options, read_pods  # noqa: PLC0415
    from whyperf.sites.pods import PodsError, hosts_file, running_pods  # noqa: PLC0415

    if (option := next(given_options(context), None)) is not None:
        raise UsageError(f"{option} is for whyperf site k8s manifest; leave it out")
    if sys.stdin.isatty():
        raise UsageError("pipe the pods in: kubectl get pods -o json | whyperf site k8s hosts > pods.toml")
    try:
        typer.echo(hosts_file(running_pods(read_pods(sys.stdin.buffer))), nl=False)
    except PodsError as error:
        raise UsageError(str(error)) from None
    return DONE
