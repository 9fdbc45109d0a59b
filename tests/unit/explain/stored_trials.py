"""Trials of 0.6 s with a segment log, each with an injected cause, as tables: `trials.tar.xz`."""

import tarfile
import tempfile
from functools import cache
from pathlib import Path

from lab.truth.levels import View
from whyperf.analyze.flow import at_levels, open_trial
from whyperf.explain.budget import budgets_of
from whyperf.explain.gather import by_payload, gather_facts
from whyperf.explain.segment_log import read_logs
from whyperf.explain.trial_facts import Facts

NAMES = (
    *("connection-for-each-question", "nagle-delayed-ack", "pacing-rate", "questions-behind-uploads"),
    *("quic-over-slow-link", "random-loss", "reordering", "slow-reader", "slow-writer", "small-queue", "udt-and-loss"),
)
"""The trials, by the truth experiment."""
VIEWS = (View.SEGMENTS, View.SENDER_SEGMENTS, View.RECEIVER_SEGMENTS, View.COUNTERS, View.USER)


def unpack_trial(name: str, folder: Path) -> Path:
    """The folder of a trial, put into `folder`."""
    with tarfile.open(Path(__file__).with_name("trials.tar.xz")) as archive:
        members = [member for member in archive if member.name.startswith(f"./{name}/")]
        archive.extractall(folder, members, filter="data")
    return folder / name


@cache
def facts_at(name: str, view: View) -> Facts:
    """What explain gathers from a trial as it is at a level of evidence."""
    with tempfile.TemporaryDirectory() as folder:
        seen = at_levels(by_payload(open_trial(unpack_trial(name, Path(folder)))), view.levels)
        logs = read_logs(seen)
        return gather_facts(seen, logs, budgets_of(seen, logs), one_machine=True)
