"""In which environments a watched command is run again, and what cannot be tried."""

from dataclasses import replace

import pytest

from whyperf.explain.causes import Cause
from whyperf.explain.experiments.environments import (
    CONTROL,
    CPUS,
    RECEIVE,
    SEND,
    FirstRun,
    cpu_list,
    environments,
    not_tried,
)
from whyperf.explain.experiments.tries import TOGETHER
from whyperf.explain.explanation import Level
from whyperf.explain.wording.experiments import try_words

SMALL = {RECEIVE: "4096 131072 6291456", SEND: "4096\t16384\t16384", "net.ipv4.tcp_congestion_control": "cubic"}
FIRST = FirstRun(
    facts={"sysctls": SMALL, "congestion_controls": ["cubic", "bbr"]},
    owns_namespace=True,
    sends=True,
    receives=False,
    peers=("10.0.0.2",),
    cpus=frozenset({0, 1}),
    possible=frozenset({0, 1}),
    interrupted=1,
)
HOSTS_OWN = replace(FIRST, owns_namespace=False)
LARGE = {RECEIVE: "4096 131072 67108864", SEND: "4096 16384 67108864"}


def tried(first: FirstRun) -> dict[str, dict[str, Level]]:
    return {each.name: dict(each.factors) for each in environments(first) if not each.parts}


def test_in_a_namespace_of_the_user_everything_of_the_own_end_is_tried() -> None:
    sends = {"send-buffer": {SEND: LARGE[SEND]}, "other-control": {CONTROL: "bbr"}, "other-cpus": {CPUS: "0"}}
    assert tried(FIRST) == sends
    receives = replace(FIRST, sends=False, receives=True)
    assert tried(receives) == {"receive-window": {RECEIVE: LARGE[RECEIVE]}, "other-cpus": {CPUS: "0"}}
    assert set(tried(replace(FIRST, receives=True))) == {*sends, "receive-window"}
    assert list(not_tried(FIRST)) == []


def test_in_the_hosts_own_namespace_only_cpus_are() -> None:
    assert tried(HOSTS_OWN) == {"other-cpus": {CPUS: "0"}}
    (sentence,) = not_tried(HOSTS_OWN)
    assert "--netns NAME" in sentence


@pytest.mark.parametrize(
    ("cpus", "possible", "interrupted", "wanted"),
    [
        ({0}, {0, 1, 2, 3}, 0, {"free-cpus": {CPUS: "0-3"}}),
        ({0, 1, 2, 3}, {0, 1, 2, 3}, 1, {"other-cpus": {CPUS: "0,2-3"}}),
        ({0, 1}, {0, 1}, None, {}),
        ({0}, {0}, 0, {}),
        ({0, 1}, {0, 1}, 7, {}),
    ],
)
def test_cpus(cpus: set[int], possible: set[int], interrupted: int | None, wanted: dict[str, object]) -> None:
    first = replace(HOSTS_OWN, cpus=frozenset(cpus), possible=frozenset(possible), interrupted=interrupted)
    assert tried(first) == wanted


def test_a_limit_that_does_not_reach_the_buffer_shows_nothing_and_is_named() -> None:
    fixed = replace(FIRST, fixed=[SEND])
    assert "send-buffer" not in tried(fixed)
    assert [*not_tried(fixed)] == [f"{SEND} is not tried: the program sets the size of this buffer itself"]
    unknown = replace(FIRST, unknown=[SEND, RECEIVE])
    assert "send-buffer" not in tried(unknown)
    (sentence,) = not_tried(unknown)
    assert sentence.startswith(f"{SEND} is not tried: only BPF")


def test_what_is_there_already_or_not_known_is_not_tried() -> None:
    enough = {**SMALL, SEND: "4096 20000 100000000"}
    assert "send-buffer" not in tried(replace(FIRST, facts={**FIRST.facts, "sysctls": enough}))
    assert set(tried(replace(FIRST, facts={}))) == {"other-cpus"}
    more = {**SMALL, SEND: "8192 1024 1000"}
    found = tried(replace(FIRST, facts={**FIRST.facts, "sysctls": more}))
    assert found["send-buffer"] == {SEND: "8192 16384 67108864"}
    bbr = {**SMALL, "net.ipv4.tcp_congestion_control": "bbr"}
    assert tried(replace(FIRST, facts={**FIRST.facts, "sysctls": bbr}))["other-control"] == {CONTROL: "cubic"}
    assert "other-control" not in tried(replace(FIRST, facts={"sysctls": SMALL, "congestion_controls": ["cubic"]}))
    assert "other-control" not in tried(replace(FIRST, peers=()))


def test_remedies_are_made_together_and_have_words() -> None:
    found = {each.name: each for each in environments(FIRST)}
    assert found[TOGETHER].factors == {SEND: LARGE[SEND], CPUS: "0"}
    assert found["send-buffer"].relieves[0] == Cause.SEND_BUFFER
    assert (found["send-buffer"].is_remedy, found["other-control"].is_remedy) == (True, False)
    assert not any(each.is_of_path for each in found.values())
    assert all(try_words(name) for name in found)


@pytest.mark.parametrize(("cpus", "text"), [({5}, "5"), ({0, 1}, "0-1"), ({0, 2, 3, 4, 9}, "0,2-4,9")])
def test_cpus_as_taskset_takes_them(cpus: set[int], text: str) -> None:
    assert cpu_list(cpus) == text
