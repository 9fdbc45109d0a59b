"""Words before a command: groups, views of a result, and the words of earlier versions."""

import pytest

from whyperf.cli.app import VERBS, main
from whyperf.cli.groups import FIRST, GROUPS, VIEWS, alone, word_of


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("run host", "run host"),
        ("model simulate quick --hosts linux", "simulate quick --hosts linux"),
        ("simulate quick", "simulate quick"),
        ("model", "model --help"),
        ("model nosuch", "model nosuch"),
        ("site slurm -- host", "slurm -- host"),
        ("show results/a", "show results/a"),
        ("show results/a --view flow log01-c0001 --host near", "flow results/a log01-c0001 --host near"),
        ("show --view=cost --functions 3", "cost --functions 3"),
        ("show --view stages", "flow"),
        ("show --view nosuch", "show --view nosuch"),
        ("show --view", "show --view"),
        ("run --view flow", "run --view flow"),
    ],
)
def test_a_command_behind_another_word_is_the_command_itself(given: str, expected: str) -> None:
    assert alone(given.split())[0] == expected.split()


def test_every_command_is_first_or_behind_one_word() -> None:
    behind = [*VIEWS.values(), *(word for members in GROUPS.values() for word in members)]
    assert {*FIRST, *behind, "studies"} == set(VERBS)
    assert {alone(word_of(name).split())[0][0] for name in VERBS} == set(VERBS)


def test_the_help_shows_ten_commands_the_studies_and_the_groups(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:2] == "  " and line[2:3] != " "]
    assert [word for word in listed if word in {*VERBS, *GROUPS}] == [*FIRST, "studies", *GROUPS]


@pytest.mark.parametrize("typed", ["model simulate", "site slurm", "show --view flow", "show --view cost"])
def test_the_help_of_a_command_names_what_stands_before_it(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*typed.split(), "--help"]) == 0
    assert f"whyperf {typed} [" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("show", "--view", "nosuch"), "there is no view nosuch; --view takes flow, stages, cost"),
        (("model", "nosuch"), "see `whyperf model --help`"),
        (("model", "--window", "64K"), "see `whyperf model --help`"),
        (("sites",), "did you mean `whyperf site`?"),
        (("mode", "simulate"), "did you mean `whyperf model simulate`?"),
        (("model", "simulate", "--nosuch"), "see `whyperf model simulate --help`"),
        (("why", "--budget", "x"), '"x" is not a number'),
    ],
)
def test_a_word_that_is_none_of_them_is_refused(
    given: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(given) == 2
    assert expected in capsys.readouterr().err
