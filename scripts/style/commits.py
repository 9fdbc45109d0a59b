"""Commit subjects: `area: imperative summary`."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from scripts.style.rules import Hit, Rules

SUBJECT = re.compile(r"[\w./,{} -]+: (?P<first>[\w-]+)(?: |$).*[^.\s]")
#: How a summary starts that is no command: an article or pronoun, or a verb in another form.
NOT_IMPERATIVE = re.compile(
    r"(?:an?|the|no|not|this|that|these|it|its|we|i|which|what|when|where|while|how|why|each|every|all|one|more|less|some)"
    r"|(?!(?:embed|need|shed|speed|seed|feed|proceed|exceed|bring|string|ring|ping|sing|swing)$)\w+(?:ed|ing)"
    r"|(?!(?:pass|process|address|access|focus|discuss|suppress|compress|express|guess|stress|dress|bypass|canvas)$)\w{2,}s",
    re.IGNORECASE,
)


def fault(subject: str, max_length: int) -> str | None:
    """What is wrong with a subject."""
    if len(subject) > max_length:
        return f"at most {max_length} characters, not {len(subject)}; the body says why"
    form = SUBJECT.fullmatch(subject)
    if form is None:
        return "the form is `area: imperative summary`, without a full stop"
    if NOT_IMPERATIVE.fullmatch(form["first"]):
        return f"start the summary with a command such as `add` or `report`, not with `{form['first']}`"
    return None


def hits(root: Path, rules: Rules) -> Iterator[Hit]:
    """Faults of the commits written after the stated time, as far as the clone has them."""
    log = subprocess.run(
        ["git", "-C", str(root), "log", "--no-merges", "--format=%h%x09%aI%x09%s"],
        capture_output=True,
        text=True,
        check=False,
    )
    for entry in log.stdout.splitlines():
        commit, written, subject = entry.split("\t", 2)
        advice = fault(subject, rules.subject_length) if written > rules.commits_after else None
        if advice:
            yield Hit(f"commit {commit}", 1, f'"{subject}"', advice)
