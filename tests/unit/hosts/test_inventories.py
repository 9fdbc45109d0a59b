"""Files with hosts and groups: TOML of our own, INI and JSON of Ansible."""
# ruff: noqa: E501 - a case is a line.

import json
import re
import tracemalloc
from pathlib import Path

import pytest

from tests.unit.hosts.sample_inventories import INI, LISTED, OURS
from whyperf.foreign import visible
from whyperf.hosts import HostSetError, Inventory, KnownHost, expand, read_inventory
from whyperf.hosts.inventory import read


def members(inventory: Inventory, group: str) -> str:
    return " ".join(inventory.groups[group])


def refused(text: str, where: str) -> str:
    with pytest.raises(HostSetError) as caught:
        read(text, where)
    assert visible(str(caught.value)) == str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("where", ["hosts.toml", "hosts"])
def test_our_toml(where: str) -> None:
    found = read(OURS, where)
    assert {name: members(found, name) for name in found.groups} == {
        "clients": "node1 node2 node3",
        "servers": "db1 db2",
        "all": "node1 node2 node3 db1",
    }
    assert found.hosts == {"node1": KnownHost("me@10.0.0.1", "192.0.2.1")}
    assert [found.destination(name) for name in ("node1", "node2")] == ["me@10.0.0.1", "node2"]
    assert [found.address(name) for name in ("node1", "node2")] == ["192.0.2.1", None]
    assert expand("@all!node1", found, "--from") == ("node2", "node3", "db1")


@pytest.mark.parametrize("where", ["hosts.ini", "hosts"])
def test_ansible_ini(where: str) -> None:
    found = read(INI, where)
    assert {name: members(found, name) for name in sorted(found.groups)} == {
        "all": "lone web01 web02 web03 web9 db-a.example.org db-b.example.org db-c.example.org quoted",
        "db": "db-a.example.org db-b.example.org db-c.example.org quoted lone",
        "site": "web01 web02 web03 web9 db-a.example.org db-b.example.org db-c.example.org quoted lone",
        "ungrouped": "lone",
        "web": "web01 web02 web03 web9",
    }
    assert found.hosts["lone"] == KnownHost("root@10.0.0.9", "192.0.2.9")
    assert found.destination("web02") == "me@web02"
    assert found.destination("web9") == "web9"
    assert found.destination("quoted") == "h.example.org"
    # Variables of groups are not read.
    assert found.destination("db-a.example.org") == "db-a.example.org"


@pytest.mark.parametrize(("where", "indent"), [("hosts.json", None), ("hosts", 4)])
def test_what_ansible_inventory_lists(where: str, indent: int | None) -> None:
    found = read(json.dumps(LISTED, indent=indent), where)
    assert {name: members(found, name) for name in sorted(found.groups)} == {
        "all": "w1 w2 d1",
        "db": "d1",
        "site": "w1 w2 d1",
        "web": "w1 w2",
    }
    assert [found.destination(name) for name in ("w1", "w2", "d1")] == ["10.0.0.1", "me@w2", "d1"]


def test_an_empty_section_is_a_group() -> None:
    found = read("[site:children]\nweb\ndb\n[web]\n[db]\nd1\n", "hosts.ini")
    assert members(found, "site") == "d1"
    # No set could use it.
    assert "web" not in found.groups


def test_an_inventory_has_no_command() -> None:
    """Ansible has variables that add options to ssh, or name the program."""
    command = "-oProxyCommand='touch reached'"
    names = ("ssh_common_args", "ssh_extra_args", "ssh_args", "ssh_executable", "shell_executable", "become_exe")
    variables = " ".join(f'ansible_{name}="{command}"' for name in names)
    found = read(f"h7 {variables}\n", "hosts.ini")
    assert (found.destination("h7"), found.address("h7")) == ("h7", None)
    listed = {f"ansible_{name}": command for name in names}
    document = {"_meta": {"hostvars": {"h7": listed}}, "web": {"hosts": ["h7"]}}
    found = read(json.dumps(document), "hosts.json")
    assert (found.destination("h7"), found.address("h7")) == ("h7", None)


