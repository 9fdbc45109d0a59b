"""The checks of an agent's answers are those of the schema that is made from the Rust types."""

import json
from pathlib import Path
from typing import Any

import pytest

from whyperf.run.agents.replies import ANSWERS, _envelope, understood
from whyperf.run.errors import RunError

ROOT = Path(__file__).parents[3]


def shapes(schema: dict[str, Any]) -> set[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Every object in a JSON Schema that states its fields: their names, and those that must be there."""
    found = set()
    definitions = schema.get("$defs", {})

    def walk(node: object) -> None:
        if isinstance(node, list):
            for inner in node:
                walk(inner)
        if not isinstance(node, dict):
            return
        if "properties" in node:
            merged = node
            if "$ref" in node:
                base = definitions[node["$ref"].rpartition("/")[2]]
                merged = {
                    "properties": base.get("properties", {}) | node["properties"],
                    "required": [*base.get("required", []), *node.get("required", [])],
                }
            found.add((tuple(sorted(merged["properties"])), tuple(sorted(merged.get("required", [])))))
        for inner in node.values():
            walk(inner)

    walk(schema)
    return found


def test_every_reply_and_its_parts_are_checked_field_by_field() -> None:
    wanted = shapes(json.loads((ROOT / "schemas" / "reply.json").read_text()))
    checked = shapes(_envelope().json_schema())
    # Parts that a reply holds flat are objects of their own in the schema.
    flat = {shape for shape in wanted if any({*shape[0], "reply"} == set(other) for other, _ in wanted)}
    assert wanted - flat <= checked
    assert checked - wanted == set()


def test_every_request_has_its_answers() -> None:
    schema = json.loads((ROOT / "schemas" / "request.json").read_text())
    requests = set()

    def walk(node: object) -> None:
        if isinstance(node, dict):
            constant = node.get("properties", {}).get("request", {})
            requests.update([constant["const"]] if "const" in constant else [])
            for inner in node.values():
                walk(inner)
        elif isinstance(node, list):
            for inner in node:
                walk(inner)

    walk(schema)
    assert requests == ANSWERS.keys()


CLOCK = {"reply": "clock", "mono_ns": 1, "realtime_ns": 1}
EVIDENCE: dict[str, Any] = {"asked": "user", "got": "user", "reason": None, "missing": [], "broken_off": None} | {
    **{f"{name}_count": 0 for name in ("logged_events", "logged_calls", "missed_runs", "unseen_segments")},
    "lost_events_count": [],
    "lost_calls_count": [],
    "profile": None,
    "stages": None,
}
COMPLETE = {"ended": "complete"}
FINISHED = {"reply": "finished", "outcome": COMPLETE, "payload_bytes": 1, "notes": [], "evidence": EVIDENCE}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (CLOCK | {"mono_ns": 2**70}, "clock.mono_ns is wrong: input should be less than 4611686018427387904"),
        (CLOCK | {"mono_ns": -1}, "clock.mono_ns is wrong"),
        (CLOCK | {"mono_ns": "1"}, "clock.mono_ns is wrong"),
        (FINISHED | {"notes": [{"count": 1}]}, "finished.notes.0 is wrong"),
        (FINISHED | {"notes": [{"note": "sampler_late"}]}, "finished.notes.0.sampler_late.worst_ns is wrong"),
        (FINISHED | {"outcome": {"ended": "failed"}}, "finished.outcome.failed.reason is wrong: field required"),
        (FINISHED | {"evidence": EVIDENCE | {"got": "all"}}, "finished.evidence.got is wrong"),
        ({"reply": "table", "name": "flows"}, "table.bytes is wrong: field required"),
        ({"reply": "fly"}, '"fly"'),
        ("[" * 200_000 + "]" * 200_000, 'not a message of an agent: \'{"id": '),
        ("1" * 900_000, "not a message of an agent"),
    ],
)
def test_a_bad_answer_is_one_sentence(body: object, says: str) -> None:
    text = f'{{"id": 2, "body": {body if isinstance(body, str) else json.dumps(body)}}}'
    with pytest.raises(RunError) as caught:
        understood(text.encode())
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert understood(json.dumps({"id": 2, "body": FINISHED}).encode()) == (2, FINISHED)


@pytest.mark.parametrize(
    "payload",
    [
        b'{"id": 1, "id": 2, "body": {"reply": "done"}}',
        b'{"id": 1, "body": {"reply": "done", "reply": "done"}}',
        b'{"id": 0, "body": {"reply": "hello", "version": "\\ud800", "pid": 1}}',
    ],
)
def test_what_no_agent_could_send_is_refused(payload: bytes) -> None:
    with pytest.raises(RunError, match="not a message of an agent"):
        understood(payload)


def test_a_zero_with_a_sign_is_no_whole_number() -> None:
    with pytest.raises(RunError, match="id"):
        understood(b'{"id": -0, "body": {"reply": "done"}}')
    assert understood(b'{"id": 0, "body": {"reply": "done"}}') == (0, {"reply": "done"})
