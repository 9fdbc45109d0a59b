"""Which commands an administrator is given, on hosts of many kinds. tests/e2e/test_grant.py runs them on this one."""

from typing import Any, cast

import pytest

from whyperf.run.grants import Grant, Grants, grants
from whyperf.wire import HostFacts

REFUSED = "the kernel does not let this user load tracing programs; run as root, or with CAP_BPF and CAP_PERFMON"
ALL = ["cap_net_admin", "cap_net_raw", "cap_sys_admin", "cap_sys_nice", "cap_sys_resource", "cap_perfmon", "cap_bpf"]


def found(
    kernel: str = "6.18.44", *, loads: bool = False, bpf: str = REFUSED, icmp: bool = False, **more: Any
) -> Grants:
    """The grants on a host of a user without privileges; `more` are those that it has."""
    privileges = {
        "effective": [],
        "bounding": ALL,
        "no_new_privileges": False,
        "is_nosuid": False,
        "binary": "/home/u/my venv/bin/whyperf-agent",
        "is_binary_safe": False,
        **more,
    }
    facts = {
        "kernel": kernel,
        "abilities": [
            {"name": "bpf", "can": loads, "reason": bpf, "lost_without": ""},
            {"name": "icmp_probe", "can": icmp, "reason": "", "lost_without": ""},
        ],
        "hooks": [{"name": "net:net_dev_queue", "can": loads, "reason": "" if loads else bpf, "gives": ""}],
        "privileges": privileges,
    }
    return grants(cast("HostFacts", facts))


def counters(*arguments: Any, **more: Any) -> Grant:
    """Those of the level counters."""
    return found(*arguments, **more).levels[1]


def test_a_binary_of_the_user_is_copied_and_its_path_quoted() -> None:
    assert counters().commands == (
        "sudo groupadd --force --system whyperf",
        'sudo usermod --append --groups whyperf "$USER"',
        "sudo install -o root -g whyperf -m 0750 '/home/u/my venv/bin/whyperf-agent' /usr/local/bin/whyperf-agent",
        "sudo setcap cap_bpf,cap_perfmon+ep /usr/local/bin/whyperf-agent",
    )


def test_a_binary_of_root_stays_and_gets_its_capabilities_last() -> None:
    commands = counters(binary="/usr/bin/whyperf-agent", is_binary_safe=True).commands
    assert commands[2:] == (
        "sudo chgrp whyperf /usr/bin/whyperf-agent",
        "sudo chmod 0750 /usr/bin/whyperf-agent",
        "sudo setcap cap_bpf,cap_perfmon+ep /usr/bin/whyperf-agent",
    )


def test_a_binary_where_files_give_no_capabilities_is_copied() -> None:
    commands = counters(binary="/mnt/whyperf-agent", is_binary_safe=True, is_nosuid=True).commands
    assert "sudo install -o root -g whyperf -m 0750 /mnt/whyperf-agent /usr/local/bin/whyperf-agent" in commands


@pytest.mark.parametrize(
    ("kernel", "capabilities"),
    [
        ("5.4.0-150-generic", "cap_sys_admin,cap_sys_resource"),
        ("5.8.0", "cap_bpf,cap_perfmon,cap_sys_resource"),
        ("5.10.0-30-amd64", "cap_bpf,cap_perfmon,cap_sys_resource"),
        ("5.11.0", "cap_bpf,cap_perfmon"),
    ],
)
def test_older_kernels_need_others(kernel: str, capabilities: str) -> None:
    assert counters(kernel).commands[-1] == f"sudo setcap {capabilities}+ep /usr/local/bin/whyperf-agent"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"bpf": "this kernel was built without BTF (CONFIG_DEBUG_INFO_BTF)"}, "without BTF"),
        (
            {"bounding": ["cap_perfmon"]},
            "lacks cap_bpf, so no file can give that; start the container with --cap-add BPF",
        ),
        ({"no_new_privileges": True}, "no_new_privs"),
    ],
)
def test_what_no_command_can_grant_has_a_reason_and_no_command(more: dict[str, Any], reason: str) -> None:
    every = found(**more)
    assert [grant.state for grant in every.levels] == ["allowed", "impossible", "impossible"]
    assert reason in every.levels[1].reason
    assert every.levels[1].commands == every.undo == ()


def test_where_the_programs_load_it_is_allowed() -> None:
    every = found(loads=True, icmp=True)
    assert [grant.state for grant in every.levels] == ["allowed"] * 3
    assert every.levels[0].commands == ()


def test_the_log_of_calls_of_an_older_kernel_is_named() -> None:
    assert "the log of calls needs Linux 6.3" in found("6.1.0").levels[2].reason
    assert "6.3" not in found("6.3.0").levels[2].reason


def test_everything_can_be_taken_back() -> None:
    assert found().undo == ("sudo setcap -r /usr/local/bin/whyperf-agent", "sudo groupdel whyperf")
