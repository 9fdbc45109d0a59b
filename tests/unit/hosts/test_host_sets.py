"""Sets of hosts: what they name, in which order, and what is refused."""
# ruff: noqa: E501 - a case is a line.

import random
import re
import sys

import pytest
from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet
from hypothesis import given
from hypothesis import strategies as st

from whyperf.hosts import MAX_HOSTS, HostSetError, Inventory, KnownHost, expand, fold, is_usable_host

INVENTORY = Inventory(
    {"web": ("w1", "w2", "w3"), "db": ("w3", "d1"), "rack1": ("r1",), "rack2": ("r2",), "empty": (), "self": ("self",)},
    {"d1": KnownHost(refused="a port of ssh, 2222; remove ansible_port"), "empty": KnownHost()},
    "hosts.toml",
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node1", "node1"),
        ("node[1-3]", "node1 node2 node3"),
        # The order of the text, and not that of numbers.
        ("node[3,1-2]", "node3 node1 node2"),
        ("node[08-10]", "node08 node09 node10"),
        ("node[0-10/5]", "node0 node5 node10"),
        ("node1[0-2]", "node10 node11 node12"),
        ("r[1-2]n[1-2]x", "r1n1x r1n2x r2n1x r2n2x"),
        ("me@node[1-2]", "me@node1 me@node2"),
        (" a , b ", "a b"),
        ("local,host7", "local host7"),
        ("2001:db8::1,[2001:db8::2],[fe80::1%eth0]", "2001:db8::1 [2001:db8::2] [fe80::1%eth0]"),
        ("10.0.0.[1-2]", "10.0.0.1 10.0.0.2"),
        ("node[1-5]!node[2-4]", "node1 node5"),
        ("node[1-4]&node[3-9]", "node3 node4"),
        ("node[1-3]^node[3-4]", "node1 node2 node4"),
        # From left to right: no operator goes before another one.
        ("a,b!a", "b"),
        ("@web", "w1 w2 w3"),
        ("@web!w2", "w1 w3"),
        ("@web!@db,@db!d1", "w1 w2 w3"),
        ("@rack[1-2]", "r1 r2"),
        # Also the name of a group, but the inventory has such a host.
        ("self,empty", "self empty"),
    ],
)
def test_a_set_names_these_hosts(text: str, names: str) -> None:
    assert expand(text, INVENTORY, "--from") == tuple(names.split())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "it is empty; name hosts, as in node[1-15]"),
        ("a!a", '"a!a" leaves no host; name at least one, as in node[1-15]'),
        ("@empty", '"@empty" leaves no host; name at least one, as in node[1-15]'),
        ("@wep", 'there is no group "wep"; did you mean @web?'),
        ("@rack3", 'there is no group "rack3"; did you mean @rack2 or @rack1?'),
        ("@x", 'there is no group "x"; hosts.toml has db, empty, rack1, rack2, self, …'),
        ("web", '"web" is a group of hosts.toml and no host; write @web'),
        ("node[1-3", '"node[1-3" has a bracket without its counterpart; write ranges as in node[1-15]'),
        ("n[3-1]", '"n[3-1]" cannot be read: "3-1" is no range of numbers; write node[1-15] or node[01-15,20]'),
        ("n[1-9/0]", '"n[1-9/0]" cannot be read: "1-9/0" is no range of numbers; write node[1-15] or node[01-15,20]'),
        ("n[9-010]", '"n[9-010]" cannot be read: "9-010" is no range of numbers; write node[1-15] or node[01-15,20]'),
        ("n[1:3]", '"n[1:3]" cannot be read: "1:3" is neither a range of numbers nor an IPv6 address; ' "write node[1-15] or node[01-15,20]"),
        ("a,,b", '"a,,b" has no name before ","; write one there, or remove the sign'),
        ("!a", '"!a" has no name before "!"; write one there, or remove the sign'),
        ("n[1-3],n2", '"n2" stands twice, in "n[1-3]" and in "n2"; name each host once'),
        ("@web,@db", '"w3" stands twice, in "@web" and in "@db"; name each host once'),
        ("n[1-3,2]", '"n2" stands twice in "n[1-3,2]"; name each host once'),
        ("a,a", '"a" stands twice; name each host once'),
        ("n[1-1025]", '"n[1-1025]" has 1,025 hosts, and a set takes up to 1,024; name fewer'),
        ("n[1-70000]", '"n[1-70000]" cannot be read: it has over 65,536 names; name fewer'),
        ("n[1-9]" * 6, '"n[1-9]n[1-9]n[1-9]n[1-9]n[1-9]n[1-9]" cannot be read: it has over 65,536 names; name fewer'),
        ("x" * 321, f'"{"x" * 60}…" cannot be read: its names are longer than 320 characters; shorten them'),
        ("-oProxyCommand", '"-oProxyCommand" cannot be a host; give a name or an address as for ssh'),
        ("a b", '"a b" cannot be a host; give a name or an address as for ssh'),
        ("w*", '"w*" cannot be a host; give a name or an address as for ssh'),
        ("a\x1b[1-2]", '"a\\x1b1" cannot be a host; give a name or an address as for ssh'),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_one_sentence_with_the_option(text: str, sentence: str) -> None:
    with pytest.raises(HostSetError) as caught:
        expand(text, INVENTORY, "--to")
    assert str(caught.value) == f"--to: {sentence}"


