"""A copy of a result for sharing: it shows the same figures, and not whose hosts were measured."""

from whyperf.record.export.copying import Exported, export_anonymized

__all__ = ["Exported", "export_anonymized"]
