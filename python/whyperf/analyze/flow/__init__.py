"""The segment flow of one trial: what its connections sent and received, and why.

`open_trial` reads what a trial's manifest says of its ends; `scan_log` and `read_log` give the
segment log, `read_calls` the log of calls, `read_counters` and `read_user` the tables of the levels
below. Everything else takes those frames and gives small frames and plain values. Instants are
`time_ns`: ns after the start of the load (the first interval's start), on the controller's clock;
the handshake is before 0.

Words: a *packet* is what left TCP at once, a super-segment counting once; a *segment* is what it
was on the wire. `log` is a frame of `scan_log` (lazy, unsorted) or of `read_log` (in memory, in the
order of time); which of them a function takes is its type.
"""

from whyperf.analyze.flow.acks import DUPLICATE_COLUMNS, AckRatio, ack_ratio, ack_reasons, count_duplicate_acks
from whyperf.analyze.flow.calls import read_calls
from whyperf.analyze.flow.complete import Completeness, completeness
from whyperf.analyze.flow.cycle import Cycle, Payloads, find_payloads
from whyperf.analyze.flow.levels.flow_facts import Fact, FlowFacts, flow_facts
from whyperf.analyze.flow.levels.quantities import QUANTITIES, Quantity
from whyperf.analyze.flow.log import LOG_COLUMNS, read_log, scan_log
from whyperf.analyze.flow.loss import count_out_of_order
from whyperf.analyze.flow.overview import overview
from whyperf.analyze.flow.payloads import PAYLOAD_COLUMNS, Runs, payload_sequence, runs_of
from whyperf.analyze.flow.sizes import SizeHistogram, counted_histogram, size_histogram
from whyperf.analyze.flow.tables import Counted, UserTables, read_counters, read_user
from whyperf.analyze.flow.transmissions import arrivals, contexts, super_segments
from whyperf.analyze.flow.trial import EndEvidence, FlowEnd, FlowTrial, open_trial
from whyperf.analyze.flow.view import as_watched, at_levels
from whyperf.analyze.flow.waited import Waited, waited_for_ack

__all__ = [
    "DUPLICATE_COLUMNS",
    "LOG_COLUMNS",
    "PAYLOAD_COLUMNS",
    "QUANTITIES",
    "AckRatio",
    "Completeness",
    "Counted",
    "Cycle",
    "EndEvidence",
    "Fact",
    "FlowEnd",
    "FlowFacts",
    "FlowTrial",
    "Payloads",
    "Quantity",
    "Runs",
    "SizeHistogram",
    "UserTables",
    "Waited",
    "ack_ratio",
    "ack_reasons",
    "arrivals",
    "as_watched",
    "at_levels",
    "completeness",
    "contexts",
    "count_duplicate_acks",
    "count_out_of_order",
    "counted_histogram",
    "find_payloads",
    "flow_facts",
    "open_trial",
    "overview",
    "payload_sequence",
    "read_calls",
    "read_counters",
    "read_log",
    "read_user",
    "runs_of",
    "scan_log",
    "size_histogram",
    "super_segments",
    "waited_for_ack",
]
