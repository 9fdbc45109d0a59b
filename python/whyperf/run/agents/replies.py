"""Answers that an agent may give (Reply in crates/schema/src/message.rs), checked before anything is done with them.

An agent may run on a host that somebody else controls. What it says goes into the record and is computed with, so a
field that is missing, unknown or out of range is refused here. The checks are those of the schema (`whyperf.wire`).
"""

from functools import cache
from typing import Any, Final

from pydantic import ConfigDict, TypeAdapter, ValidationError

from whyperf.foreign import parse_json
from whyperf.run.errors import RunError
from whyperf.wire import Reply, ReplyEnvelope

MAX_REPLY_BYTES: Final = 1 << 20
"""Longest reply. The longest that an agent of ours sends describes a host, in about 100 bytes a CPU and hook."""

ANSWERS: Final[dict[str, frozenset[str]]] = {
    "hello": frozenset({"hello"}),
    "clock": frozenset({"clock"}),
    "describe_host": frozenset({"host"}),
    "list_transports": frozenset({"transports"}),
    "build_testbed": frozenset({"testbed"}),
    "remove_testbed": frozenset({"done"}),
    "carry_path": frozenset({"done"}),
    "begin_path": frozenset({"done"}),
    "end_path": frozenset({"path_carried", "table", "done"}),
    "prepare": frozenset({"prepared"}),
    "connect": frozenset({"connected"}),
    "describe_opening": frozenset({"opening"}),
    "start": frozenset({"progress", "finished", "table", "done"}),
    "abort": frozenset({"done"}),
    "watch": frozenset({"watched", "finished", "table", "done"}),
    "end_watch": frozenset({"done"}),
    "goodbye": frozenset({"goodbye"}),
}
"""Replies by request; any request may be answered by `error`."""


@cache
def _envelope() -> TypeAdapter[ReplyEnvelope]:
    """Made when the first agent answers: a command that starts none does without."""

    class Strict(ReplyEnvelope):
        __pydantic_config__ = ConfigDict(strict=True, extra="forbid")  # type: ignore[misc]

    return TypeAdapter(Strict)


def understood(payload: bytes) -> tuple[int, Reply]:
    """The identifier and body of a message from an agent.

    Raises:
        RunError: it is no reply of this version of whyperf.
    """
    if len(payload) > MAX_REPLY_BYTES:
        raise RunError(f"the agent sent a message of {len(payload):,} bytes; the limit is {MAX_REPLY_BYTES:,}")
    try:
        message: ReplyEnvelope = parse_json(payload, pairs=_object, integer=_integer)
        _envelope().validate_python(message)
    except ValidationError as error:
        raise RunError(f"{_wrong(error, payload)}; install the same whyperf on both hosts") from None
    except ValueError:
        raise RunError(f"{_no_message(payload)}; install the same whyperf on both hosts") from None
    return message["id"], message["body"]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, in which no key may stand twice: which of the two counts is not the same everywhere."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _integer(text: str) -> float:
    """A whole number; the zero with a sign is none in Rust, and so it is none here."""
    return -0.0 if text == "-0" else int(text)


def _no_message(payload: bytes) -> str:
    return f"not a message of an agent: {payload[:60].decode(errors='replace')!r}"


def _wrong(error: ValidationError, payload: bytes) -> str:
    """The fault in a message, with its place."""
    finding = error.errors(include_url=False, include_context=False)[0]
    place = [str(part) for part in finding["loc"] if part != "body"]
    if not place:
        return _no_message(payload)
    text = f"{finding['msg'][:1].lower()}{finding['msg'][1:]}"
    value = "" if finding["type"] == "missing" else f", not {_shown(finding['input'])}"
    return f"the agent sent a message whose {'.'.join(place)} is wrong: {text}{value}"


def _shown(value: object) -> str:
    """The start of a value; a huge integer is never written out."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 40 else text[:40] + "…"
