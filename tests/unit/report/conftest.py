"""Has Bokeh's own Python classes read every chart that a test draws."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from bokeh.document import Document

from whyperf.report.charts import models
from whyperf.report.charts.models import Plot


@pytest.fixture(autouse=True)
def charts_are_read_by_bokeh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bokeh refuses types and attributes that BokehJS lacks, and values that it cannot use."""
    own = models.document

    def document(figures: Iterable[Plot]) -> dict[str, Any]:
        made = own(list(figures))
        read = Document.from_json(json.loads(json.dumps(made)))
        read.validate()
        assert len(read.roots) == len(made["roots"])
        return made

    monkeypatch.setattr(models, "document", document)
