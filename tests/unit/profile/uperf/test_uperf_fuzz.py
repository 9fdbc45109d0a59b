"""Whatever a profile holds, it becomes a workload of the schema or one sentence; tests/fuzz changes whole profiles."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.profile.uperf.test_uperf_translate import assert_of_the_schema
from tests.unit.profile.uperf.uperf_profiles import BULK, OPERATOR_RR, TERMINAL, VARIABLES, translated
from whyperf.profile.errors import ProfileError
from whyperf.profile.uperf.tokens import LONGEST_WORD, tokenize


def assert_read_or_refused(text: str, environment: Mapping[str, str] = VARIABLES) -> None:
    """Either a workload that the agent understands, or a sentence in one line that names the file."""
    refused = ""
    try:
        found = translated(text, environment)
    except ProfileError as error:
        refused = str(error)
        assert error.where == "x.xml"  # noqa: PT017 - to be refused is as good as to be read
    else:
        assert_of_the_schema(found.workload)
        assert all(note.startswith("x.xml: ") and note.endswith(".") for note in found.notes)
        assert all(note.isprintable() for note in found.notes)
    assert refused.isprintable()


@given(st.sampled_from(sorted(VARIABLES)), st.text(max_size=10))
def test_other_variables(name: str, value: str) -> None:
    for text in (BULK, OPERATOR_RR):
        assert_read_or_refused(text, VARIABLES | {name: value})


@pytest.mark.parametrize("text", [TERMINAL, OPERATOR_RR])
def test_a_profile_cut_off_anywhere(text: str) -> None:
    for end in range(0, len(text), 3):
        assert_read_or_refused(text[:end])


@given(st.text())
def test_words_are_short_lower_case_and_without_separators_outside_quotes(text: str) -> None:
    try:
        tokens, _ = tokenize(text, "x.xml")
    except ProfileError:
        return
    for token in tokens:
        assert not any("A" <= character <= "Z" for character in token.text)
        assert "\n" not in token.text
        if not token.is_quoted:
            assert not set(token.text) & set(map(chr, range(33)))
            assert len(token.text) <= 2 * LONGEST_WORD or "=" in token.text
