"""What a killed worker leaves of a task: nothing, once there is another worker."""

import os
import subprocess
import sys
from pathlib import Path

from distributed.diskutils import WorkSpace

#: A worker as far as its folder goes, killed in a task.
KILLED = """
import os, signal, sys
from types import SimpleNamespace
import distributed
from distributed.diskutils import WorkSpace
from whyperf.record.scratch import task_folder
own = WorkSpace(sys.argv[1]).new_work_dir(prefix="worker-")
distributed.get_worker = lambda: SimpleNamespace(local_directory=own.dir_path)
with task_folder() as folder:
    open(os.path.join(folder, "table"), "w").close()
    print(folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_worker_removes_the_folder_of_a_task_whose_worker_was_killed(tmp_path: Path) -> None:
    # Where Python makes folders that nobody names.
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    command = [sys.executable, "-c", KILLED, str(tmp_path / "workers")]
    killed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert killed.stdout, killed.stderr
    folder = Path(killed.stdout.strip())
    assert folder.is_dir()
    assert list((tmp_path / "tmp").iterdir()) == []
    WorkSpace(str(tmp_path / "workers")).new_work_dir(prefix="worker-")  # type: ignore[no-untyped-call]
    assert not folder.exists()
