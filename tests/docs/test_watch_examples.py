"""The dashboard and the alert rules name metrics, labels and limits that `whyperf watch --metrics` serves."""

import json
import re
import shutil
import subprocess

import pytest
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.docs.documents import ROOT
from tests.unit.watch.snapshots_of import connection, report
from whyperf.watch.live_limits import Limit
from whyperf.watch.metrics import LABELS, WatchMetrics
from whyperf.watch.tracker import Tracker

DASHBOARD, ALERTS = ROOT / "docs/examples/watch-dashboard.json", ROOT / "docs/examples/watch-alerts.yml"
METRIC = re.compile(r"\bwhyperf_watch_[a-z_]+(?=[\s{\[,)]|$)", re.MULTILINE)


def served() -> set[str]:
    metrics, tracker = WatchMetrics(), Tracker()
    for second in (1, 2):
        watched = report(second, connection(acked_bytes=second))
        metrics.take(tracker.take("near", watched))
    families = text_string_to_metric_families(generate_latest(metrics.registry).decode())
    return {sample.name for family in families for sample in family.samples}


@pytest.mark.parametrize("file", [DASHBOARD, ALERTS], ids=lambda file: file.name)
def test_the_examples_name_what_is_served(file: object) -> None:
    text = open(str(file)).read()  # noqa: PTH123, SIM115
    named = {name for name in METRIC.findall(text) if not name.startswith("whyperf_watch_limited")}
    assert len(named) >= 3
    assert named <= served()
    limits = set(re.findall(r'limit!?=\\?"([a-z_]+)', text))
    assert limits <= {limit.value for limit in Limit}


def test_the_dashboard_has_panels_that_fit() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    assert len(places) >= 5
    assert all(place["x"] + place["w"] <= 24 for place in places)
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(places)
    grouped = {label for match in re.findall(r"by \(([^)]*)\)", DASHBOARD.read_text()) for label in match.split(", ")}
    assert grouped <= {*LABELS, "direction", "limit", "le"}


def test_promtool_accepts_the_alert_rules() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool of the package prometheus is not installed")
    done = subprocess.run(
        [promtool, "check", "rules", str(ALERTS)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 rules found" in done.stdout
