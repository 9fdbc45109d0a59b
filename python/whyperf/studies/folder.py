"""A folder of runs: what each printed, how it ended, and on which host.

`documents/RUN.KIND.json` is a document of a run, `documents/RUN.status.json` how it ended. `RUN/` is its result, where
it has one.
"""

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field, ValidationError

from whyperf import __version__
from whyperf.analyze.spread import FrozenModel
from whyperf.foreign import read_text
from whyperf.foreign.documents import parse_json, parse_model
from whyperf.foreign.files import MAX_LARGE_DOCUMENT_BYTES
from whyperf.studies.catalog import DocumentKind
from whyperf.studies.documents import Document
from whyperf.studies.series import MissingFigureError

DOCUMENTS = "documents"


class RunStatus(FrozenModel):
    """The end of a run: `code` as an exit code, `message` what it printed last if that is not 0.

    `command` is that of the catalog, `agent` a digest of the agent's binary, which holds the model and its hosts. The
    other fields say where and when it ran.
    """

    command: str
    code: int
    message: str = ""
    seconds: float
    date: str
    kernel: str
    machine: str
    cpu: str = ""
    cpus: int
    version: str
    agent: str = ""
    documents: tuple[str, ...] = Field(default=())

    @property
    def is_done(self) -> bool:
        """True where it gave a result: done, or done but incomplete."""
        return self.code in {0, 3}

    @property
    def host(self) -> str:
        """The host in a sentence's part, without its name."""
        cpu = f" ({self.cpu})" if self.cpu else ""
        return f"{self.cpus} CPUs{cpu}, Linux {self.kernel}, {self.machine}"


class StudyResults:
    """The results of a folder, read when they are needed."""

    def __init__(self, folder: Path) -> None:
        """Reads how the runs of a folder ended."""
        self.folder = folder
        self.statuses: Mapping[str, RunStatus] = {
            path.name.removesuffix(".status.json"): _status(path)
            for path in sorted((folder / DOCUMENTS).glob("*.status.json"))
        }
        self._documents: dict[tuple[str, str], Document] = {}

    def cpus(self, run: str) -> int | None:
        """The CPUs of the host that a run was made on; None where it was not."""
        return self.statuses[run].cpus if run in self.statuses else None

    def document(self, run: str, kind: DocumentKind) -> Document:
        """A document of a run, its cells with their factors.

        Raises:
            MissingFigureError: the run was not made or failed, or its document cannot be read.
        """
        status = self.statuses.get(run)
        if status is None:
            raise MissingFigureError(f"{run} was not run")
        if not status.is_done:
            raise MissingFigureError(f"{run} failed: {status.message or f'exit code {status.code}'}")
        if (run, kind) not in self._documents:
            self._documents[run, kind] = self._with_factors(run, kind)
        return self._documents[run, kind]

    def _with_factors(self, run: str, kind: DocumentKind) -> Document:
        """Cells of other documents than `show` have the factors that it gives."""
        document = self._read(run, kind)
        if kind not in {"explain", "flow"}:
            return document
        factors = {cell["id"]: cell["factors"] for cell in self.document(run, "show")["cells"]}
        for item in document["cells" if kind == "explain" else "trials"]:
            item["factors"] = factors.get(item["cell"], {})
        return document

    def _read(self, run: str, kind: str) -> Document:
        path = document_path(self.folder, run, kind)
        try:
            return parse_json(read_text(path, MAX_LARGE_DOCUMENT_BYTES))
        except FileNotFoundError:
            raise MissingFigureError(f"{run} has no document {kind}") from None
        except (OSError, ValueError) as error:
            raise MissingFigureError(f"document {kind} of {run} cannot be read: {error}") from error


def document_path(folder: Path, run: str, kind: str) -> Path:
    """The file of a document."""
    return folder / DOCUMENTS / f"{run}.{kind}.json"


def _status(path: Path) -> RunStatus:
    try:
        return parse_model(RunStatus, read_text(path))
    except (OSError, ValueError, ValidationError) as error:
        first = str(error).partition("\n")[0]
        return here("", 1, f"{path.name} cannot be read: {first}", 0.0)


def here(
    command: str, code: int, message: str, seconds: float, *, documents: tuple[str, ...] = (), agent: str = ""
) -> RunStatus:
    """The status of a run that ended on this host now."""
    return RunStatus(
        command=command,
        code=code,
        message=message,
        seconds=round(seconds, 1),
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        kernel=platform.release(),
        machine=platform.machine(),
        cpu=_cpu_model(),
        cpus=len(os.sched_getaffinity(0)),
        version=__version__,
        agent=agent,
        documents=documents,
    )


def _cpu_model() -> str:
    """The name of the CPU; nothing where the kernel does not say."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")), "")
