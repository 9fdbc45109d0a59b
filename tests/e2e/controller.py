"""A controller without the command line, whose libraries take seconds to load: `python -m … PROFILE FOLDER`.

It makes the trials that are missing and ends as `whyperf run` does.
"""

import sys
from pathlib import Path

from tests.e2e.experiments import Quiet
from whyperf.plan import build
from whyperf.profile import load
from whyperf.record import Experiment, RecordError
from whyperf.run import RunError, Session, Target, run_plan


def main(profile_path: Path, folder: Path) -> int:
    """Runs the profile's plan on the embedded testbed; returns the exit code."""
    profile = load(profile_path)
    plan = build(profile)
    try:
        with Experiment.create(folder, plan, profile.text) as experiment, Session(plan, Target()) as session:
            run_plan(session, experiment, Quiet(), lambda _: None)
    except (RunError, RecordError) as error:
        print(f"whyperf: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
