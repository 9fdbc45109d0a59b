"""Draws the picture of ARCHITECTURE.md: a box for each package and crate, and an arrow to each that it imports.

A box stands below all that import it, so that no arrow points upward. Columns are the stages of the table in
ARCHITECTURE.md. Run it by `make schemas`; a test fails while the picture is not what the code says.
"""

import ast
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).resolve().parents[1]
PACKAGES, CRATES = ROOT / "python" / "whyperf", ROOT / "crates"
PICTURE = ROOT / "docs" / "images" / "rooms.svg"
STAGES = ("profile", "plan", "run", "record", "analyze", "explain", "report")
#: A row of the table in ARCHITECTURE.md: stage and package.
ROW = re.compile(r"^\| (\w+) \| `python/whyperf/(\w+)` \|", re.MULTILINE)
#: The column of each stage; of a package of all stages that does not take a whole row, the one where it works.
COLUMN = {stage: number for number, stage in enumerate(STAGES)} | {"all": STAGES.index("run")}
#: Pixels: the picture, and the room above the boxes of a language; a box, and the gap to the next row; the distance of
#: arrows at a box, that from an arrow to what it passes, and that from row to row.
WIDTH, MARGIN, HEADING = 1100, 20, 84
BOX_WIDTH, BOX_HEIGHT, GAP = 92, 28, 24
SPACE, CLEARANCE, PITCH = 14, 8, BOX_HEIGHT + GAP
TEXTS = (
    "Boxes: packages of python/whyperf by stage. Arrows: imports,",
    "without those that follow from other arrows. Dashed: only for build scripts.",
    "run starts whyperf-agent on each host, and exchanges messages with it through a pipe: requests to the agent,",
    "replies and tables from it. Below: the crates that it is built from.",
)
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">
<title>The packages and crates of whyperf, and what each imports</title>
<marker id="head" refX="6" refY="3" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0L6 3L0 6z"/></marker>
"""
STYLE = """
svg { --paper: #fff; --text: #1f2328; --quiet: #59636e; --arrow: #6e7781; --band: #f3f5f7;
  --python: #e3effb; --python-edge: #3d7ab8; --crate: #fbebd6; --crate-edge: #b5762a }
@media (prefers-color-scheme: dark) { svg {
  --paper: #0d1117; --text: #e6edf3; --quiet: #9ea7b3; --arrow: #8b949e; --band: #161b22;
  --python: #12283f; --python-edge: #4f8cc9; --crate: #33240f; --crate-edge: #c98a3c } }
text { font: 12px system-ui, sans-serif; fill: var(--quiet); text-anchor: middle }
.name, .stage { font-size: 13px; font-weight: 600; fill: var(--text) }
.paper, .band1 { fill: var(--paper) } .band0 { fill: var(--band) } #head path { fill: var(--arrow) }
.whyperf { fill: var(--python); stroke: var(--python-edge) } .crates { fill: var(--crate); stroke: var(--crate-edge) }
.arrow { fill: none; stroke: var(--arrow); stroke-width: 1.2; marker-end: url(#head) } .build { stroke-dasharray: 4 3 }
"""

Imports = dict[str, set[str]]


@dataclass(frozen=True)
class Box:
    """A package in the picture: its row, its center in pixels, and whether it takes the whole row."""

    row: int
    x: float
    is_bar: bool = False


def main() -> None:
    """Writes the picture."""
    PICTURE.write_text(picture())


def packages() -> Imports:
    """The packages that each package of Python imports, wherever in it."""
    names = {path.parent.name for path in PACKAGES.glob("*/__init__.py")}
    return {
        name: {part for file in (PACKAGES / name).rglob("*.py") for part in _imported(file)} & names - {name}
        for name in sorted(names)
    }


def _imported(file: Path) -> Iterator[str]:
    """The second part of each module of whyperf that a file imports."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import | ast.ImportFrom):
            above = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            modules = [f"{above}{alias.name}".split(".") for alias in node.names]
            yield from (module[1] for module in modules if module[0] == "whyperf" and len(module) > 1)


def crates(section: str) -> Imports:
    """The crates of the workspace that a section of each crate's manifest names."""
    manifests = {path.parent.name: tomllib.loads(path.read_text()) for path in CRATES.glob("*/Cargo.toml")}
    return {name: manifests.keys() & manifests[name].get(section, {}).keys() for name in sorted(manifests)}


def reduced(imports: Imports) -> Imports:
    """The imports without those that follow from others."""
    reached: Imports = {}
    for name in TopologicalSorter(imports).static_order():
        reached[name] = imports[name].union(*(reached[other] for other in imports[name]))
    return {name: others.difference(*(reached[other] for other in others)) for name, others in imports.items()}


def placed(imports: Imports, column_of: dict[str, int]) -> tuple[dict[str, Box], list[float]]:
    """The boxes, and the left edge of each column. A box that is alone in the first or the last row takes all of it.

    Raises:
        graphlib.CycleError: packages import one another in a circle.
    """
    row_of = dict.fromkeys(imports, 0)
    for name in reversed([*TopologicalSorter(imports).static_order()]):
        row_of |= {other: max(row_of[other], row_of[name] + 1) for other in imports[name]}
    sizes = Counter(row_of.values())
    boxes = {name: Box(row, WIDTH / 2, sizes[row] == 1 and row in {0, max(sizes)}) for name, row in row_of.items()}
    cells: dict[tuple[int, int], list[str]] = defaultdict(list)
    for name, box in boxes.items():
        if not box.is_bar:
            cells[box.row, column_of[name]].append(name)
    columns = range(max(column_of.values()) + 1)
    units = [max((len(names) for (_, at), names in cells.items() if at == column), default=0) for column in columns]
    lefts = [MARGIN + (WIDTH - 2 * MARGIN) * sum(units[:column]) / sum(units) for column in [*columns, len(units)]]
    near = {name: [name, *imports[name], *(user for user in imports if name in imports[user])] for name in imports}
    for _ in range(4):  # each box moves toward those that it has an arrow to or from; more passes change nothing
        for (row, column), names in sorted(cells.items()):
            names.sort(key=lambda name: (fmean(boxes[other].x for other in near[name]), name))
            step = (lefts[column + 1] - lefts[column]) / len(names)
            boxes |= {name: Box(row, lefts[column] + step * (at + 0.5)) for at, name in enumerate(names)}
    return boxes, lefts


def ports(pairs: list[tuple[str, str]], boxes: dict[str, Box]) -> list[float]:
    """The pixel at which each arrow meets the first box of its pair, in the order of the second boxes."""
    found = []
    for name, other in pairs:
        others = sorted((each for own, each in pairs if own == name), key=lambda each: (boxes[each].x, each))
        found.append(boxes[name].x + SPACE * (others.index(other) - (len(others) - 1) / 2))
    return found


def arrows(imports: Imports, boxes: dict[str, Box]) -> dict[tuple[str, str], list[float]]:
    """The arrows by package and import: the pixel in each row from the one to the other, free of boxes and arrows."""
    pairs = [(name, other) for name, others in sorted(imports.items()) for other in sorted(others)]
    taken: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for box in boxes.values():
        taken[box.row].append((box.x, BOX_WIDTH / 2 + CLEARANCE))
    found = {}
    for pair, first, last in zip(pairs, ports(pairs, boxes), ports([pair[::-1] for pair in pairs], boxes), strict=True):
        source, target = boxes[pair[0]], boxes[pair[1]]
        points = [last if source.is_bar else first]
        for row in range(source.row + 1, target.row):
            before, aim = points[-1], points[-1] if target.is_bar else last
            clear = [x for x in range(MARGIN, WIDTH - MARGIN) if all(abs(x - at) >= room for at, room in taken[row])]
            points.append(min(clear, key=lambda x: (abs(x - before) + abs(x - aim), abs(x - before))))
            taken[row].append((points[-1], CLEARANCE))
        found[pair] = [*points, points[-1] if target.is_bar else last]
    return found


def drawn(boxes: dict[str, Box], imports: Imports, folder: Path, top: int, *, solid: Imports) -> Iterator[str]:
    """The arrows and boxes of one language as SVG, from a pixel on downward."""
    for (name, other), points in arrows(imports, boxes).items():
        y = top + boxes[name].row * PITCH + BOX_HEIGHT
        path = f"M{points[0]:.0f} {y}"
        for before, x in pairwise(points):
            bend, y = y + GAP // 2, y + PITCH
            path += f"C{before:.0f} {bend} {x:.0f} {bend} {x:.0f} {y - BOX_HEIGHT}V{y}"
        kind = "arrow" if other in solid[name] else "arrow build"
        yield f'<path class="{kind}" d="{path.rpartition("V")[0]}"><title>{name} → {other}</title></path>'
    for name, box in boxes.items():
        x, y, width = round(box.x), top + box.row * PITCH, WIDTH - 2 * MARGIN if box.is_bar else BOX_WIDTH
        yield f'<rect class="{folder.name}" x="{x - width // 2}" y="{y}" width="{width}" height="{BOX_HEIGHT}" rx="4"/>'
        yield f'<text class="name" x="{x}" y="{y + 19}">{name}</text>'


def picture() -> str:
    """The picture as SVG."""
    column_of = {name: COLUMN[stage] for stage, name in ROW.findall((ROOT / "ARCHITECTURE.md").read_text())}
    imports, uses, built = reduced(packages()), crates("dependencies"), crates("build-dependencies")
    boxes, lefts = placed(imports, column_of)
    pipe = HEADING + PITCH * max(box.row for box in boxes.values()) + BOX_HEIGHT
    parts = [f'<rect class="paper" width="{WIDTH}" height="100%"/>']
    for at, stage in enumerate(STAGES):
        x, width = round(lefts[at]), round(lefts[at + 1]) - round(lefts[at])
        parts.append(f'<rect class="band{at % 2}" x="{x}" y="52" width="{width}" height="{pipe - 52}"/>')
        parts.append(f'<text class="stage" x="{x + width // 2}" y="72">{stage}{" →" * (stage != STAGES[-1])}</text>')
    parts += drawn(boxes, imports, PACKAGES, HEADING, solid=imports)
    imports = reduced({name: uses[name] | built[name] for name in uses})
    boxes, _ = placed(imports, dict.fromkeys(imports, 0))
    parts += drawn(boxes, imports, CRATES, pipe + HEADING, solid=uses)
    for text, y in zip(TEXTS, (24, 42, pipe + 36, pipe + 54), strict=True):
        parts.append(f'<text x="{WIDTH // 2}" y="{y}">{text}</text>')
    height = pipe + HEADING + PITCH * max(box.row for box in boxes.values()) + BOX_HEIGHT + MARGIN
    return HEAD.format(width=WIDTH, height=height) + "\n".join([f"<style>{STYLE}</style>", *parts, "</svg>\n"])


if __name__ == "__main__":
    main()
