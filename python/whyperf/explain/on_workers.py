"""Trials explained on other processes or hosts: their files go there, explanations come back.

Workers need no file system in common with this host. What they return is what `explain_here` would have: an explanation
is a function of the record.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from whyperf.explain.experiment import TrialQuestion, explain_here
from whyperf.explain.explanation import CellExplanation
from whyperf.foreign import MAX_LARGE_DOCUMENT_BYTES, open_folder_without_links, read_bytes
from whyperf.record import Experiment
from whyperf.record.experiment import PROFILES
from whyperf.record.scratch import task_folder

#: About so many tasks: enough for workers to share. What all trials of a task need is sent once with it.
TASKS = 100
#: Of the files of a task, in bytes; one trial may have more, up to the bound of `_files`.
MAX_TASK_BYTES = 32 << 20

Task = tuple["TrialFiles | None", tuple[TrialQuestion, ...]]
InOrder = Callable[
    [Callable[..., list[CellExplanation | None]], Iterable[Task]], Iterable[list[CellExplanation | None]]
]
"""Calls a function with each task, somewhere, and returns the results in the order of the tasks."""


@dataclass(frozen=True)
class TrialFiles:
    """The files of a record that explaining some of its trials needs, by their path in its folder."""

    experiment: str
    files: dict[str, bytes]


def explain_on_workers(
    in_order: InOrder, experiment: Experiment, questions: Sequence[TrialQuestion]
) -> Iterator[CellExplanation]:
    """The explanations in the order of the questions."""
    tasks = list(_divided(experiment, questions))
    results = in_order(explain_files, ((_files(experiment, task), task) for task in tasks))
    for task, found in zip(tasks, results, strict=True):
        for question, explained in zip(task, found, strict=True):
            if explained is None:
                yield from explain_here(experiment, [question])
            else:
                yield explained


def explain_files(sent: TrialFiles | None, questions: Sequence[TrialQuestion]) -> list[CellExplanation | None]:
    """Does the work of a worker. None where it got no files, or a sentence names one, which has another path there."""
    if sent is None:
        return [None] * len(questions)
    with task_folder() as name:
        folder = Path(name) / sent.experiment
        (folder / "trials").mkdir(parents=True)
        for path, content in sent.files.items():
            target = folder / path
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(content)
        experiment = Experiment.open(folder)
        found = [question.answer(experiment) for question in questions]
        return [None if name in explained.model_dump_json() else explained for explained in found]


def _divided(experiment: Experiment, questions: Sequence[TrialQuestion]) -> Iterator[tuple[TrialQuestion, ...]]:
    most = -(-len(questions) // TASKS)
    task: list[TrialQuestion] = []
    size = 0
    for question in questions:
        own = sum(path.lstat().st_size for path in _trial_files(experiment, question))
        if task and (len(task) == most or size + own > MAX_TASK_BYTES):
            yield tuple(task)
            task, size = [], 0
        task.append(question)
        size += own
    if task:
        yield tuple(task)


def _files(experiment: Experiment, questions: Sequence[TrialQuestion]) -> TrialFiles | None:
    """None where they are too large, or cannot be read: the owner of the record may put links there meanwhile."""
    folder = experiment.folder
    paths = [folder / "plan.json", *(folder / name for name in PROFILES), *sorted((folder / "hosts").glob("*.json"))]
    for question in questions:
        paths += _trial_files(experiment, question)
    files: dict[str, bytes] = {}
    left = MAX_LARGE_DOCUMENT_BYTES
    try:
        for path in filter(_is_own, paths):
            name = path.relative_to(folder)
            with open_folder_without_links(folder.resolve() / name.parent) as parent:
                files[str(name)] = read_bytes(Path(name.name), left, folder=parent)
            left -= len(files[str(name)])
    except OSError:
        return None
    return TrialFiles(experiment.name, files)


def _trial_files(experiment: Experiment, question: TrialQuestion) -> list[Path]:
    if question.trial is None:
        return []
    return [path for path in sorted((experiment.folder / "trials" / question.trial).glob("*")) if _is_own(path)]


def _is_own(path: Path) -> bool:
    """A file of the record, and no link to one elsewhere."""
    return path.is_file() and not path.is_symlink()
