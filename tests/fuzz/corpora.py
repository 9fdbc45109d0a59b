"""Corpora: the inputs that between them reach all that fuzzing reached, one JSON file for each target.

An input that is mostly text is a string whose characters are its bytes, so that changes can be read in a review. Any
other is base64 behind `base64:`.
"""

import base64
import hashlib
import json
from pathlib import Path

FOLDER = Path(__file__).parent / "corpora"
_ENCODED = "base64:"
#: Corpora are read in reviews and by every run of the tests.
MAX_TARGET_BYTES = 60_000


def load(target: str) -> list[bytes]:
    """The inputs of a target; none where it has no corpus yet."""
    path = FOLDER / f"{target}.json"
    if not path.exists():
        return []
    return [_bytes(text) for text in json.loads(path.read_text(encoding="utf-8"))]


def store(target: str, inputs: list[bytes]) -> None:
    """Writes a corpus: shorter inputs first, one on each line."""
    FOLDER.mkdir(exist_ok=True)
    lines = [json.dumps(_text(data)) for data in sorted(set(inputs), key=lambda data: (len(data), data))]
    (FOLDER / f"{target}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def unpack(target: str, folder: Path) -> None:
    """Puts each input into a file of its own, as fuzzers want it."""
    folder.mkdir(parents=True, exist_ok=True)
    for data in load(target):
        (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def pack(target: str, folder: Path) -> None:
    """Adds the files of a folder to the corpus, the shortest first, as long as it stays below `MAX_TARGET_BYTES`."""
    kept = load(target)
    room = MAX_TARGET_BYTES - sum(len(json.dumps(_text(data))) for data in kept)
    for data in sorted((path.read_bytes() for path in folder.iterdir()), key=len):
        room -= len(json.dumps(_text(data)))
        if room < 0:
            break
        kept.append(data)
    store(target, kept)


def _text(data: bytes) -> str:
    text = data.decode("latin-1")
    is_text = sum(character.isascii() and character.isprintable() for character in text) > 0.8 * len(text)
    return text if is_text and not text.startswith(_ENCODED) else _ENCODED + base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text.removeprefix(_ENCODED)) if text.startswith(_ENCODED) else text.encode("latin-1")
