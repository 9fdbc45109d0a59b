"""Whatever a profile holds, it becomes a workload of the schema or one sentence."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.profile.uperf.test_uperf_translate import assert_of_the_schema
from tests.unit.profile.uperf.uperf_profiles import SHAPES, VARIABLES, translated
from whyperf.profile.errors import ProfileError
from whyperf.profile.uperf.options import KINDS
from whyperf.profile.uperf.quantities import integer, time_ns
from whyperf.profile.uperf.read import ATTRIBUTES, ELEMENTS, FLOWOPS
from whyperf.profile.uperf.tokens import LONGEST_WORD, tokenize

VALUES = [
    "1",
    "0",
    "8k",
    "3g",
    "-1",
    "2min",
    "1.5s",
    "rand(1,9)",
    "$h",
    "$nthr",
    "$none",
    "h",
    "tcp",
    "udp",
    "sctp",
    "x",
    "",
]
OPTIONS = st.lists(
    st.tuples(st.sampled_from(sorted(KINDS)), st.sampled_from(["=", ""]), st.sampled_from(VALUES)).map("".join),
    max_size=4,
).map(" ".join)
WORDS = st.one_of(
    st.sampled_from([*ELEMENTS, *ATTRIBUTES, "<", "</", ">", "=", '"', "<!--", "-->", "<?", "?>", "><", "options=\""]),
    st.sampled_from(FLOWOPS).map(lambda name: f"<flowop type={name}"),
    st.tuples(st.sampled_from(ATTRIBUTES), st.sampled_from(VALUES)).map("".join),
    OPTIONS.map(lambda options: f'options="{options}" />'),
    st.text(max_size=8),
)  # fmt: skip


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


@given(st.lists(WORDS, max_size=40), st.sampled_from([" ", "\n", "", "\t"]))
def test_soups_of_words(parts: list[str], between: str) -> None:
    assert_read_or_refused(between.join(parts))


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    assert_read_or_refused(text)


@given(st.data())
def test_good_profiles_with_something_changed(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(sorted(SHAPES.values())))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 30)))
        text = text[:start] + data.draw(WORDS) + text[end:]
    assert_read_or_refused(text)


@given(st.data())
def test_good_profiles_with_other_variables(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(sorted(SHAPES.values())))
    values = st.one_of(st.sampled_from(VALUES), st.text(max_size=10))
    assert_read_or_refused(text, {name: data.draw(values) for name in VARIABLES})


@pytest.mark.parametrize("shape", SHAPES)
def test_a_profile_cut_off_anywhere(shape: str) -> None:
    for end in range(0, len(SHAPES[shape]), 3):
        assert_read_or_refused(SHAPES[shape][:end])


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


@given(st.integers(0, 2**31 - 1))
def test_whole_numbers_are_read_as_written(value: int) -> None:
    assert integer(str(value)) == value


@given(st.integers(1, 10**9), st.sampled_from([("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)]))
def test_times_are_exact(value: int, unit: tuple[str, int]) -> None:
    name, length_ns = unit
    assert time_ns(f"{value}{name}") == value * length_ns


@given(st.text(max_size=20))
def test_numbers_are_read_or_refused_in_words(text: str) -> None:
    for read in (integer, time_ns):
        refused = ""
        try:
            assert read(text) >= 0
        except ValueError as error:
            refused = str(error)
        assert not refused or "; " in refused
