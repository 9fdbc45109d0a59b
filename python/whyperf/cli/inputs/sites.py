"""The meaning of the command line of `whyperf site k8s` and `whyperf site slurm`."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from whyperf import __version__
from whyperf.cli.exits import SHOWN_CHARACTERS, UsageError
from whyperf.cli.inputs.evidence import asked_evidence
from whyperf.foreign import MAX_LARGE_DOCUMENT_BYTES, quoted
from whyperf.sites.kubernetes import NEWEST_KERNEL, Wanted
from whyperf.sites.slurm import Job

#: RFC 1123, section 2.1, as Kubernetes has it: a label, and labels with dots between them.
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_NODE = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*")
#: A pod has the name, a dash and a number, and a controller's pods five more characters.
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,45}[a-z0-9])?")
_NAMESPACE = re.compile(_LABEL)
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,500}")
_PROFILE = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._/-]{0,250}")
_KERNEL = re.compile(r"(\d{1,3})\.(\d{1,3})(\.\d.*|-.*)?")
_FIRST_BTF = (4, 18)
#: Names of nodes with ranges, as Slurm and `whyperf run` have them.
_NODES = re.compile(r"[A-Za-z0-9_.,\[\]-]+")
_WORD = re.compile(r"[A-Za-z0-9_.,-]+")
_DIRECTIVE = re.compile(r"--?[A-Za-z][^\n\r]*")
#: These are given by the script itself.
_OWN = ("--via", "--from", "--to", "--out")


def wanted_pods(
    *,
    image: str | None,
    evidence: str,
    name: str,
    namespace: str | None,
    nodes: str | None,
    is_daemon_set: bool,
    uses_host_network: bool,
    seccomp: str,
    kernel: str | None,
) -> Wanted:
    """The pods that are asked for.

    Raises:
        UsageError: Kubernetes would refuse a name, or a word is not known.
    """
    asked_evidence(evidence, None)
    named = [] if nodes is None else [node.strip() for node in nodes.split(",")]
    _check("--name", name, _NAME, "give up to 47 small letters, digits and dashes")
    for node in named:
        _check("--node", node, _NODE, "give the names that `kubectl get nodes` prints")
    if twice := next((node for node in named if named.count(node) > 1), None):
        raise UsageError(f"--node: {twice} is there twice; name each node once")
    if len(named) == 1 and not is_daemon_set:
        raise UsageError(f"--node: {named[0]} alone is one pod; name two nodes, or add --daemonset")
    if namespace is not None:
        _check("--namespace", namespace, _NAMESPACE, "give up to 63 small letters, digits and dashes")
    if image is not None:
        _check("--image", image, _IMAGE, "give it as in `docker pull`")
    _check("--seccomp", seccomp, _PROFILE, "give RuntimeDefault, Unconfined or a path such as profiles/whyperf.json")
    return Wanted(
        image=f"whyperf-agent:{__version__}" if image is None else image,
        evidence=tuple(word.strip() for word in evidence.split(",")),
        name=name,
        namespace=namespace,
        nodes=named,
        is_daemon_set=is_daemon_set,
        uses_host_network=uses_host_network,
        seccomp=seccomp,
        kernel=_kernel(kernel),
    )


def _kernel(text: str | None) -> tuple[int, int]:
    if text is None:
        return NEWEST_KERNEL
    found = _KERNEL.fullmatch(text)
    if found is None or (version := (int(found[1]), int(found[2]))) < _FIRST_BTF:
        raise UsageError(
            f'--kernel: "{quoted(text, SHOWN_CHARACTERS)}" is no version from 4.18 on; give it as `uname -r` prints it'
        )
    return version


def job_of(
    *,
    from_nodes: str | None,
    to_nodes: str | None,
    clients: int | None,
    servers: int | None,
    minutes: int,
    partition: str | None,
    account: str | None,
    directives: Sequence[str],
    run: Sequence[str],
) -> Job:
    """The job that is asked for.

    Raises:
        UsageError: options that exclude each other, or a text that would be more than one option of the script.
    """
    if (from_nodes is None) != (to_nodes is None):
        given, lacking = ("--from", "--to") if to_nodes is None else ("--to", "--from")
        raise UsageError(f"{given} is there without {lacking}; name both, or give --clients and --servers")
    for option, count in (("--clients", clients), ("--servers", servers)):
        if count is not None and from_nodes is not None:
            raise UsageError(f"{option} is for nodes that Slurm chooses; leave it out with --from and --to")
    for option, nodes in (("--from", from_nodes), ("--to", to_nodes)):
        if nodes is not None:
            _check(option, nodes, _NODES, "give a set such as node[1-4]")
    for option, word in (("--partition", partition), ("--account", account)):
        if word is not None:
            _check(option, word, _WORD, "give its name as Slurm prints it")
    for directive in directives:
        _check("--sbatch", directive, _DIRECTIVE, "give an option with its dashes, such as --qos=long")
    if own := next((word for word in run if word.partition("=")[0] in _OWN), None):
        raise UsageError(f"{own} behind -- is given by the job script; leave it out there")
    return Job(
        from_nodes=from_nodes,
        to_nodes=to_nodes,
        clients=clients or 1,
        servers=servers or 1,
        minutes=minutes,
        partition=partition,
        account=account,
        directives=tuple(directives),
        run=tuple(run),
    )


def given_options(context: Any) -> Iterator[str]:
    """The options that stand on a command line."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name)
        if parameter.param_type_name == "option" and source is not None and source.name == "COMMANDLINE":
            yield parameter.opts[0]


def read_pods(stream: BinaryIO) -> bytes:
    """Reads the content of a stream.

    Raises:
        UsageError: it is too large.
    """
    read = stream.read(MAX_LARGE_DOCUMENT_BYTES + 1)
    if len(read) > MAX_LARGE_DOCUMENT_BYTES:
        raise UsageError(
            f"the pods take over {MAX_LARGE_DOCUMENT_BYTES >> 20} MiB; select some with kubectl get pods -l"
        )
    return read


def _check(option: str, text: str, allowed: re.Pattern[str], remedy: str) -> None:
    if allowed.fullmatch(text) is None:
        raise UsageError(f'{option}: "{quoted(text, SHOWN_CHARACTERS)}" cannot be used; {remedy}')
