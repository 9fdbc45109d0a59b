import io
from pathlib import Path

import numpy as np
import pytest

from scripts import fit_sunos
from scripts.fit_sunos import Floats

SPACE = np.array([[0.0, 100.0, 90.0]] * 4)
BEST = np.array([10.0, 30.0, 50.0, 70.0])


def distance(text: str) -> Floats:
    return np.asarray(np.sum((np.loadtxt(io.StringIO(text))[:, 4:] - BEST) ** 2, axis=1))


def distance_below(text: str) -> Floats:
    losses = distance(text)
    return np.where(losses <= np.loadtxt(io.StringIO(text))[:, 0], losses, np.inf)


def table(file: Path) -> Floats:
    return np.loadtxt(file)


def test_the_search_finds_the_minimum_and_repeats_itself_for_a_seed(tmp_path: Path) -> None:
    for name, judge, seed in (("all", distance, 1), ("stopped", distance_below, 1), ("other", distance_below, 2)):
        fit_sunos.search(judge, SPACE, seed, 40, tmp_path / name)
    found = table(tmp_path / "all")
    assert found.shape == (fit_sunos.POPULATION, 8)
    assert found[:, 0] == pytest.approx(distance((tmp_path / "all").read_text()))
    assert found[:, 0].min() < 1, "the present numbers are 12000 away, and random ones about 5000"
    assert (tmp_path / "stopped").read_text() == (tmp_path / "all").read_text(), "a limit saves runs and changes no set"
    assert (tmp_path / "other").read_text() != (tmp_path / "all").read_text()


@pytest.mark.parametrize("generations", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_the_simulator_judges_sets_and_a_search_continues_from_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, generations: int
) -> None:
    monkeypatch.setattr(fit_sunos, "POPULATION", 6)
    monkeypatch.chdir(Path(__file__).parents[3])
    command = [word for word in fit_sunos.JUDGE if word != "--release"]
    file = tmp_path / "sets"
    fit_sunos.search_family("sparc2", 1, 1, file, command)
    first = table(file)
    # The first set is the shipped one, which a search of this length cannot improve: the others come closer to it.
    assert first[:, 0].min() < 6
    fit_sunos.search_family("sparc2", 2, generations, file, command)
    later = table(file)
    assert later.shape == first.shape == (6, 4 + 19)
    assert later[:, 0].min() <= first[:, 0].min()
    # A set is replaced only by a better one, and the first generations find some.
    assert later[:, 0].sum() < first[:, 0].sum()
