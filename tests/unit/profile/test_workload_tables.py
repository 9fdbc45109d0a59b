"""Workloads as people write them, right and wrong."""

from pathlib import Path
from typing import Any

import pytest

from whyperf.plan import Plan, PlannedWorkload, build
from whyperf.profile import ProfileError, find, load, parse, shipped_workload, shipped_workload_names
from whyperf.profile.workload import ready

OWN = """
about = "A question."
[fixed]
connections = 3
request_size_bytes = 100
[workload]
name = "two-steps"
about = "Asks and waits."
[workload.defaults]
response_size_bytes = "=request_size_bytes"
[[workload.group]]
name = "clients"
[[workload.group.transaction]]
name = "ask"
iterations = 10
steps = [
  { op = "write", size = "=request_size_bytes", count = 2 },
  { op = "think", time = "5 ms", busy = true },
  { op = "read", size = { low = 1, high = "4K" } },
]
"""


def planned(text: str, **overrides: Any) -> PlannedWorkload:
    """The workload of the only cell."""
    plan = build(parse(text, name="own", where="own.toml"), overrides=overrides)
    (cell,) = plan.cells
    found = plan.workload(cell.id)
    assert found is not None
    return found


def test_a_workload_of_a_profile_becomes_what_the_agents_know() -> None:
    found = planned(OWN)
    assert (found.name, found.metric, found.strands_count) == ("two-steps", "transactions", 3)
    assert found.workload is not None
    (group,) = found.workload["groups"]
    (ask,) = group["transactions"]
    assert (found.workload["name"], group["name"], group["is_connected"], ask["name"]) == (
        "two-steps",
        "clients",
        True,
        "ask",
    )
    assert ask["repeat"] == {"by": "iterations", "count": 10}
    sizes: list[Any] = [step["operation"].get("size") for step in ask["steps"]]
    assert sizes == [{"by": "fixed", "bytes": 100}, None, {"by": "uniform", "low_bytes": 1, "high_bytes": 4096}]


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('name = "ask"', 'nom = "ask"', "workload.group.clients.transaction.1.nom: there is no"),
        ('name = "two-steps"', 'name = "rr"', "workload.name: rr is a shipped workload; choose another name"),
        ("[workload.defaults]", "[workload.default]", "workload.default: there is no such key; did you mean defaults?"),
    ],
)  # fmt: skip
def test_the_first_thing_wrong_is_said_with_key_and_remedy(before: str, after: str, says: str) -> None:
    assert OWN.count(before) >= 1
    with pytest.raises(ProfileError) as caught:
        planned(OWN.replace(before, after, 1))
    assert says in str(caught.value)
    assert str(caught.value).startswith("own.toml: ")
    assert "\n" not in str(caught.value)


def test_files_of_values_stand_next_to_the_profile(tmp_path: Path) -> None:
    (tmp_path / "sizes.txt").write_text("64 # most\n1K\n")
    text = OWN.replace('size = "=request_size_bytes"', 'size = { file = "sizes.txt" }')
    (tmp_path / "own.toml").write_text(text)
    workload = build(load(tmp_path / "own.toml")).workload("c0001")
    assert workload is not None
    assert workload.workload is not None
    operation: Any = workload.workload["groups"][0]["transactions"][0]["steps"][0]["operation"]
    assert operation["size"] == {"by": "sequence", "bytes": [64, 1024]}


def test_a_profile_of_a_result_reads_no_file_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where that has a file with the name of the profile, which the result chose."""
    monkeypatch.chdir(tmp_path)
    for name in ("sizes.txt", "own"):
        (tmp_path / name).write_text("64\n")
    with pytest.raises(ProfileError, match=r"size\.file: sizes\.txt is not read, as only a profile"):
        parse(OWN.replace('size = "=request_size_bytes"', 'size = { file = "sizes.txt" }'), name="own", where="own")


def test_a_plain_stream_has_no_workload_and_an_event_loop_one() -> None:
    plain = build(find("quick"))
    assert plain.workload("c0001") is None
    for direction, operation in (("send", "write"), ("receive", "read")):
        plan = build(find("quick"), overrides={"io_model": "epoll", "direction": direction})
        found = plan.workload("c0001")
        assert found is not None
        assert found.workload is not None
        (step,) = found.workload["groups"][0]["transactions"][0]["steps"]
        assert step["operation"]["operation"] == operation


def test_every_shipped_workload_can_be_planned_and_says_what_it_does() -> None:
    assert len(shipped_workload_names()) == 12
    for name in shipped_workload_names():
        workload = shipped_workload(name)
        assert workload.about.endswith(".")
        plan = build(find("quick"), overrides={"workload": name})
        assert Plan.from_json(plan.to_json(), "plan.json") == plan
        assert plan.cells[0].factors["transport"] in workload.transports


def test_a_ready_workload_runs_as_it_is() -> None:
    document = planned(OWN).workload
    assert document is not None
    made = ready(document, about="From elsewhere.", metric="transactions", transport="tcp")
    plan = build(find("quick").with_workload(made))
    found = plan.workload("c0001")
    assert found is not None
    assert found.workload == document
    assert "connections" not in plan.cells[0].factors


def test_cells_that_do_the_same_share_a_workload() -> None:
    text = (
        'about = "a"\n[[sweep]]\nname = "s"\n[sweep.factors]\nworkload = ["rr", "stream"]\nno_delay = [true, false]\n'
    )
    plan = build(parse(text, name="x", where="x.toml"))
    assert [cell.workload is not None for cell in plan.cells] == [True, True, False, False]
    assert len(plan.workloads) == 1


def test_a_workload_that_ends_by_itself_has_no_phases() -> None:
    text = OWN.replace("iterations = 10", 'duration = "90 s"')
    plan = build(parse(text, name="own", where="own.toml"))
    assert "duration_s" not in plan.cells[0].factors
    # The deadline stretches with the times of the transactions.
    assert plan.cells[0].factors["deadline_s"] == 120.0
    for factor, level in (("warmup_s", 1.0), ("transfer_bytes", 4096)):
        with pytest.raises(ProfileError, match="the workload two-steps ends by itself"):
            build(parse(text, name="own", where="own.toml"), overrides={factor: level})
    document = planned(OWN).workload
    assert document is not None
    made = ready(document, about="From elsewhere.", metric="transactions", transport="tcp")
    assert made.ends_itself
    assert "duration_s" not in build(find("quick").with_workload(made)).cells[0].factors
