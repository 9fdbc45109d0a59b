"""Each limit state has one name wherever it is printed."""

from whyperf.explain.host_facts import HostFacts
from whyperf.explain.limits.limit import state_evidence
from whyperf.explain.states import ReceiverState, SenderState
from whyperf.explain.wording.catalog import uncapitalized
from whyperf.report.explanation.styles import look_of


def test_each_state_has_one_name_in_evidence_and_bars() -> None:
    for role, kind in (("sender", SenderState), ("receiver", ReceiverState)):
        for state in kind:
            end = HostFacts(host="near", shares={state.value: 0.5})
            assert uncapitalized(look_of(state.value, role).name) in state_evidence(end, role, state).words
