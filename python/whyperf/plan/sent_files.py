"""Files that a plan sends, and whether they may leave: a profile may be somebody else's, and name any file."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from whyperf.foreign import is_meant, visible
from whyperf.hosts import LOCAL
from whyperf.plan.plan_document import Plan
from whyperf.profile import Profile, ProfileError

#: Files and hosts at most that a sentence names.
MAX_NAMED = 20


def sent_files(plan: Plan) -> list[Path]:
    """The files that workloads of the plan send, each once, without links."""
    steps = (
        step["operation"]
        for planned in plan.workloads.values()
        if planned.workload is not None
        for group in planned.workload["groups"]
        for transaction in group["transactions"]
        for step in transaction["steps"]
    )
    paths = (file["path"] for step in steps if step["operation"] == "send_file" for file in step["files"])
    return list(map(Path, dict.fromkeys(paths)))


def own_folders(profile: Profile) -> list[Path]:
    """The folders of the profile and of workloads in files of their own: files below them are meant to be sent."""
    files = dict.fromkeys(workload.where or profile.where for workload in profile.workloads.values())
    return [Path(file).parent.resolve() for file in files if Path(file).is_file()]


def refuse_other_files(plan: Plan, folders: Sequence[Path]) -> None:
    """Refuses files that are not below one of the folders, and hidden ones, such as `.ssh/id_rsa` below a home.

    Raises:
        ProfileError: the first file, and the option that allows it.
    """
    for path in sent_files(plan):
        if any(is_meant(path, folder) for folder in folders):
            continue
        is_below = any(map(path.is_relative_to, folders))
        reason = "a hidden file, or in a hidden folder" if is_below else "not below the folder of the profile"
        raise ProfileError(
            "", "", f"the workload sends {path}, which is {reason}; if it may leave, add --files-below {path.parent}"
        )


def announcements(plan: Plan) -> list[str]:
    """Names what of the user is sent before it leaves, a sentence each: files, and variables of the environment."""
    variables = [f"${name}" for name in plan.variables]
    if len(variables) > MAX_NAMED:
        variables[MAX_NAMED:] = [f"{len(variables) - MAX_NAMED} more"]
    named = f"The profile takes values of the environment: {', '.join(variables)}; the hosts and the result get them"
    return [*_of_files(plan), *([visible(named)] if variables else [])]


def _of_files(plan: Plan) -> list[str]:
    files = sent_files(plan)
    if not files:
        return []
    named = [str(path) for path in files[:MAX_NAMED]]
    if len(files) > MAX_NAMED:
        named.append(f"and {len(files) - MAX_NAMED:,} more below {os.path.commonpath(files)}")
    near, far = (_hosts(dict.fromkeys(hosts)) for hosts in zip(*plan.pairs, strict=True))
    return [visible(f"The workload sends files of {near} to {far}: {', '.join(named)}")]


def _hosts(names: Iterable[str]) -> str:
    known = ["this host" if name == LOCAL else name for name in names]
    more = [f"{len(known) - MAX_NAMED} more"] if len(known) > MAX_NAMED else []
    return ", ".join([*known[:MAX_NAMED], *more])
