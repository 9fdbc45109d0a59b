"""Processing times: as lines of text, as JSON, and as a section of the report and of the flow page."""

from whyperf.report.stages.document import stages_json
from whyperf.report.stages.section import StagesSection, read_staged, stages_section, trial_section
from whyperf.report.stages.texts import Block, blocks_of, notes_of

__all__ = [
    "Block",
    "StagesSection",
    "blocks_of",
    "notes_of",
    "read_staged",
    "stages_json",
    "stages_section",
    "trial_section",
]
