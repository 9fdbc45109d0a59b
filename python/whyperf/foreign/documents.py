"""JSON and TOML within bounds: what is too deep or has too many values is refused as what is malformed is."""

import json
import re
import tomllib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pydantic import BaseModel

M = TypeVar("M", bound="BaseModel")

MAX_DEPTH = 64
"""Levels of nesting. A plan has 8; Python's own limit depends on how deep its caller already is."""

MAX_VALUES = 8_000_000
"""Values in a JSON text. Each takes up to 64 bytes of memory, for 2 bytes of the text; 160 while pydantic reads it."""

MAX_TOML_CHARACTERS = 1 << 20
"""Characters of a TOML text, which is written by hand; each takes up to 5 µs and 600 bytes of memory."""

MAX_DOTS = 16
"""Dots in a key of a TOML text. A profile has 2; `tomllib` takes time and memory by their square."""

MAX_WORD_CHARACTERS = 1000
"""Characters of a bare key or a number of a TOML text. Python writes no number of over 4,300 digits."""

_STRINGS_AND_COMMENTS = re.compile(
    r'''"""(?:[^"\\]+|\\.|"(?!""))*(?:"{3,5})?|'''
    r"""'''(?:[^']+|'(?!''))*(?:'{3,5})?|"""
    r""""(?:[^"\\\n]+|\\.)*"?|"""
    r"""'[^'\n]*'?|"""
    r"#[^\n]*",
    re.DOTALL,
)
"""Strings and comments of TOML, up to the first mistake of a text. No end is required: nothing is read twice."""

_WORD = re.compile(r"[^][{}=,\n]+")
"""Keys, numbers and the like of a text of TOML that has no strings."""


def parse_json(
    text: bytes | str,
    *,
    pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
    integer: Callable[[str], Any] | None = None,
) -> Any:
    """The value of a JSON text; `pairs` makes the value of an object, `integer` that of a whole number, as json's
    `object_pairs_hook` and `parse_int`.

    Raises:
        ValueError: it is no JSON in UTF-8, nests deeper than `MAX_DEPTH` levels, has more than `MAX_VALUES` values, or
            has a text that UTF-8 cannot hold.
    """
    refuse_many_values(text)
    opening = _opening(text)
    try:
        # From bytes json would take any encoding, and halves of pairs in UTF-8.
        value = json.loads(text if isinstance(text, str) else text.decode(), object_pairs_hook=pairs, parse_int=integer)
    except RecursionError:
        raise ValueError(_too_deep()) from None
    if opening > MAX_DEPTH and _is_too_deep(value):
        raise ValueError(_too_deep())
    # Half a pair of UTF-16 can be escaped in JSON, and could not be written anywhere afterwards.
    if _may_have_half_a_pair(text):
        json.dumps(value, ensure_ascii=False).encode()
    return value


def parse_model(model: type[M], text: bytes | str, max_values: int = MAX_VALUES) -> M:
    """The model that a JSON text is of, read strictly or not as the model says.

    Raises:
        pydantic.ValidationError: it is none, or has more than `max_values` values.
    """
    # Whoever has a model has loaded pydantic.
    from pydantic import ValidationError  # noqa: PLC0415
    from pydantic_core import PydanticCustomError  # noqa: PLC0415

    try:
        refuse_many_values(text, max_values)
    except ValueError as error:
        many = PydanticCustomError("many_values", "{problem}", {"problem": str(error)})
        raise ValidationError.from_exception_data(model.__name__, [{"type": many, "input": None}]) from None
    return model.model_validate_json(text)


def refuse_many_values(text: bytes | str, max_values: int = MAX_VALUES) -> None:
    """Refuses a JSON text that would take too much memory once it is read.

    Raises:
        ValueError: it has more than `max_values` values.
    """
    # Counts what is inside strings too: never too few. Counting is a hundred times as fast as parsing.
    if _opening(text) + _count(text, ",") > max_values:
        raise ValueError(f"it has over {max_values:,} values")


def parse_toml(text: str) -> dict[str, Any]:
    """The table of a TOML text.

    Raises:
        tomllib.TOMLDecodeError: it is no TOML, nests deeper than `MAX_DEPTH` levels, or is over another bound above.
    """
    if len(text) > MAX_TOML_CHARACTERS:
        raise tomllib.TOMLDecodeError(f"it has over {MAX_TOML_CHARACTERS:,} characters")
    for word in _WORD.finditer(_STRINGS_AND_COMMENTS.sub("", text)):
        if word[0].count(".") > MAX_DOTS:
            raise tomllib.TOMLDecodeError(f"a key has over {MAX_DOTS} dots")
        if len(word[0]) > MAX_WORD_CHARACTERS:
            raise tomllib.TOMLDecodeError(f"a key or a number has over {MAX_WORD_CHARACTERS:,} characters")
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError(_too_deep()) from None
    if _is_too_deep(table):
        raise tomllib.TOMLDecodeError(_too_deep())
    return table


def _too_deep() -> str:
    return f"it nests deeper than {MAX_DEPTH} levels"


def _may_have_half_a_pair(text: bytes | str) -> bool:
    """True where an escape begins as those of UTF-16's pairs do."""
    if isinstance(text, str):
        return "\\ud" in text or "\\uD" in text
    return b"\\ud" in text or b"\\uD" in text


def _opening(text: bytes | str) -> int:
    """Number of lists and objects that begin."""
    return _count(text, "[") + _count(text, "{")


def _count(text: bytes | str, character: str) -> int:
    return text.count(character) if isinstance(text, str) else text.count(character.encode())


def _is_too_deep(value: object) -> bool:
    """True where containers nest too deep. Level by level, so that no depth is too much for it."""
    level: list[object] = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    """The containers in a container."""
    values: Iterable[object] = ()
    if isinstance(value, dict):
        values = value.values()
    elif isinstance(value, list):
        values = value
    return (inner for inner in values if isinstance(inner, dict | list))
