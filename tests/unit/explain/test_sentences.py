"""The sentences on each case of the rules, in one file that a reviewer can read.

`python -m tests.unit.explain.test_sentences` writes the file anew.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.explain.test_rules import CASES
from tests.unit.explain.watched_cases import CASES as WATCHED_CASES
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Value
from whyperf.explain.rules import judge
from whyperf.explain.wording.catalog import render, templates, unit_of

FILE = Path(__file__).with_name("sentences.txt")

BY_UNIT: dict[str, Value] = {
    "bytes": 65_536, "ns": 12_300_000, "ratio": 0.43, "bit/s": 94.1e6, "1/s": 1250.0, "packets": 42, "segments": 42,
    "count": 42, "cycles": 1082.0, "cycles/KByte": 363.4, "cycles/transaction": 36.34,
}  # fmt: skip
BY_NAME: dict[str, Value] = {
    "states": ["receive_window_buffer", "zero_window"], "causes": ["small_queue", "random_loss", "burst_loss"],
    "levels": ["window_bytes=65536"], "factors": ["window_bytes"], "role": "receiver", "host": "far", "cpu": 3,
    "packets": 20, "acks": 2, "again": 6, "others": 3, "number": 1, "max_pairs": 16, "fewest_pairs": 6, "call": "write",
    "place": "write size 7,168 bytes", "cycle": "send 7,616 B, wait for an ACK, send 11,584 B five times",
    "interval": "2.80–3.40", "predicted_interval": "3.35–4.50", "size": "7,616 B", "min_size": "512 B",
    "max_size": "1,460 B", "were": "were all", "value": "50 %", "usual": "0 %", "neighbors": "6,144 and 8,192 bytes",
    "rate": "15.1 Mbit/s", "off": "25 %", "lost": "5.02 Mbit/s", "shared": "6,656 to 7,680 bytes", "pairs": "6 pairs",
    "change": "no_delay = true", "gain": "about 5.1 × (3.4–7.7 ×)", "kinds": "4 by fast retransmission, 2 by timeouts",
    "functions": ["nft_do_chain", "nft_meta_get_eval"], "class": "Copying payload", "event": "packet",
    "folder": "results/quick-4f69ee", "trial": "log01-c0001", "cell": "c0002", "cause": "receive_buffer",
}  # fmt: skip


def example(name: str) -> Value:
    """A value for a name in a template."""
    unit = unit_of(name)
    if name in BY_NAME:
        return BY_NAME[name]
    if unit == "ratio" and "ratio" not in name:
        return 2.5
    return BY_UNIT.get(unit, name.upper())


def lines() -> Iterator[str]:
    """The first verdict on each case of the rules, with its evidence."""
    for number, case in enumerate(CASES):
        verdict = judge(case.speaks)[0]
        yield f"case {number} {verdict.code}: {verdict.claim}"
        yield from (f"    {row.code}: {row.words}" for row in verdict.evidence)
    for watched in WATCHED_CASES:
        verdict = judge(watched.speaks)[0]
        yield f"watched: {watched.name}, {verdict.code}: {verdict.claim}"
        yield from (f"    {row.code}: {row.words}" for row in verdict.evidence)


@pytest.mark.parametrize("kind", templates())
def test_every_template_is_filled_in(kind: str) -> None:
    for code, template in templates()[kind].items():
        values = {name: example(name) for name in re.findall(r"\{(\w+)", template)}
        text = render(kind, code, values)
        assert not set("{}[]") & set(text), code


def test_every_sentence_reads_as_reviewed() -> None:
    assert list(lines()) == FILE.read_text().splitlines()


def test_every_cause_has_its_sentences() -> None:
    catalog = templates()
    for cause in Cause:
        assert {cause in catalog["claim"], cause in catalog["refuted_by"]} == {True}
        assert (cause in catalog["limit"]) is (cause is not Cause.NOT_KNOWN)


def test_a_part_in_brackets_needs_its_values_and_a_variant_falls_back_to_its_cause() -> None:
    whole = render("claim", "receive_buffer", {"lost_ratio": 0.9, "window_bytes": 4096})
    assert "full window of 4,096 bytes, while" in whole
    assert "full window, while" in render("claim", "receive_buffer", {"lost_ratio": 0.9, "window_bytes": None})
    assert render("refuted_by", "tiny_writes.no.such.variant", {}) == render("refuted_by", "tiny_writes", {})


if __name__ == "__main__":
    FILE.write_text("".join(f"{line}\n" for line in lines()))
