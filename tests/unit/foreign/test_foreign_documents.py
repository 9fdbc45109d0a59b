"""Texts that somebody else may have made."""

import json
import tomllib

import pytest

from whyperf.foreign import json_in_script, parse_json, parse_toml, quoted, visible
from whyperf.foreign.documents import MAX_DEPTH, MAX_DOTS, MAX_TOML_CHARACTERS, MAX_VALUES
from whyperf.report.charts.switchboard import Choice, Switchboard
from whyperf.report.flow import viewer


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
    ],
    ids=["arrays", "just too deep", "inline tables"],
)
def test_deep_toml_is_refused(text: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError, match="nests deeper"):
        parse_toml(text)


LONG_KEY = ".".join(["a"] * (MAX_DOTS + 2))


@pytest.mark.parametrize(
    "text",
    [
        f"[{LONG_KEY}]",
        f"[[{LONG_KEY}]]",
        f"{LONG_KEY} = 1",
        f"x = 1\r\n{LONG_KEY} = 1",
        f"x = [1,\n{{ y = 0.5, {LONG_KEY} = 1 }}]",
        " . ".join(['"a.\\"#"', "'b.\\'"] * 9) + " = 1",
        f'x = """\\"""\n""""" # "\n{LONG_KEY} = 1',
        f"x = '''\\'''''\n{LONG_KEY} = 1",
        f"x = '\"' # '\n{LONG_KEY} = 1 # \"",
        f'x = "\\\\" # "\n{LONG_KEY} = 1 # "',
    ],
    ids=[
        "a header",
        "a list",
        "a key",
        "a line of another system",
        "an inline table",
        "strings in a key",
        "after a text of lines",
        "after a literal of lines",
        "after a literal",
        "after a text",
    ],
)
def test_keys_of_toml_with_many_dots_are_refused_before_they_take_time(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It is TOML.
    tomllib.loads(text)
    monkeypatch.setattr(tomllib, "loads", pytest.fail)
    with pytest.raises(tomllib.TOMLDecodeError, match=f"a key has over {MAX_DOTS} dots"):
        parse_toml(text)


def test_dots_that_are_not_of_one_key_pass() -> None:
    dots = "." * (MAX_DOTS + 1)
    for value in (
        f"1 # {dots}",
        f"[{'0.5, ' * len(dots)}]",
        f'"{dots}"',
        f"'''\n{dots}'\n'''",
        f"{{ b.c = '{dots}' }}",
    ):
        assert list(parse_toml(f"a = {value}\nb = 1.5")) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("#" * (MAX_TOML_CHARACTERS + 1), "over 1,048,576 characters"),
        (f"a = {'9' * 5000}", "a key or a number has over 1,000 characters"),
        (f"a = 0x{'f' * 5000}", "a key or a number has over 1,000 characters"),
    ],
)
def test_toml_that_is_too_long_is_refused(text: str, problem: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError, match=problem):
        parse_toml(text)


@pytest.mark.parametrize(
    "text", [b'"\\ud800"', b'{"\\uDC00": 1}', b'"\xed\xa0\x80"', '"a"'.encode("utf-16"), b'"\xff"']
)
def test_json_that_could_not_be_written_again_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="codec can't"):
        parse_json(text)


def test_pairs_of_utf_16_pass() -> None:
    assert parse_json(b'"\\ud83d\\ude00"') == "\U0001f600"


def test_what_a_terminal_would_obey_is_escaped() -> None:
    assert visible("a\x1b[2J\n\u202eb \u00e9\u00a0") == "a\\x1b[2J\\n\\u202eb \u00e9\u00a0"
    assert visible("a\nb\tc", keep="\n\t") == "a\nb\tc"
    assert quoted("x" * 300) == "x" * 200 + "…"


@pytest.mark.parametrize("text", ["</script>", "<!--<script>", "</SCRIPT ", "<!--"])
def test_json_in_a_script_element_neither_ends_it_nor_begins_another(text: str) -> None:
    written = json_in_script({"name": [text]})
    assert "<" not in written
    assert json.loads(written) == {"name": [text]}
    board = Switchboard()
    board.source([Choice("a", "A", (text,), text)], {(text,): {"x": [text]}, ("other",): {"x": []}})
    assert "<" not in board.to_json()
    assert "<" not in viewer.data([], text, None)