def test_ranges_of_ansible() -> None:
    text = "a[1:9:4]\nb[08:10]x\nc[a:e:2]\nd[1:2][x:y]\ne[1:2]:22\n[2001:db8::1]\nf.x:22\n2001:db8::2\n"
    found = read(text, "hosts.ini")
    assert members(found, "all").split() == [
        *("a1", "a5", "a9", "b08x", "b09x", "b10x", "ca", "cc", "ce", "d1x", "d1y", "d2x", "d2y", "e1", "e2"),
        *("[2001:db8::1]", "f.x", "2001:db8::2"),
    ]
    assert [found.destination(name) for name in ("e1", "f.x")] == ["e1", "f.x"]


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ("ansible_port=2222 ansible_host=h7", "a port of ssh, 2222; write `Host h7` with `Port 2222` to ~/.ssh/config, and remove ansible_port"),
        ("ansible_connection=local", "ansible_connection=local; write local for this host"),
        ("ansible_connection=winrm", "ansible_connection=winrm, and whyperf reaches hosts by ssh; leave it out"),
        ("ansible_host=-oX", '"-oX" for ssh, which cannot be a host; correct ansible_host or ansible_user'),
        ('ansible_user="a b"', '"a b@h" for ssh, which cannot be a host; correct ansible_host or ansible_user'),
        ("whyperf_address=h7", "whyperf_address=h7; write a numeric address, such as 192.0.2.1"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_for_a_host_is_refused_when_it_is_named(variables: str, problem: str) -> None:
    found = read(f"h {variables}\nother\n", "hosts.ini")
    with pytest.raises(HostSetError) as caught:
        expand("@all", found, "--from")
    assert str(caught.value) == f"hosts.ini: h has {problem}"
    assert expand("other", found, "--from") == ("other",)


def test_connections_that_are_ssh_pass() -> None:
    for name in ("ssh", "smart", "ansible.builtin.ssh", "paramiko"):
        assert read(f"h ansible_connection={name} ansible_port=22\n", "hosts.ini").destination("h") == "h"


def test_the_port_in_front_of_the_variables_counts() -> None:
    with pytest.raises(HostSetError, match="a port of ssh, 2222"):
        read("h[1:2]:2222\n", "hosts.ini").destination("h2")


def test_the_name_of_this_host_stays_its_own() -> None:
    found = read("local ansible_host=10.0.0.1\n", "hosts.ini")
    with pytest.raises(HostSetError, match="local has the name that always is this host; rename it"):
        expand("local", found, "--from")
    assert expand("local", read("local ansible_connection=local\n", "hosts.ini"), "--from") == ("local",)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[groups", "it is no TOML: Expected ']' at the end of a table declaration (at end of document); correct it there"),
        ("[group]\n", 'there is no table "group"; write [groups] or [hosts.NAME]'),
        ("groups = 3", "groups is no table; write [groups] above it"),
        ("[groups]\na = 3", 'groups.a: it is neither a text nor a list of texts; write a set of hosts, as in clients = "node[1-15]"'),
        ("[groups]\na = ['x', 3]", 'groups.a: it is neither a text nor a list of texts; write a set of hosts, as in clients = "node[1-15]"'),
        ("[groups]\na = ''", "groups.a: it is empty; name hosts, as in node[1-15]"),
        ("[groups]\na = ['x[1-2]', 'x2']", 'groups.a: "x2" stands twice; name each host once'),
        ("[groups]\nab = '@ba'\nbaa = 'x'", 'groups.ab: there is no group "ba"; did you mean @baa?'),
        ("[groups]\na = '@b'\nb = '@c'\nc = '@b'", "b: the group has itself as a member (b → c → b); remove it from one of them"),
        ("[hosts]\na = 3", 'hosts.a: it is no table; write [hosts.a] and destination = "me@192.0.2.1" below it'),
        ("[hosts.local]\n", "hosts.local: it always is this host; use another name"),
        ("[hosts.'a b']\n", "hosts.a b: it cannot be a host; use another name"),
        ("[hosts.a]\nport = '1'", 'hosts.a: "port" is no destination or address with a text; write address = "192.0.2.1"'),
        ("[hosts.a]\naddress = 'h7'", 'hosts.a: "h7" is no numeric address; write one, such as 192.0.2.1 or 2001:db8::1'),
        ("[hosts.a]\ndestination = '-x'", 'hosts.a: "-x" cannot be a host; give destination as for ssh'),
    ],
)  # fmt: skip
def test_toml_that_cannot_be_used(text: str, sentence: str) -> None:
    assert refused(text, "h.toml") == f"h.toml: {sentence}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[a:foo]", 'line 1: "foo" is no kind of section; write [NAME], [NAME:children] or [NAME:vars]'),
        ("\na b", 'line 2: "b" is no variable of a host; write NAME=VALUE without spaces'),
        ("a =b", 'line 1: "=b" is no variable of a host; write NAME=VALUE without spaces'),
        ('a x="', "line 1: it cannot be read: No closing quotation; close the quotes"),
        ("a[c:a]", 'line 1: "a[c:a]" cannot be read: "c:a" is no range of letters; write web[01:50] or db[a:f]'),
        ("a[1:99999]", 'line 1: "a[1:99999]" cannot be read: it has over 65,536 names; name fewer'),
        ("x" * 16_385, "line 1: it has over 16,384 characters; write a host on each line"),
        ("[a:children]\nb", 'a: there is no group "b"; write a section [b]'),
        ("[a:children]\nb\n[b:children]\na", "a: the group has itself as a member (a → b → a); remove it from one of them"),
    ],
)  # fmt: skip
def test_ini_that_cannot_be_used(text: str, sentence: str) -> None:
    assert refused(text, "h.ini") == f"h.ini: {sentence}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "it is no JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1); correct it there"),
        ("[1]", "an inventory is no object; write the file by `ansible-inventory --list`"),
        ('{"a": 3}', "a is no object; write the file by `ansible-inventory --list`"),
        ('{"a": {"hosts": [1]}}', "a.hosts is no list of names; write the file by `ansible-inventory --list`"),
        ('{"a": {"children": "b"}}', "a.children is no list of names; write the file by `ansible-inventory --list`"),
        ('{"_meta": 3}', "_meta is no object; write the file by `ansible-inventory --list`"),
        ('{"_meta": {"hostvars": {"h": 1}}}', "_meta.hostvars.h is no object; write the file by `ansible-inventory --list`"),
    ],
)  # fmt: skip
def test_json_that_cannot_be_used(text: str, sentence: str) -> None:
    assert refused(text, "h.json") == f"h.json: {sentence}"


