"""The style test refuses a wrong example of each kind of rule and accepts a right one."""

from pathlib import Path

import pytest

from scripts.style import commits, rules
from scripts.style.__main__ import repeated_types
from scripts.style.source import pieces

RULES = rules.read()


def found(file: str, text: str) -> list[tuple[int, str]]:
    """Line and word of each hit in a file of this name and content."""
    lines = text.splitlines()
    hits = [hit for piece in pieces(Path(file), text) for hit in RULES.of_piece(file, piece, lines)]
    return [(hit.line, hit.found) for hit in [*RULES.of_file_name(file), *hits]]


@pytest.mark.parametrize(
    ("file", "wrong", "line"),
    [
        ("a.md", "# Title\n\nThe agent\nis told a rate.\n", 4),
        ("a.md", "It takes a\nwhile.\n", 1),
        ("a.md", "| a | b |\n| --- | --- |\n| 1 | beside |\n", 3),
        ("a.py", "rate = 1\n# Waits a\n# while.\n", 2),
        ("a.py", '"""First.\n\nNo doubt.\n"""\n', 3),
        ("a.py", 'print(\n    f"sent {rate} "\n    "as told"\n)\n', 3),
        ("a.rs", "/// Both\n/// ends send.\nfn f() {}\n", 1),
        ("a.rs", 'fn f() { g("a", "the middle {}", 1) }\n', 1),
        ("a.js", "draw(`by chance ${rate}`);\n", 1),
        ("a.c", "/* A stranger\n * came. */\n", 1),
        ("a.html.j2", "<p>\nRates beside {{ it }}</p>\n", 2),
        ("a.toml", '# x\nabout = """\nOne.\nThe far end listens."""\n', 4),
        ("a.sh", "#!/bin/bash\nsay 'it knows the rate'\n", 2),
    ],
)
def test_words_are_found_in_every_kind_of_text(file: str, wrong: str, line: int) -> None:
    assert [at for at, _ in found(file, wrong)] == [line]


@pytest.mark.parametrize(
    ("file", "right"),
    [
        ("a.md", "The agent prints `told` and `a\nwhile`, no foretoldness.\n\n```text\nboth ends\n```\n"),
        ("a.md", "Each end of the range is open; a line of a file, a command line; in turn.\n"),
        ("a.py", '# Prints `told`.\nvalue = f"the rate {told} of {beside.middle}"\nkeys = {"told": 1}\n'),
        ("a.py", 'label = "color#told" + "<text text-anchor=middle>"\n'),
        ("a.rs", '//! ```\n//! told\n//! ```\nfn f() { g("told", "rate {told}") }\n'),
        ("a.toml", 'told = "told"\n'),
    ],
)
def test_code_keys_and_terms_of_the_field_are_accepted(file: str, right: str) -> None:
    assert found(file, right) == []


@pytest.mark.parametrize(
    ("file", "wrong"),
    [
        ("a.py", "def tell_rate(): ...\n"),
        ("a.py", "class CarrierOf: ...\n"),
        ("a.py", "rates = [1 for one in pairs]\n"),
        ("a.py", "def rate(*, told): ...\n"),
        ("a.rs", "struct PendingStranger;\n"),
        ("a.rs", "fn max_turn() {}\n"),
        ("a.js", "function wayOut() {}\n"),
        ("a.c", "static int line_bps;\n"),
        ("told.py", ""),
        ("test_carriers.rs", ""),
        ("helpers.js", ""),
    ],
)
def test_names_are_split_at_snake_and_camel_case(file: str, wrong: str) -> None:
    assert len(found(file, wrong)) == 1


@pytest.mark.parametrize(
    ("file", "right"),
    [
        ("a.py", "lifetime = return_value = most_rows = intel = done = keywords = 1\n"),
        ("a.py", "rate = file.tell()\n"),
        ("a.rs", "struct Lifeline { strangers_count: u64 }\n"),
        ("discourse.py", ""),
    ],
)
def test_other_names_are_accepted(file: str, right: str) -> None:
    assert found(file, right) == []


