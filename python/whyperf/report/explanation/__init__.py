"""The explanation, the first section of the report: verdicts, time budgets, patterns, anomalies.

Python draws it as HTML and SVG, so that it needs no scripts. A state has a color, a texture and a name, so that color
is never the only distinction.
"""

from whyperf.report.explanation.section import Explained, ExplanationSection, explanation_section

__all__ = ["Explained", "ExplanationSection", "explanation_section"]