@pytest.mark.parametrize("name", ["h.yml", "h.yaml", "h"])
def test_yaml_comes_with_the_command_that_makes_json(name: str) -> None:
    assert refused("---\nall:\n", name) == (
        f"{name}: it is YAML, which whyperf does not read; "
        "write JSON, by `ansible-inventory -i FILE --list > hosts.json`"
    )


MANY = 20_000


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("h.ini", "n[1:6000]\n" * 10, "names over 5,000 hosts"),
        ("h.toml", "[groups]\n" + "".join(f"a{n} = 'n[1-6000]'\n" for n in range(MANY)), "names over 5,000 hosts"),
        ("h.toml", "[groups]\na = '" + "n[1-6000]!" * MANY + "y'", "names over 5,000 hosts"),
        ("h.toml", "[groups]\na = '" + "x" * MANY + "[1-60000]'", "names are longer than 320"),
        ("h.toml", "[groups]\na = '" + "[" * MANY + "'", "bracket without its counterpart"),
        ("h.toml", "[groups]\n" + "".join(f"a{n} = '@a{n + 1}'\n" for n in range(99)), "deeper than 32"),
        ("h.ini", "".join(f"[a{n}:children]\na{n + 1}\n" for n in range(99)) + "[a99]\n", "deeper than 32"),
        ("h.json", json.dumps({"a": ["n"] * 5_001}), "names over 5,000 hosts"),
        ("h.json", "[" * MANY, "nests deeper than 64"),
        ("h.toml", "a = " + "[" * MANY, "nests deeper than 64"),
        ("h.ini", "#" * ((1 << 20) + 1), "larger than 1 MiB"),
    ],
)
def test_a_hostile_file_is_refused(name: str, text: str, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whyperf.hosts.known_hosts.MAX_NAMED", 5_000)
    assert problem in refused(text, name)


def test_groups_of_groups_count_each_time() -> None:
    listed: dict[str, object] = {"g": {"hosts": [f"n{number}" for number in range(1000)]}}
    listed |= {f"p{number}": {"children": ["g"]} for number in range(499)}
    assert len(read(json.dumps(listed), "h.json").groups) == 501
    listed["p499"] = {"children": ["g"]}
    assert "names over 500,000 hosts" in refused(json.dumps(listed), "h.json")


def test_the_file_of_the_user_is_read_where_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert read_inventory(None) == Inventory()
    folder = tmp_path / "whyperf"
    folder.mkdir()
    (folder / "hosts.toml").write_text(OURS)
    assert members(read_inventory(None), "servers") == "db1 db2"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert read_inventory(None) == Inventory()
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.config").symlink_to(tmp_path)
    assert members(read_inventory(None), "servers") == "db1 db2"


def test_a_short_file_takes_little_memory() -> None:
    """13 KB took 3 GB: all variables of a line were kept for each host of its range."""
    line = "h[0001:4000] " + " ".join(f"v{number}=1" for number in range(200))
    read("h[1:2]", "h.ini")
    tracemalloc.start()
    try:
        found = read(f"{line} ansible_user=me", "h.ini")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.destination("h4000") == "me@h4000"
    assert peak < 4000 * 2000


@pytest.mark.parametrize("name", ["h.ini", "h.json"])
def test_an_inventory_has_a_limited_number_of_hosts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whyperf.hosts.ansible.MAX_KNOWN", 100)

    def text(count: int) -> str:
        names = [f"n{number}" for number in range(count)]
        return "\n".join(names) if name == "h.ini" else json.dumps({"a": names, "_meta": {"hostvars": {"n0": {}}}})

    assert len(read(text(100), name).groups["all"]) == 100
    with pytest.raises(HostSetError, match="it has over 100 hosts; leave out what is not measured"):
        read(text(101), name)


def test_the_file_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "kept.toml").write_text(OURS)
    (tmp_path / "hosts.toml").symlink_to("kept.toml")
    assert members(read_inventory(tmp_path / "hosts.toml"), "servers") == "db1 db2"


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff")
    for path, problem in (
        (tmp_path / "none", "there is no such file; name one with --hosts FILE"),
        (tmp_path, "it cannot be read: it is not a plain file; name another file with --hosts"),
        (binary, "it is no text in UTF-8; save it as one"),
    ):
        with pytest.raises(HostSetError, match=f"^{re.escape(str(path))}: {re.escape(problem)}$"):
            read_inventory(path)