def test_a_host_that_the_inventory_reaches_otherwise_is_refused_when_it_is_named() -> None:
    with pytest.raises(HostSetError) as caught:
        expand("d1", INVENTORY, "--to")
    assert str(caught.value) == "hosts.toml: d1 has a port of ssh, 2222; remove ansible_port"
    assert expand("@web", INVENTORY, "--to")


def test_without_a_file_of_groups_the_error_names_the_remedy() -> None:
    with pytest.raises(
        HostSetError, match=re.escape("name one with --hosts FILE, or write ~/.config/whyperf/hosts.toml")
    ):
        expand("@web", Inventory(), "--from")
    with pytest.raises(HostSetError, match="h has no groups; add it there"):
        expand("@web", Inventory(where="h"), "--from")


def test_as_many_hosts_as_a_set_takes() -> None:
    assert len(expand(f"n[1-{MAX_HOSTS}]", Inventory(), "--from")) == MAX_HOSTS


def test_a_range_too_large_for_memory_is_refused_at_once() -> None:
    for text in ("n[1-999999999999999999]", "n[0-1]" * 300, "n[1-1000],m[1-99999999]"):
        with pytest.raises(HostSetError, match=r"has over 65,536 names|longer than"):
            expand(text, Inventory(), "--from")


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ("", ""),
        ("node1", "node1"),
        ("node1 node2 node3 node5", "node[1-3,5]"),
        ("n09 n10 n11", "n[09-11]"),
        ("n8 n9 n10", "n[8-10]"),
        ("r1n1 r1n2 r2n1 r2n2", "r[1-2]n[1-2]"),
        ("local node1 node2 db1", "local,node[1-2],db1"),
        ("10.0.0.1 10.0.0.2", "10.0.0.[1-2]"),
        ("node3 node2", "node3,node2"),
        ("w01 w02 w03 w9", "w[01-03],w9"),
        ("[::1] [::2]", "[::1],[::2]"),
        ("a%1 a%2", "a%[1-2]"),
    ],
)
def test_hosts_in_the_short_form(names: str, text: str) -> None:
    assert fold(names.split()) == text


def test_names_that_hardly_fold() -> None:
    rng = random.Random(1)
    names = sorted({f"r{rng.randrange(10, 99)}n{rng.randrange(10, 99)}x{rng.randrange(10, 99)}" for _ in range(200)})
    assert expand(fold(names), Inventory(), "--from") == tuple(names)
    racks = [f"r{rack}n{node}" for rack in range(1, 33) for node in range(1, 33)]
    assert fold(racks) == "r[1-32]n[1-32]"


NAME = st.from_regex(r"[a-z]{0,2}[0-9]{0,3}[a-z-]?[0-9]{0,2}(\.x)?", fullmatch=True).filter(is_usable_host)
NUMBERED = st.builds(
    "{}{}{}".format, st.sampled_from(["node", "r1n", ""]), st.integers(0, 30), st.sampled_from(["", "-ib"])
)


@given(st.lists(st.one_of(NAME, NUMBERED, st.just("[::1]")), min_size=1, max_size=40, unique=True))
def test_the_short_form_names_the_same_hosts_in_the_same_order(names: list[str]) -> None:
    assert expand(fold(names), Inventory(), "--from") == tuple(names)


RANGE = st.builds(lambda first, more: f"[{first}-{first + more}]", st.integers(0, 12), st.integers(0, 5))
TERM = st.builds("{}{}{}".format, st.sampled_from(["a", "b"]), RANGE, st.sampled_from(["", "x"]))


@given(st.lists(st.tuples(st.sampled_from("!&^"), TERM), max_size=5), TERM)
def test_operators_give_what_clustershell_gives(steps: list[tuple[str, str]], first: str) -> None:
    text = first + "".join(map("".join, steps))
    expected = list(NodeSet(text, resolver=RESOLVER_NOGROUP))
    if not expected:
        with pytest.raises(HostSetError, match="leaves no host"):
            expand(text, Inventory(), "--from")
        return
    assert sorted(expand(text, Inventory(), "--from")) == sorted(expected)


@pytest.mark.parametrize(
    "host", ["a", "me@a.b", "10.0.0.1", "::1", "[::1]", "fe80::1%eth0", "a_b", "me@[::1]", "x" * 320]
)
def test_what_ssh_takes_is_a_host(host: str) -> None:
    assert is_usable_host(host)


@pytest.mark.parametrize(
    "host", ["", "-a", "me@-a", "a b", "a;b", "a,b", "$(x)", "a\n", "x" * 321, "@a", "a[1-3]", "a[b", "[a]", "a]"]
)
def test_what_ssh_or_a_shell_could_take_otherwise_is_none(host: str) -> None:
    assert not is_usable_host(host)


def test_the_library_is_loaded_only_for_a_range(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("ClusterShell")]:
        monkeypatch.setitem(sys.modules, name, None)
    assert expand("a,b", Inventory(), "--from") == ("a", "b")
    with pytest.raises(ImportError):
        expand("a[1-2]", Inventory(), "--from")
