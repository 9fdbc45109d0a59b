"""The explanation in the report, the first thing on the page: verdicts, budgets, patterns, what stands out.

Drawn as HTML and SVG by Python, so that it is whole without scripts. A state has a color, a texture and a name:
none of them is told by color alone.
"""

from whyperf.report.explanation.section import Explained, ExplanationSection, explanation_section

__all__ = ["Explained", "ExplanationSection", "explanation_section"]
