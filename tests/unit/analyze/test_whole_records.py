"""All that the analysis finds in the stored records of every kind."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.records.golden import KINDS, stored, unpack, without_texts
from tests.unit.snapshots import Snapshots, differences
from whyperf.analyze import read_inputs, summarize
from whyperf.analyze.measures.latency import curve, merged, probe_requests
from whyperf.analyze.summary import Summary
from whyperf.analyze.time_series import courses_of
from whyperf.analyze.transports.summary import trial_indicators
from whyperf.analyze.trials import measure_trials
from whyperf.record import Experiment

SNAPSHOTS = Snapshots(Path(__file__).with_suffix(".json"))
#: Of `show --json` a document got these keys after the outputs were stored.
ADDED = {
    *("streams", "watched", "fleet", "needed_window", "modes", "shared", "cpus_count", "in_use_cpus"),
    *("softirq_on_threads_cpus", "adapters_count", "per_adapter_cpus"),
}


@pytest.fixture(params=KINDS)
def experiment(request: pytest.FixtureRequest, tmp_path: Path) -> Experiment:
    """A stored record."""
    unpack(str(request.param), tmp_path)
    return Experiment.open(tmp_path / "results" / str(request.param))


def texts(value: Any) -> list[str]:
    """The sentences of a result, in order, and the figures of the single connections."""
    if isinstance(value, dict):
        return [text for key, part in value.items() for text in ([part] if key == "text" else texts(part))]
    return [text for part in value for text in texts(part)] if isinstance(value, list) else []


def test_result(experiment: Experiment) -> None:
    name = experiment.folder.name
    document = summarize(experiment).model_dump(mode="json")
    before = stored(name)["show"]["document"]
    assert list(differences(before, without_texts(document), added=ADDED)) == []
    streams = [cell["streams"] for cell in document["cells"]]
    SNAPSHOTS.check(f"{name}: texts", {"texts": texts(document), "streams": streams})
    assert Summary.model_validate(document).transactions_per_s() == {
        cell["id"]: cell["transactions"]["per_s"]["median"]
        for cell in document["cells"]
        if cell["metric"] == "transactions" and cell["transactions"]
    }


def test_figures_over_time(experiment: Experiment) -> None:
    inputs = read_inputs(experiment)
    measured = measure_trials(inputs)
    latencies = merged(inputs.latencies, ("trial",)).partition_by(["trial", "kind"], as_dict=True, maintain_order=True)
    found = {
        "courses": courses_of(inputs, inputs.trials["trial"].to_list()),
        "indicators": trial_indicators(inputs),
        "round_trips": probe_requests(inputs, measured.trials),
        "latencies": {" ".join(map(str, key)): curve(histogram) for key, histogram in latencies.items()},
    }
    SNAPSHOTS.check(f"{experiment.folder.name}: over time", found)
