"""What killed runs left on this host."""

import json
import subprocess
from typing import Any

from whyperf.run.errors import RunError
from whyperf.run.pipes import agent_binary


def clean() -> Any:
    """Have the agent end what killed runs left here, and return what that was, as its JSON.

    Raises:
        RunError: the agent could not.
    """
    done = subprocess.run([str(agent_binary()), "doctor", "--clean"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(done.stderr.strip() or "cleaning up failed")
    return json.loads(done.stdout)
