"""The sets and patterns of docs/reference/hosts.md are what it says."""

import re

import pytest

from tests.docs.documents import ROOT, SHOWN_FILE
from whyperf.hosts import PATTERNS, Inventory, expand, fold, pair_hosts
from whyperf.hosts.inventory import read

TEXT = (ROOT / "docs/reference/hosts.md").read_text()
SET = re.compile(r"^\| `([^`]+)` \| ([^|]+) \|$", re.MULTILINE)
PATTERN = re.compile(r"^\| `([a-z-]+)` \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
INVENTORIES = {shown["name"]: read(shown["content"], shown["name"]) for shown in SHOWN_FILE.finditer(TEXT)}


def rows(heading: str, following: str) -> list[tuple[str, str]]:
    """The first table of a section: sets, and the hosts of each."""
    section = TEXT[TEXT.index(f"## {heading}") : TEXT.index(f"## {following}")]
    return SET.findall(section[section.index("| Set |") :].split("\n\n")[0])


@pytest.mark.parametrize(
    ("text", "hosts", "inventory"),
    [
        *((text, hosts, INVENTORIES["hosts.toml"]) for text, hosts in rows("Sets", "Groups and")),
        *((text, hosts, INVENTORIES["inventory.ini"]) for text, hosts in rows("Inventories of", "Patterns")),
    ],
)
def test_a_set_of_the_page(text: str, hosts: str, inventory: Inventory) -> None:
    expected = hosts.replace("this host", "local").replace("\\", "").split(", ")
    assert expand(text, inventory, "--from") == tuple(expected)
    assert expand(fold(expected), inventory, "--from") == tuple(expected)


def test_there_are_sets_on_the_page() -> None:
    assert len(rows("Sets", "Groups and")) >= 12
    assert len(rows("Inventories of", "Patterns")) >= 3


def test_the_patterns_of_the_page() -> None:
    found = dict(PATTERN.findall(TEXT[TEXT.index("## Patterns") :]))
    assert tuple(found) == PATTERNS
    for pattern, expected in found.items():
        near = ["a"] if "from `a`" in expected else ["a", "b"]
        far = ["x"] if "to `x`" in expected else ["x", "y"]
        pairs = ", ".join(f"{pair.near} → {pair.far}" for pair in pair_hosts(pattern, near, far))
        assert expected.rpartition(": ")[2] == pairs


def test_the_address_of_the_page() -> None:
    ours, ansible = INVENTORIES["hosts.toml"], INVENTORIES["inventory.ini"]
    assert (ours.destination("node1"), ours.address("node1")) == ("me@10.0.0.1", "192.0.2.1")
    assert (ansible.destination("web02"), ansible.address("db-b")) == ("me@web02", "192.0.2.7")
