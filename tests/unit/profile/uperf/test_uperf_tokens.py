"""How uperf cuts a profile into words."""

import pytest

from whyperf.profile.errors import ProfileError
from whyperf.profile.uperf.tokens import looks_like_uperf, tokenize


def texts(text: str) -> list[str]:
    """The words alone."""
    return [token.text for token in tokenize(text, "x.xml")[0]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<profile name=x>\n</profile>", ["<profile", "name=x>", "</profile>"]),
        ('<group nthreads="4">', ["<group", "nthreads=4"]),
        ("a\tb\rc\x01d\x1fe", ["a", "b", "c", "d", "e"]),
        # All is small letters, values too; but only ASCII, as in the C locale.
        ('<Group Name="ABC $H É">', ["<group", "name=abc $h É"]),
        # A word ends with the first part in quotes.
        ('options="size=8k"/>', ["options=size=8k", "/>"]),
        ('a"b c"d', ["ab c", "d"]),
        ('options="a\nb\r\nc\td"', ["options=a b  c\td"]),
        # Single quotes are like letters.
        ("type='write'", ["type='write'"]),
        # Comments, where a word could begin.
        ("<!-- a <group> --><group", ["<group"]),
        ("<!-->x", ["x"]),
        ("a<!-- b -->", ["a<!--", "b", "-->"]),
        ('type="x"<!-- c -->/>', ["type=x", "/>"]),
        ("<?xml version=1.0?><profile", ["<profile"]),
        # What blanks took apart is put together.
        ('nthreads = "4"', ["nthreads=4"]),
        ("< group nthreads=4", ["<group", "nthreads=4"]),
        ('options="" />', ["options=", "/>"]),
        (">  > a", ["a"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_lines_are_counted_from_1() -> None:
    tokens, notes = tokenize('a\n<!-- \n\n -->b "c\nd"\ne', "x.xml")
    assert [(token.text, token.line) for token in tokens] == [("a", 1), ("b", 4), ("c d", 4), ("e", 6)]
    assert notes == []


def test_a_comment_without_end_is_reported() -> None:
    tokens, notes = tokenize("a\n<!-- b\nc", "x.xml")
    assert [token.text for token in tokens] == ["a"]
    assert notes == ["x.xml: line 2: the comment never ends, so nothing after it is read, as in uperf."]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a\nb" + 1023 * "x", "x.xml: line 2: a word has over 1023 characters"),
        ('a\n b="' + 1023 * "x" + '"', "x.xml: line 2: a word has over 1023 characters"),
        ('a\n b="c\nd', "x.xml: line 2: the quote that opens here is never closed"),
        ("a\nb\0c", "x.xml: line 2: there is a NUL byte"),
    ],
)
def test_refused_words(text: str, says: str) -> None:
    with pytest.raises(ProfileError) as caught:
        tokenize(text, "x.xml")
    assert str(caught.value).startswith(says)


def test_the_longest_word_is_taken() -> None:
    assert texts("x" * 1023) == ["x" * 1023]


@pytest.mark.parametrize("text", ["<profile", " \n<?xml?>", "<!-- x -->", "\ufeff<profile"])
def test_a_profile_is_known_by_its_first_character(text: str) -> None:
    assert looks_like_uperf(text)


@pytest.mark.parametrize("text", ["", 'about = "<profile>"', "[fixed]", "# <profile"])
def test_what_is_no_uperf_profile(text: str) -> None:
    assert not looks_like_uperf(text)
