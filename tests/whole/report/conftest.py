"""Has Bokeh's own Python classes read every chart that a test draws."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from bokeh.core.serialization import Deserializer
from bokeh.document import Document

from whyperf.report.charts import models
from whyperf.report.charts.models import Plot


@pytest.fixture(autouse=True)
def charts_are_read_by_bokeh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bokeh refuses types and attributes that BokehJS lacks, and values that it cannot use."""
    own = models.document

    def document(figures: Iterable[Plot]) -> dict[str, Any]:
        made = own(list(figures))
        read = Document()
        # Otherwise each root has it look at all models again.
        with read.models.freeze():
            for root in Deserializer().deserialize(json.loads(json.dumps(made["roots"]))):
                read.add_root(root)
        read.validate()
        assert len(read.roots) == len(made["roots"])
        return made

    monkeypatch.setattr(models, "document", document)
