"""Leftovers of killed runs on this host."""

import json
import subprocess
from typing import Any

from whyperf.run.agents.pipes import agent_binary
from whyperf.run.errors import RunError

#: Several leftovers take up to 3 s each.
_TIMEOUT_S = 60


def clean() -> Any:
    """Have the agent end what killed runs left here, and return what that was, as its JSON.

    Raises:
        RunError: the agent could not.
    """
    argv = [str(agent_binary()), "doctor", "--clean"]
    try:
        done = subprocess.run(argv, capture_output=True, timeout=_TIMEOUT_S, check=False)
        if done.returncode != 0:
            raise RunError(done.stderr.decode(errors="replace").strip() or "cleaning up failed")
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise RunError(f"{argv[0]} did not clean up within {_TIMEOUT_S} s") from None
    except OSError as error:
        raise RunError(f"starting {argv[0]}: {error.strerror}") from error
    except ValueError:
        raise RunError(f"{argv[0]} does not answer like an agent; is it one?") from None
