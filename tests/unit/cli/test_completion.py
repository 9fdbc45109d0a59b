"""What the shell offers when Tab is pressed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from whyperf.cli.commands import completion

#: As another user may name a program or a file. Names of programs have 15 bytes at most (TASK_COMM_LEN of sched.h).
HOSTILE = (
    "\\$(id)",
    "$(id)",
    "`id`",
    "a'id'",
    'a"id"',
    "a;id",
    "a id",
    "a\nid",
    "a\\",
    "~root",
    "-x",
    "*",
    "a:b",
    "(id)",
    "a\u00a0",
)
FRIENDLY = "own-1.2_3+a@b,c"


def test_programs_that_run_are_offered_by_their_names_and_kernel_threads_are_not() -> None:
    own = Path("/proc/self/comm").read_text().strip()
    assert own in completion.programs(own[:3])
    assert completion.programs("no-such-pro") == []
    assert not any(name.startswith(("ksoftirqd/", "kthreadd")) for name in completion.programs("k"))


def test_the_views_of_a_result_are_offered() -> None:
    assert completion.views("") == ["flow", "stages", "cost"]
    assert completion.views("st") == ["stages"]


def in_folder(name: str) -> None:
    for file in (Path(f"{name}.toml"), Path("results") / name / "plan.json"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


@pytest.mark.parametrize(
    ("complete", "suffix"),
    [(completion.profiles, ".toml"), (completion.workloads, ".toml"), (completion.experiments, "")],
)
def test_files_and_folders_are_offered_only_by_names_that_no_shell_evaluates(
    complete: Callable[[str], list[str]], suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shipped = complete("")
    for name in (*HOSTILE, FRIENDLY):
        in_folder(name)
    assert sorted(complete("")) == sorted([*shipped, f"{FRIENDLY}{suffix}"])
    assert [complete(name) for name in HOSTILE] == [[]] * len(HOSTILE)


@pytest.mark.parametrize("name", [*HOSTILE, FRIENDLY])
def test_programs_are_offered_only_by_names_that_no_shell_evaluates(name: str) -> None:
    own = Path(f"/proc/{os.getpid()}/comm")
    before = own.read_text()
    try:
        own.write_text(name)
        assert own.read_text().removesuffix("\n") == name
        assert completion.programs(name) == ([name] if name == FRIENDLY else [])
    finally:
        own.write_text(before.rstrip("\n"))


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_typed_comes_back_only_if_no_shell_evaluates_it(name: str) -> None:
    assert completion.evidence(f"{name},") == []
    assert completion.assignments(f"{name}=") == completion.studies(name) == []


def test_all_that_is_shipped_is_offered() -> None:
    from whyperf.profile import BY_NAME, shipped_names, shipped_workload_names  # noqa: PLC0415 - loads much
    from whyperf.studies.catalog import whole_catalog  # noqa: PLC0415 - as above

    assert set(completion.profiles("")) >= {*shipped_names(), *shipped_workload_names()}
    assert set(completion.studies("")) >= {entry.id for entry in whole_catalog().entries}
    for name, factor in BY_NAME.items():
        if factor.kind != "bool" and (levels := {str(level) for level in (*factor.choices, *factor.keywords)}):
            assert set(completion.assignments(f"{name}=")) == {f"{name}={level}" for level in levels}
    assert completion.evidence("counters,") == ["counters,profile", "counters,stages"]
