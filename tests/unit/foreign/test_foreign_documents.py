"""Texts that somebody else may have made."""

import tomllib

import pytest

from whyperf.foreign import parse_json, parse_toml
from whyperf.foreign.documents import MAX_DEPTH, MAX_VALUES


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize("depth", [MAX_DEPTH + 2, 900, 200_000])
def test_deep_json_is_refused_whatever_its_depth(depth: int) -> None:
    for text in (nested(depth), nested(depth).encode(), '{"a":' * depth + "1" + "}" * depth):
        with pytest.raises(ValueError, match=f"nests deeper than {MAX_DEPTH} levels"):
            parse_json(text)


def test_json_of_many_values_is_refused_before_it_takes_memory() -> None:
    with pytest.raises(ValueError, match=f"over {MAX_VALUES:,} values"):
        parse_json(b"[" + b"[]," * (MAX_VALUES // 2 + 1) + b"0]")


def test_plain_json_passes() -> None:
    assert parse_json(b'{"a": [1, {"b": null}], "c": "[[["}') == {"a": [1, {"b": None}], "c": "[[["}
    assert parse_json(nested(MAX_DEPTH)) is not None
    # Wide is not deep.
    assert len(parse_json("[" + ",".join(["[]"] * 1000) + "]")) == 1000


@pytest.mark.parametrize(
    "text",
    [
        f"a = {nested(100_000)}",
        f"a = {nested(MAX_DEPTH + 2)}",
        "a = " + "{ a = " * 100_000 + "1" + " }" * 100_000,
        f"[{'.'.join(['a'] * 5_000)}]",
        f"{'.'.join(['a'] * 5_000)} = 1",
    ],
    ids=["arrays", "just too deep", "inline tables", "a header", "a key"],
)
def test_deep_toml_is_refused(text: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError, match="nests deeper"):
        parse_toml(text)