def test_an_exception_holds_only_in_its_files() -> None:
    rule = rules.read_rule(
        {"text": "carrier", "use": "x", "reason": "y", "allow": [{"text": "no carrier", "files": "a*"}]}
    )
    (piece,) = pieces(Path("a.md"), "no\ncarrier")
    assert list(rule.in_text("a.md", piece)) == []
    assert len(list(rule.in_text("b.md", piece))) == 1


def test_a_sentence_of_a_document_has_at_most_30_words() -> None:
    sentence = " ".join(["word"] * 30)
    assert (
        found("a.md", f"{sentence}. {sentence.title()}: `one code span` is one.\n\n| a |\n| - |\n| {sentence} |\n")
        == []
    )
    ((line, text),) = found("a.md", f"Short.\n{sentence.title()} more.\n")
    assert (line, text) == (2, '"Word Word Word Word Word Word …" has 31 words')
    assert found("a.py", f"# {sentence} more.\n") == []
    names = ", ".join(["`name`"] * 31)
    assert found("a.md", f"| a |\n| - |\n| {names} |\n") == []
    assert len(found("a.md", f"| a |\n| - |\n| {names} of one |\n")) == 1


def test_a_type_name_stands_for_at_most_three_things() -> None:
    assert [piece.text for piece in pieces(Path("a.rs"), "pub(crate) struct Kind;\n") if piece.kind == "type"] == [
        "Kind"
    ]
    files = [f"python/{number}.py" for number in range(4)]
    (hit,) = repeated_types(files, [["Table"]] * 4, 3)
    assert (hit.file, hit.found) == ("python/0.py", "type `Table` is defined 4 times")
    assert list(repeated_types(["tests/a.py", *files[:3]], [["Table"]] * 4, 3)) == []
    assert list(repeated_types(["crates/a.rs", *files[:3]], [["Table"]] * 4, 3)) == []


@pytest.mark.parametrize(
    "subject", ["docs: describe the rate", "tests/style, docs: pass {} on", "report: need one scan less"]
)
def test_a_subject_is_an_area_and_a_command(subject: str) -> None:
    assert commits.fault(subject, 72) is None


@pytest.mark.parametrize(
    "subject",
    [
        "describe the rate",
        "docs: " + "a" * 67,
        "docs: describe the rate.",
        "docs: the rate",
        "docs: describes it",
    ],
)
def test_other_subjects_are_refused(subject: str) -> None:
    assert commits.fault(subject, 72) is not None


CHANGE = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n{1}"


@pytest.mark.parametrize(
    ("path", "lines", "is_refused"),
    [
        ("tests/accuracy.txt", "-loss 3\n+loss 4\n", True),
        ("crates/sim/tests/frames.csv", "-a,1\n", True),
        ("tests/unit/test_a.py", "+assert f() == 1\n", False),
        ("python/whyperf/explain/gain.py", "-MIN_DELAYS = 0.3\n", True),
        ("python/whyperf/explain/gain.py", "+# RFC 5681\n-rate2 = call()\n", False),
        ("python/whyperf/analyze/gain.py", "-MIN_DELAYS = 0.3\n", False),
        ("lab/truth/bars.py", " REQUIRED = {\n+    A: (0.8, 0.1),\n", True),
        ("lab/truth/bars.py", " REQUIRED = {\n }\n+seed = 1\n", False),
        ("lab/bench/fleet/bars.py", "+REQUIRED_RATIO = 0.9\n", True),
    ],
)
def test_a_changed_outcome_constant_or_bar_needs_a_body(path: str, lines: str, is_refused: bool) -> None:
    diff = CHANGE.format(path, lines)
    assert (commits.body_fault("\nReviewed-by: A\n", diff) is not None) == is_refused
    assert commits.body_fault("\nThe fit of the last truth run.\n", diff) is None


def test_a_new_outcome_needs_no_body() -> None:
    diff = CHANGE.format("tests/accuracy.txt", "+loss 4\n").replace("--- a", "new file mode 100644\n--- a")
    assert commits.body_fault("", diff) is None


def test_the_hook_names_what_is_wrong_with_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = tmp_path / "COMMIT_EDITMSG"
    message.write_text("# a comment\ndocs: Describes it\n")
    assert commits.main(message) == 1
    assert "start the summary with a command" in capsys.readouterr().err
    message.write_text("fixup! docs: Describes it\n")
    assert commits.main(message) == 0
