"""python -m scripts.style [FILE...]: prints what breaks the rules of plain English; exits with 1 if anything does."""

import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from scripts.style import commits, rules
from scripts.style.rules import Hit
from scripts.style.source import pieces

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str]) -> int:
    """Checks the named files, or all files, the names of types and the commits."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "--deduplicate", "--", *arguments],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    whole = rules.read()
    own = (file for file in listed if (ROOT / file).is_file() and not (ROOT / file).is_symlink())
    files = [file for file in own if whole.is_checked(file)]
    with ProcessPoolExecutor() as pool:
        checked = list(pool.map(of_file, files, chunksize=20))
    found = [hit for hits, _ in checked for hit in hits]
    if not arguments:
        found += [
            *repeated_types(files, [types for _, types in checked], whole.type_definitions),
            *commits.hits(ROOT, whole),
        ]
    for hit in found:
        print(hit)
    print(f"{len(found)} hits in {len(files)} files" if found else f"{len(files)} files are in plain English")
    return 1 if found else 0


def of_file(file: str) -> tuple[list[Hit], list[str]]:
    """The hits in a file, and the types that it defines. A name is reported once per file, where it comes first."""
    whole = rules.read()
    hits = list(whole.of_file_name(file))
    try:
        text = (ROOT / file).read_text()
    except UnicodeDecodeError:  # a picture, a table
        return hits, []
    lines = text.splitlines()
    hits += whole.of_documentation(file, lines)
    names: Counter[str] = Counter()
    types = []
    for piece in pieces(Path(file), text):
        names[piece.text] += piece.kind == "name"
        if piece.kind == "type":
            types.append(piece.text)
        elif piece.kind != "name" or names[piece.text] == 1:
            hits += whole.of_piece(file, piece, lines)
    return sorted(hits, key=lambda hit: hit.line), types


def repeated_types(files: list[str], types: list[list[str]], most: int) -> Iterator[Hit]:
    """Types whose name stands for more than so many things in the product's code of one language."""
    where: dict[tuple[str, str], list[str]] = defaultdict(list)
    for file, defined in zip(files, types, strict=True):
        if file.startswith(("python/", "crates/")) and not {"tests", "examples", "benches"} & set(Path(file).parts):
            for name in defined:
                where[Path(file).suffix, name].append(file)
    for (_, name), places in where.items():
        if len(places) > most:
            advice = f"at most {most}; names that say what each holds; also in {', '.join(places[1:])}"
            yield Hit(places[0], 1, f"type `{name}` is defined {len(places)} times", advice)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
