"""Commit messages: `area: imperative summary`, and a body where the change needs its reason.

python -m scripts.style.commits FILE: checks the message in a file and what is staged, for `scripts/hooks/commit-msg`.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.style.rules import Hit, Rules, read

SUBJECT = re.compile(r"[\w./,{} -]+: (?P<first>[\w-]+)(?: |$).*[^.\s]")
#: The start of a summary that is no command: an article or pronoun, or a verb in another form.
NOT_IMPERATIVE = re.compile(
    r"(?:an?|the|no|not|this|that|these|it|its|we|i|which|what|when|where|while|how|why|each|every|all|one|more|less|some)"
    r"|(?!(?:embed|need|shed|speed|seed|feed|proceed|exceed|bring|string|ring|ping|sing|swing)$)\w+(?:ed|ing)"
    r"|(?!(?:pass|process|address|access|focus|discuss|suppress|compress|express|guess|stress|dress|bypass|canvas)$)\w{2,}s",
    re.IGNORECASE,
)
#: Subjects of git and people without a summary of their own: merges, and commits that are joined to others later.
OF_GIT = re.compile(r"Merge |(?:fixup|squash|amend)! ")
TRAILER = re.compile(r"[A-Z][\w-]+: .*")
OUTCOME = re.compile(r"(?:^|/)tests/.*\.(?:txt|json|csv)$")
DIAGNOSIS = re.compile(r"python/whyperf/explain/.*\.(?:py|toml)$")
BARS = re.compile(r"lab/(?:truth|bench)/.*\.py$")
NUMBER = re.compile(r"(?<![\w.])\d")
#: Lines around a change that are read, to find the table of required values in which it is.
CONTEXT = "--unified=30"


def main(message: Path) -> int:
    """Checks a message that is being written; prints what is wrong."""
    lines = [line for line in message.read_text().splitlines() if not line.startswith("#")]
    subject, body = (lines or [""])[0], "\n".join(lines[1:])
    if OF_GIT.match(subject):
        return 0
    advice = fault(subject, read().subject_length) or body_fault(body, _git(Path(), "diff", "--cached", CONTEXT))
    if advice:
        sys.stderr.write(f"error: {advice}\n")
    return 1 if advice else 0


def fault(subject: str, max_length: int) -> str | None:
    """The fault in a subject."""
    if len(subject) > max_length:
        return f"at most {max_length} characters, not {len(subject)}; the body says why"
    form = SUBJECT.fullmatch(subject)
    if form is None:
        return "the form is `area: imperative summary`, without a full stop"
    if NOT_IMPERATIVE.fullmatch(form["first"]):
        return f"start the summary with a command such as `add` or `report`, not with `{form['first']}`"
    return None


def body_fault(body: str, diff: str) -> str | None:
    """The change in a diff whose reason the body lacks."""
    if any(line.strip() and not TRAILER.fullmatch(line) for line in body.splitlines()):
        return None
    found = next(needing_reasons(diff), None)
    return found and f"this commit changes {found}; give the reason in the body"


def needing_reasons(diff: str) -> Iterator[str]:
    """Changes in a diff that need a reason: stored outcomes, numbers of the diagnosis, required values."""
    path, is_header, is_required = "", True, False
    for line in diff.splitlines():
        if line.startswith("diff --git "):
            path, is_header = line.rpartition(" b/")[2], True
        elif line.startswith("@@ "):
            is_header, is_required = False, False
        elif is_header:
            if line.startswith("new file"):
                path = ""
        else:
            is_changed, text = line[:1] in ("+", "-"), line[1:]
            is_required = bool(re.match(r"REQUIRED", text)) or (is_required and text[:1] in (" ", ""))
            if is_changed and OUTCOME.search(path):
                yield f"the stored outcome {path}"
            elif is_changed and NUMBER.search(text) and not text.lstrip().startswith("#"):
                if DIAGNOSIS.match(path):
                    yield f"a number of the diagnosis in {path}"
                elif BARS.match(path) and is_required:
                    yield f"a required value in {path}"


def hits(root: Path, rules: Rules) -> Iterator[Hit]:
    """Faults of the commits written after the stated times, as far as the clone has them."""
    for entry in _git(root, "log", "-z", "--no-merges", "--format=%h%x09%aI%x09%s%x09%b").split("\0"):
        if not entry:
            continue
        commit, written, subject, body = entry.split("\t", 3)
        advice = fault(subject, rules.subject_length) if written > rules.commits_after else None
        if not advice and written > rules.bodies_after:
            advice = body_fault(body, _git(root, "show", "--format=", CONTEXT, commit))
        if advice:
            yield Hit(f"commit {commit}", 1, f'"{subject}"', advice)


def _git(root: Path, *command: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *command], capture_output=True, text=True, check=False)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
