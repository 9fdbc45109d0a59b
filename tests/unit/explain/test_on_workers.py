"""Trials explained from copies of their files, on other processes, are explained as here."""

import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.whole.records.golden import unpack
from whyperf.explain import on_workers
from whyperf.explain.experiment import explain_experiment
from whyperf.explain.on_workers import Task, explain_on_workers
from whyperf.record import Experiment


@pytest.fixture(autouse=True)
def _folder_of_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker of Dask runs here, below whose folder the files of a task would be."""
    monkeypatch.setattr(on_workers, "task_folder", TemporaryDirectory)


class Elsewhere:
    """Stands for workers: tasks and results are pickled, and the record is not where it was."""

    def __init__(self, record: Path) -> None:
        self.record = record
        self.tasks: list[Task] = []
        self.left_open = 0

    def in_order(self, function: Callable[..., Any], tasks: Iterable[Task]) -> Iterable[Any]:
        for task in tasks:
            self.tasks.append(task)
            sent = pickle.dumps((function, task))
            hidden = self.record.rename(self.record.with_name("hidden"))
            call, arguments = pickle.loads(sent)
            result = pickle.dumps(call(*arguments))
            hidden.rename(self.record)
            found = pickle.loads(result)
            self.left_open += sum(explained is None for explained in found)
            yield found


def explained(record: Path, elsewhere: Elsewhere | None = None) -> dict[str, Any]:
    each = None
    if elsewhere is not None:

        def each(experiment: Experiment, questions: Any) -> Any:
            return explain_on_workers(elsewhere.in_order, experiment, questions)

    return explain_experiment(Experiment.open(record), explain_each=each).model_dump(mode="json")


@pytest.mark.parametrize("kind", ["sweep", "stream-segments", "emulated-path", "uperf"])
def test_an_explanation_from_copies_is_that_of_the_record(kind: str, tmp_path: Path) -> None:
    unpack(kind, tmp_path)
    (record,) = (tmp_path / "results").iterdir()
    elsewhere = Elsewhere(record)
    assert explained(record, elsewhere) == explained(record)
    assert elsewhere.tasks
    assert elsewhere.left_open == 0


def test_a_sentence_that_names_a_file_names_that_of_the_record(tmp_path: Path) -> None:
    unpack("stream-segments", tmp_path)
    (record,) = (tmp_path / "results").iterdir()
    for table in record.glob("trials/log*/segments.near.parquet"):
        table.write_bytes(bytes(table.stat().st_size))
    elsewhere = Elsewhere(record)
    found = explained(record, elsewhere)
    assert found == explained(record)
    assert str(record) in str(found)
    assert elsewhere.left_open == 1


def test_a_task_has_no_more_files_than_fit_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpack("sweep", tmp_path)
    (record,) = (tmp_path / "results").iterdir()
    monkeypatch.setattr(on_workers, "TASKS", 1)
    together, apart = Elsewhere(record), Elsewhere(record)
    explained(record, together)
    monkeypatch.setattr(on_workers, "MAX_TASK_BYTES", 1)
    explained(record, apart)
    cells = len(Experiment.open(record).plan.cells)
    assert ([len(asked) for _, asked in together.tasks], [len(asked) for _, asked in apart.tasks]) == (
        [cells],
        [1] * cells,
    )


class Exchanged(Elsewhere):
    """The owner of the record has links in the place of files, or of a folder, while tasks are made."""

    def __init__(self, record: Path, paths: list[Path]) -> None:
        super().__init__(record)
        self.paths = paths

    def in_order(self, function: Callable[..., Any], tasks: Iterable[Task]) -> Iterable[Any]:
        aside = self.record.parent / "aside"
        aside.mkdir()
        for number, path in enumerate(self.paths):
            path.symlink_to(path.rename(aside / str(number)))
        self.tasks = list(tasks)
        for number, path in enumerate(self.paths):
            path.unlink()
            (aside / str(number)).rename(path)
        for task in self.tasks:
            yield function(*task)


@pytest.mark.parametrize("exchanged", ["trials", "trials/*", "trials/*/manifest.json"])
def test_no_file_is_sent_that_a_link_leads_to(exchanged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpack("sweep", tmp_path)
    (record,) = (tmp_path / "results").iterdir()
    # The links come after the look at what is there.
    monkeypatch.setattr(on_workers, "_is_own", Path.is_file)
    elsewhere = Exchanged(record, sorted(record.glob(exchanged)))
    found = explained(record, elsewhere)
    assert [files for files, _ in elsewhere.tasks if files is not None] == []
    assert found == explained(record)


def test_files_that_are_too_large_to_be_sent_are_read_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpack("sweep", tmp_path)
    (record,) = (tmp_path / "results").iterdir()
    elsewhere = Elsewhere(record)
    monkeypatch.setattr(on_workers, "MAX_LARGE_DOCUMENT_BYTES", 1 << 10)
    assert explained(record, elsewhere) == explained(record)
    assert [files for files, _ in elsewhere.tasks if files is not None] == []
    assert elsewhere.left_open == len(Experiment.open(record).plan.cells)
