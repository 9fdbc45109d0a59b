"""What experiments with a load of small writes showed, next to a result."""

from pathlib import Path
from typing import Any

from whyperf.explain.experiments.answer import Answer, Tried, Why
from whyperf.explain.experiments.kept import keep
from whyperf.record import Experiment


def tried(name: str, gain: float, low: float, high: float, **changed: Any) -> Tried:
    outcome = "raises" if low > 1 else "lowers" if high < 1 else "same"
    fields: dict[str, Any] = {"factors": {"write_size_bytes": 131072}, "relieves": ["tiny_writes"], "is_remedy": True}
    numbers = {"gain": gain, "low": low, "high": high, "pairs": 3}
    return Tried.model_validate({"name": name, "outcome": outcome, **numbers, **fields, **changed})


def why(**changed: Any) -> Why:
    fields: dict[str, Any] = {
        "experiment": "result",
        "cell": "c0001",
        "unit": "bit/s",
        "rate": 1.1e9,
        "original": 1e9,
        "answer": Answer(
            known="proved",
            causes=["tiny_writes"],
            probability=0.9,
            tried="larger-writes",
            factors={"write_size_bytes": 131072},
            gain=8.0,
            low=7.0,
            high=9.0,
            pairs=3,
        ),
        "tried": [
            tried("path-without-loss", 9.0, 8.0, 10.0, is_of_path=True),
            tried("larger-writes", 8.0, 7.0, 9.0),
            tried("no-delay", 1.0, 0.9, 1.1, relieves=["nagle_delayed_ack"]),
            tried("quick-ack", 0.5, 0.25, 0.8, relieves=["delayed_ack"]),
        ],
        "probabilities": [{"cause": "tiny_writes", "probability": 0.9}],
        "trials": 14,
        "seconds": 22.3,
    }
    return Why.model_validate(fields | changed)


def keep_next_to(experiment: Experiment, found: Why) -> Path:
    """Keeps it as `whyperf why` does; returns the folder of the experiments."""
    folder = experiment.folder.with_name(f"{experiment.folder.name}-why-1")
    with Experiment.create(folder, experiment.plan, experiment.profile_text) as made:
        keep(experiment, made, found.model_copy(update={"experiments": made.name}))
    return folder
