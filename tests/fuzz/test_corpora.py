"""The corpora, and inputs changed from them by a seed, keep what the targets say; `make fuzz` looks for more."""

import random
import time

import pytest

from tests.fuzz import corpora, peer
from tests.fuzz.mutate import changed
from tests.fuzz.targets import TARGETS

#: CPU time. An input that takes longer is one to look at.
MAX_SECONDS = 30
#: Changed inputs for each target: some seconds of each.
CHANGED = {"results": 3, "profiles": 60, "uperf": 300, "tables": 300}
USUAL = 1000
SEED = 17
#: Corpora are read in reviews and by every run of the tests.
MAX_CORPORA_BYTES = 500_000
#: Of the corpus of a target whose inputs take long, so many at most.
MOST = {"results": 12}


def check(target: str, data: bytes) -> None:
    since = time.process_time()
    TARGETS[target](data)
    assert time.process_time() - since < MAX_SECONDS


@pytest.fixture(autouse=True)
def _agents_half() -> None:
    if not peer.binary().exists():
        pytest.skip("compares with the reading in Rust, whose example `verdicts` make test builds first")


@pytest.mark.parametrize("target", TARGETS)
def test_the_corpus(target: str) -> None:
    inputs = corpora.load(target)
    assert inputs
    for data in random.Random(SEED).sample(inputs, min(len(inputs), MOST.get(target, len(inputs)))):
        check(target, data)


@pytest.mark.parametrize("target", TARGETS)
def test_changed_inputs(target: str) -> None:
    rng = random.Random(SEED)
    inputs = corpora.load(target)
    for _ in range(CHANGED.get(target, USUAL)):
        data = changed(rng.choice(inputs), rng, inputs, 16_000)
        try:
            check(target, data)
        except BaseException:
            print(f"failed on {data!r}")
            raise


def test_corpora_are_small_and_of_a_target_each() -> None:
    paths = list(corpora.FOLDER.iterdir())
    assert {path.stem for path in paths} == TARGETS.keys()
    assert sum(path.stat().st_size for path in paths) <= MAX_CORPORA_BYTES


@pytest.mark.parametrize("data", [b"", b"plain text", bytes(range(256)), b"base64:x"])
def test_what_is_stored_comes_back(data: bytes, tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "FOLDER", tmp_path)
    corpora.store("frames", [data, data])
    assert corpora.load("frames") == [data]
