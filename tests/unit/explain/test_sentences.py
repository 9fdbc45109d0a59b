"""The sentences on each limit, in one file that a reviewer can read.

`python -m tests.unit.explain.test_sentences` writes the file anew.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.unit.explain.limit_cases import CASES, Case
from tests.unit.explain.situations import situations
from tests.unit.explain.watched_cases import CASES as WATCHED_CASES
from tests.unit.explain.watched_cases import WatchedCase
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Value, Verdict
from whyperf.explain.limits.every import found_in
from whyperf.explain.limits.judge import _Predicting, _verdict
from whyperf.explain.limits.limit import Limit
from whyperf.explain.limits.stages import refined
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import Facts
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


OWN: tuple[Case | WatchedCase, ...] = (*CASES, *WATCHED_CASES)


def limits_in(of: Facts) -> dict[str, Limit]:
    """Each limit of a scene by its code, with what stack samples add."""
    return {found.code: found for found in (refined(limit, of) for limit in found_in(of))}


def verdict_on(limit: Limit, of: Facts) -> Verdict:
    return _verdict(limit, of, _Predicting([limit], of, Setup()))


@cache
def scenes() -> dict[str, tuple[Limit, Facts]]:
    """Each limit in a scene: in the one that is made for it, and else in the first that shows it, or a measured trial.

    Where a scene has no rate, it is 1 Gbit/s.
    """
    own = {case.code: replace(case.speaks, rate_bps=case.speaks.rate_bps or 1e9) for case in reversed(OWN)}
    found = {code: (limits_in(of)[code], of) for code, of in own.items()}
    for scene in (*own.values(), *(situation.facts for situation in situations())):
        found = {code: (limit, scene) for code, limit in limits_in(scene).items()} | found
    return found


def lines() -> Iterator[str]:
    """The verdict on each limit, with its evidence."""
    for code, (limit, of) in sorted(scenes().items()):
        verdict = verdict_on(limit, of)
        yield f"{code}: {verdict.claim}"
        yield from (f"    {row.code}: {row.words}" for row in verdict.evidence)


@pytest.mark.parametrize("kind", templates())
def test_every_template_is_filled_in(kind: str) -> None:
    for code, template in templates()[kind].items():
        values = {name: example(name) for name in re.findall(r"\{(\w+)", template)}
        text = render(kind, code, values)
        assert not set("{}[]") & set(text), code


def test_every_sentence_reads_as_reviewed() -> None:
    assert list(lines()) == FILE.read_text().splitlines()


def test_a_limit_is_said_without_a_rate_as_well() -> None:
    for case in OWN:
        of = replace(case.speaks, rate_bps=None)
        assert all(verdict_on(limit, of).claim for limit in limits_in(of).values()), case.code


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
