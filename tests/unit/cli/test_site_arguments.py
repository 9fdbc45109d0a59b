"""The command lines of `whyperf site k8s` and `whyperf site slurm`."""

import io
import json
import sys

import pytest

from whyperf import __version__
from whyperf.cli import main

MANIFEST, SCRIPT = ["k8s", "manifest"], ["slurm", "script"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([*MANIFEST, "--evidence", "all"], '--evidence "all" is not known'),
        ([*MANIFEST, "--node", "a,B_c"], '--node: "B_c" cannot be used'),
        ([*MANIFEST, "--node", "a,b,a"], "--node: a is there twice"),
        ([*MANIFEST, "--node", "a"], "--node: a alone is one pod; name two nodes, or add --daemonset"),
        ([*MANIFEST, "--namespace", "My"], '--namespace: "My" cannot be used'),
        ([*MANIFEST, "--image", "a b"], '--image: "a b" cannot be used; give it as in `docker pull`'),
        ([*MANIFEST, "--seccomp", "../x"], '--seccomp: "../x" cannot be used'),
        ([*MANIFEST, "--kernel", "3.10"], '--kernel: "3.10" is no version'),
        (["k8s", "hosts", "--daemonset"], "--daemonset is for whyperf site k8s manifest; leave it out"),
        ([*SCRIPT, "--from", "node1"], "--from is there without --to"),
        ([*SCRIPT, "--from", "a", "--to", "b", "--servers", "2"], "--servers is for nodes that Slurm chooses"),
        ([*SCRIPT, "--from", "a\n#SBATCH -x", "--to", "b"], "--from:"),
        ([*SCRIPT, "--partition", "a b"], '--partition: "a b" cannot be used'),
        ([*SCRIPT, "--sbatch", "--x\nrm -rf /"], "--sbatch:"),
        ([*SCRIPT, "--", "--via", "ssh"], "--via behind -- is given by the job script"),
    ],
)
def test_a_mistake_at_a_site_is_one_sentence(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert says in streams.err
    assert streams.err.count("\n") == 1


def test_a_manifest_has_what_was_asked(capsys: pytest.CaptureFixture[str]) -> None:
    asked = "--daemonset --evidence segments,profile --node a,b --kernel 5.10.0-28-amd64 -n x"
    assert main([*MANIFEST, *asked.split()]) == 0
    document = json.loads(capsys.readouterr().out)
    spec = document["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert document["metadata"]["namespace"] == "x"
    assert container["image"] == f"whyperf-agent:{__version__}"
    assert container["securityContext"]["capabilities"]["add"] == ["BPF", "PERFMON", "SYS_RESOURCE", "SYSLOG"]


def test_a_script_passes_on_what_is_behind_the_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SCRIPT, "--clients", "2", "--sbatch=--qos=long", "--", "bulk", "--trials", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "#SBATCH --nodes=3" in lines
    assert "#SBATCH --qos=long" in lines
    assert "exec whyperf run bulk --trials 3 \\" in lines


def test_pods_become_a_file_of_hosts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pod = {"metadata": {"name": "w-1"}, "spec": {"nodeName": "n1"}, "status": {"phase": "Running", "podIP": "10.0.0.1"}}
    piped = io.TextIOWrapper(io.BytesIO(json.dumps({"items": [pod]}).encode()))
    monkeypatch.setattr(sys, "stdin", piped)
    assert main(["k8s", "hosts"]) == 0
    assert '[hosts."n1"]\ndestination = "w-1"\naddress = "10.0.0.1"\n' in capsys.readouterr().out
