"""Processing times: what each stage of a segment's life takes in a host, from the table `stages`.

`read_stages` gives the rows of a host; everything else takes those: `totals` per packet and byte, `fits` of time
against size, `by_size` the time of packets against their size, `lives_of` and `messages` the latency of messages by
stage, `waterfalls` single messages. `trial_stages` does all of it for a trial.
"""

from whyperf.analyze.stages.copies import CopyCost, copy_cost, with_copies_apart
from whyperf.analyze.stages.experiment import TrialStages, trial_stages
from whyperf.analyze.stages.fits import Fit, Split, Unsplit, fit_of
from whyperf.analyze.stages.intervals import Amount
from whyperf.analyze.stages.kinds import BY_DIRECTION, Stage, stage_of
from whyperf.analyze.stages.messages import Lives, Messages, StageShare, lives_of, messages
from whyperf.analyze.stages.of_host import HostStages, StagesReport, has_stages, read_stages
from whyperf.analyze.stages.sizes import SizePoint, by_size
from whyperf.analyze.stages.totals import DirectionTotals, StageTotal, totals
from whyperf.analyze.stages.waterfall import Span, Waterfall, waterfalls

__all__ = [
    "BY_DIRECTION",
    "Amount",
    "CopyCost",
    "DirectionTotals",
    "Fit",
    "HostStages",
    "Lives",
    "Messages",
    "SizePoint",
    "Span",
    "Split",
    "Stage",
    "StageShare",
    "StageTotal",
    "StagesReport",
    "TrialStages",
    "Unsplit",
    "Waterfall",
    "by_size",
    "copy_cost",
    "fit_of",
    "has_stages",
    "lives_of",
    "messages",
    "read_stages",
    "stage_of",
    "totals",
    "trial_stages",
    "waterfalls",
    "with_copies_apart",
]
