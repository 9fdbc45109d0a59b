"""Changes to inputs that keep more of their form than changed bytes do: parts of JSON documents, and words of texts."""

import copy
import json
import random
import re
from typing import Any

#: Values at the edges of what fields hold.
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 255, 65_536, 2**31 - 1, 2**31, 2**32, 2**53 + 1),
    *(2**63 - 1, 2**63, 2**64 - 1, 2**64),
    *(0.0, -0.0, 0.5, 1.0, 1e-9, 1e18, 1e300, -1.5, float("nan"), float("inf")),
    *("", "a", "near", "far", "tcp", "none", "auto", "=connections", "0x10", "1e5", "10ms", "2M"),
    *("\u00e9", "\ud800", "\0\x1b[2J"),
    *([], {}, [[]], {"": 0}, [0] * 50, "x" * 3000),
)
_WORD = re.compile(rb"[A-Za-z0-9_.-]+|[^A-Za-z0-9_.-]")
_NUMBERS = tuple(b"0 1 -1 65536 4294967296 18446744073709551616 1e400 0.001 nan inf 1_000".split())


def changed(data: bytes, rng: random.Random, others: list[bytes], most: int) -> bytes:
    """A changed copy: of a JSON document mostly a part, of a text mostly words, else bytes."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        data = _changed_once(data, rng, others)
    return data[:most]


def _changed_once(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    # Some inputs have a byte in front that chooses the file.
    for skip in (0, 1):
        if data[skip : skip + 1] == b"{" and rng.random() < 0.8:
            try:
                document = json.loads(data[skip:])
            except (ValueError, RecursionError):
                continue
            return data[:skip] + _written(_with_other_part(document, rng), rng)
    if rng.random() < 0.6:
        return _with_other_words(data, rng, others)
    return _with_other_bytes(data, rng)


def _written(document: Any, rng: random.Random) -> bytes:
    # A key that stands twice is a matter of its own: which of the two counts?
    text = json.dumps(document, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.05 and text.startswith("{"):
        text = text[:-1] + ", " + text[1:]
    return text.encode(errors="surrogatepass")


def _with_other_part(document: Any, rng: random.Random) -> Any:
    document = copy.deepcopy(document)
    places: list[tuple[Any, Any]] = []
    level = [document]
    while level:
        container = level.pop()
        keys = list(container) if isinstance(container, dict) else range(len(container))
        for key in keys:
            places.append((container, key))
            if isinstance(container[key], dict | list):
                level.append(container[key])
    if not places:
        return rng.choice(VALUES)
    container, key = rng.choice(places)
    match rng.randrange(7):
        case 0:
            del container[key]
        case 1 if isinstance(container, dict):
            container[rng.choice(("x", str(key).upper(), f"{key}_s", "id", "name"))] = rng.choice(VALUES)
        case 2:
            other, place = rng.choice(places)
            container[key] = copy.deepcopy(other[place]) if not _is_gone(other, place) else rng.choice(VALUES)
        case 3 if isinstance(container, list):
            container.insert(key, copy.deepcopy(container[key]))
        case 4 if isinstance(container[key], int | float) and not isinstance(container[key], bool):
            container[key] = rng.choice(
                (container[key] + 1, container[key] - 1, -container[key], container[key] * 2**32)
            )
        case 5 if isinstance(container[key], str):
            container[key] = _with_other_bytes(container[key].encode(errors="surrogatepass"), rng).decode("latin-1")
        case _:
            container[key] = rng.choice(VALUES)
    return document


def _is_gone(container: Any, key: Any) -> bool:
    return key not in container if isinstance(container, dict) else key >= len(container)


def _with_other_words(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    pieces = _WORD.findall(data)
    if not pieces:
        return _with_other_bytes(data, rng)
    at = rng.randrange(len(pieces))
    until = min(len(pieces), at + rng.choice((1, 1, 1, 3, 10)))
    match rng.randrange(5):
        case 0:
            new = []
        case 1:
            new = pieces[at:until] * 2
        case 2:
            new = [rng.choice(_NUMBERS)]
        case _:
            source = _WORD.findall(rng.choice(others) if others else data) or [b""]
            start = rng.randrange(len(source))
            new = source[start : start + rng.choice((1, 1, 3, 10, 40))]
    return b"".join([*pieces[:at], *new, *pieces[until:]])


def _with_other_bytes(data: bytes, rng: random.Random) -> bytes:
    changed_bytes = bytearray(data or b"\0")
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(changed_bytes))
        match rng.randrange(5):
            case 0:
                changed_bytes[at] = rng.randrange(256)
            case 1:
                changed_bytes[at] ^= 1 << rng.randrange(8)
            case 2:
                changed_bytes.insert(at, rng.randrange(256))
            case 3:
                del changed_bytes[at : at + rng.randint(1, 8)]
            case _:
                changed_bytes[at:at] = changed_bytes[at : at + rng.randint(1, 16)]
        if not changed_bytes:
            break
    return bytes(changed_bytes)
