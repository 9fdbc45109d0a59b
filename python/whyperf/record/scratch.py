"""Folders of tasks on workers, of which none stays."""

from tempfile import TemporaryDirectory


def task_folder() -> "TemporaryDirectory[str]":
    """A folder for the files of a task, below that of its worker of Dask.

    Where the worker is killed, the next one of that user there removes it: Dask locks the folder of each worker, and
    removes those whose lock nobody has.
    """
    from distributed import get_worker  # noqa: PLC0415 - only workers have it for sure

    return TemporaryDirectory(prefix="whyperf-", dir=get_worker().local_directory)
