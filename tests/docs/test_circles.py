"""Files of a crate use each other one way only: who reads one need not hold all others."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.docs.documents import ROOT

Module = tuple[str, ...]
CRATES = sorted(path.parent.name for path in ROOT.glob("crates/*/src"))
USE = re.compile(r"\b(crate|super|self)((?:::[A-Za-z_]\w*)*)(::\{)?")
#: Circles that are left, by the name of one file in each. A new one is refused; take out what is broken up.
KNOWN = {
    "load": {"engine", "datagrams", "round_trips"},
    "schema": {"trial"},
    "sim": {"application", "linux/sender"},
    "workload": {"user"},
}


def modules(crate: str) -> dict[Module, Path]:
    """The modules of a crate by their paths; the root is the empty one."""
    found: dict[Module, Path] = {}
    source = ROOT / "crates" / crate / "src"
    for path in source.rglob("*.rs"):
        parts = path.relative_to(source).with_suffix("").parts
        is_own = parts[-1] in {"mod", "lib", "main"}
        found[parts[:-1] if is_own else parts] = path
    return found


def names(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each path that the code names, without its tests: where it starts, and what follows."""
    code = re.sub(r"//[^\n]*", "", re.split(r"#\[cfg\(test\)\]\s*mod tests", text)[0])
    for found in USE.finditer(code):
        head, tail = found[1], [word for word in found[2].split("::") if word]
        for item in _items(code, found.end()) if found[3] else [[]]:
            yield head, [*tail, *item]


def _items(code: str, at: int) -> Iterator[list[str]]:
    """The first words of what stands between braces, which open before `at`."""
    depth, start = 1, at
    for end in range(at, len(code)):
        depth += {"{": 1, "}": -1}.get(code[end], 0)
        if (code[end] == "," and depth == 1) or depth == 0:
            yield [word for word in re.split(r"::|\{", code[start:end].strip()) if word][:2]
            start = end + 1
        if depth == 0:
            return


def used(crate: str) -> dict[Module, set[Module]]:
    """The modules that each module names; what the root only passes on is left out."""
    own = modules(crate)
    found: dict[Module, set[Module]] = {module: set() for module in own if module}
    for module, others in found.items():
        for head, path in names(own[module].read_text()):
            base = {"crate": (), "super": module[:-1], "self": module}[head]
            for word in path:
                if word != "super" and (*base, word) not in own:
                    break
                base = base[:-1] if word == "super" else (*base, word)
            if base and base != module and base in own:
                others.add(base)
    return found


def reached(start: Module, of: Mapping[Module, set[Module]]) -> set[Module]:
    """All that a module uses, at first or second hand."""
    found: set[Module] = set()
    waiting = [start]
    while waiting:
        more = of[waiting.pop()] - found
        found |= more
        waiting += more
    return found


@pytest.mark.parametrize("crate", CRATES)
def test_no_new_circle_of_files(crate: str) -> None:
    of = used(crate)
    circles = {frozenset(other for other in reached(each, of) if each in reached(other, of)) for each in of}
    known = KNOWN.get(crate, set())
    in_circles = [{"/".join(module) for module in circle} for circle in circles if circle]
    assert [sorted(circle) for circle in in_circles if not circle & known] == []
    assert {name for name in known if not any(name in circle for circle in in_circles)} == set()
