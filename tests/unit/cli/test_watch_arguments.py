"""What the arguments of `whyperf watch` mean."""

import re
from pathlib import Path
from typing import Any

import pytest

from whyperf.cli.exits import UsageError
from whyperf.cli.inputs import watched as watched_inputs
from whyperf.cli.inputs.watched import Watched, metrics_address, namespace, seconds, watched


@pytest.mark.parametrize(
    ("arguments", "selection", "name", "host"),
    [
        ((), {}, "busiest", None),
        ((":80,443",), {"ports": [80, 443]}, ":80,443", None),
        (("4711",), {"processes": [4711]}, "4711", None),
        (("10.0.0.7:443",), {"addresses": ["10.0.0.7"], "ports": [443]}, "10.0.0.7:443", None),
        (("::1",), {"addresses": ["::1"]}, "::1", None),
        (("[2001:db8::1]:443",), {"addresses": ["2001:db8::1"], "ports": [443]}, "[2001:db8::1]:443", None),
        (("fe80::1%eth0",), {"addresses": ["fe80::1%eth0"]}, "fe80::1%eth0", None),
        (("localhost", ":80"), {"addresses": ["127.0.0.1", "::1"], "ports": [80]}, "localhost :80", None),
        (("host7",), {}, "busiest", "host7"),
        (("admin@10.0.0.7",), {}, "busiest", "admin@10.0.0.7"),
        (("10.0.0.7", ":443"), {"ports": [443]}, ":443", "10.0.0.7"),
        (("10.0.0.7", "10.0.0.8"), {"addresses": ["10.0.0.8"]}, "10.0.0.8", "10.0.0.7"),
        (("host7", "4711"), {"processes": [4711]}, "4711", "host7"),
    ],
)
def test_words(arguments: tuple[str, ...], selection: dict[str, Any], name: str, host: str | None) -> None:
    is_word = host is not None and len(arguments) == 1
    assert watched(arguments) == Watched(selection, name, host, is_word)  # type: ignore[arg-type]


def test_options_narrow_the_selection() -> None:
    found = watched((":443",), programs=["nginx"], cgroups=["/sys/fs/cgroup/system.slice/nginx.service/"], host="host7")
    assert found.selection == {
        "ports": [443],
        "programs": ["nginx"],
        "control_groups": ["/system.slice/nginx.service"],
    }
    assert found.name == ":443 nginx nginx.service"
    assert found.host == "host7"


def test_processes_are_numbers_or_options() -> None:
    assert watched((), processes=[4711]) == watched(("4711",))
    both = watched((":443",), processes=[4711, 4712], host="host7")
    assert both.selection == {"ports": [443], "processes": [4711, 4712]}
    assert both.name == ":443 4711 4712"


@pytest.mark.parametrize("path", ["a.slice/b", "/sys/fs/cgroup/a.slice/b", "/sys/fs/cgroup/unified/a.slice/b/"])
def test_a_control_group_is_below_its_mount_point(path: str) -> None:
    assert watched((), cgroups=[path]).selection == {"control_groups": ["/a.slice/b"]}


@pytest.mark.parametrize(
    ("arguments", "options", "problem"),
    [
        ((":0",), {}, ":0: a port is from 1 to 65535"),
        (("10.0.0.7:99999",), {}, "a port is from 1"),
        (("99999999",), {}, "99999999 is no process number; for a port write :99999999"),
        ((":",), {}, '":" is none of: :PORT, a process number, an address, a host'),
        (("a b",), {}, '"a b" is none of'),
        (("host7", "host8"), {}, '"host8" behind the host host7 is none of'),
        ((":80", ":81"), {}, "of two words the first is a host as for ssh; several ports are :80,443"),
        (("host7", ":80", ":81"), {}, "give one selection"),
        (("host7",), {"host": "host8"}, "host7 and --host host8 are two hosts"),
        ((), {"host": "-oProxyCommand=x"}, "cannot be a host"),
        ((), {"programs": ["/usr/bin/x"]}, "no name of a program; give the last part"),
        (("host7",), {"command": ["true"]}, "a command after -- starts on this host; leave host7 out"),
        (("4711",), {"command": ["true"]}, "leave the process number out"),
    ],
)
def test_what_fits_nothing_is_refused_with_a_sentence(
    arguments: tuple[str, ...], options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(problem)):
        watched(arguments, **options)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("9100", ("127.0.0.1", 9100)),
        (":9100", ("127.0.0.1", 9100)),
        ("0.0.0.0:9100", ("0.0.0.0", 9100)),
        ("[::1]:0", ("::1", 0)),
    ],
)
def test_metrics_are_served_on_the_loopback_unless_an_address_is_named(text: str, place: tuple[str, int]) -> None:
    assert metrics_address(text) == place


@pytest.mark.parametrize("text", ["", "x", "1.2.3.4", "host:80", "127.0.0.1:70000", "127.0.0.1:-1"])
def test_another_place_for_metrics_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="ADDRESS:PORT"):
        metrics_address(text)


@pytest.mark.parametrize(("text", "value"), [("1", 1.0), ("0.5", 0.5), ("500ms", 0.5), ("2min", 120.0), (" 3 s ", 3.0)])
def test_times(text: str, value: float) -> None:
    assert seconds("--time", text, 0.1, 3600) == value


@pytest.mark.parametrize("text", ["x", "", "0", "nan", "1e9", "-1"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--time"):
        seconds("--time", text, 0.1, 3600)


def test_a_network_namespace_has_a_name_or_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched_inputs, "NAMESPACES", tmp_path)
    (tmp_path / "blue-1").touch()
    assert namespace("4711", is_here=True) == "/proc/4711/ns/net"
    assert namespace("blue-1", is_here=True) == str(tmp_path / "blue-1")
    # What another host has is not known here.
    assert namespace("red", is_here=False) == str(tmp_path / "red")
    for text in ("red", "..", "../blue-1", "", "-x", "0", "a b"):
        with pytest.raises(
            UsageError, match=r"there is no such network namespace \(ip netns list\), nor is it a process"
        ):
            namespace(text, is_here=text not in {"..", "a b"})
