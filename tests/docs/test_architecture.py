"""ARCHITECTURE.md says what is there: every package, and which way the dependencies point."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.docs.documents import ROOT

TEXT = (ROOT / "ARCHITECTURE.md").read_text()
CRATES, PACKAGES = ROOT / "crates", ROOT / "python/whyperf"
LAYERS = r"<!-- layers {} -->\n```text\n(.*?)```"
PATH = re.compile(r"`((?:python|crates|tests|lab)/[\w./-]+)`")
#: What the package must work without: it is not in the wheel.
OUTSIDE = {"lab", "scripts", "tests"}
#: For build scripts alone.
BUILDS = "bpf-build"


def layers(folder: Path) -> list[list[str]]:
    """The packages of a folder, line by line, as the document draws them."""
    found = re.search(LAYERS.format(folder.relative_to(ROOT)), TEXT, re.DOTALL)
    assert found is not None
    return [line.split() for line in found[1].splitlines()]


def upward(folder: Path, used: dict[str, set[str]]) -> Iterator[str]:
    """Dependencies on a package that does not stand on a line below."""
    line_of = {name: number for number, line in enumerate(layers(folder)) for name in line}
    assert set(line_of) == set(used)
    for name, others in used.items():
        yield from (f"{name} -> {other}" for other in others if line_of[other] <= line_of[name])


def imported(file: Path) -> set[str]:
    """Packages of whyperf that a module imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "whyperf":
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("whyperf."):
            names.add((node.module or "").split(".")[1])
    return names


def modules(node: ast.AST) -> list[str]:
    """What a statement imports, by the whole name of each module."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def test_crates_depend_on_those_below() -> None:
    used = {}
    for manifest in CRATES.glob("*/Cargo.toml"):
        crate = manifest.parent.name
        used[crate] = {path.parent.name for path in CRATES.glob("*/Cargo.toml")} & tomllib.loads(
            manifest.read_text()
        ).get("dependencies", {}).keys()
    assert used.pop(BUILDS) == set()
    assert list(upward(CRATES, used)) == []


def test_python_packages_import_from_those_below() -> None:
    packages = {path.parent.name for path in PACKAGES.glob("*/__init__.py")}
    used = {
        name: set().union(*(imported(file) for file in (PACKAGES / name).rglob("*.py"))) & packages - {name}
        for name in packages
    }
    assert list(upward(PACKAGES, used)) == []


def test_the_product_imports_nothing_of_the_laboratory() -> None:
    found = [
        f"{file.relative_to(ROOT)}: {name}"
        for file in PACKAGES.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        for name in modules(node)
        if name.split(".")[0] in OUTSIDE
    ]
    assert found == []


def test_every_package_is_on_the_map() -> None:
    named = {path.name for path in CRATES.iterdir()} | {path.parent.name for path in PACKAGES.glob("*/__init__.py")}
    on_map = {
        row.split("/")[1 if row.startswith("crates") else 2]
        for row in re.findall(r"^\| \w+ \| `([^`]+)`", TEXT, re.M)
        if "/" in row.rstrip("/")
    }
    assert named - on_map == set()


def test_what_the_document_names_is_there() -> None:
    assert [name for name in PATH.findall(TEXT) if not (ROOT / name).exists()] == []
