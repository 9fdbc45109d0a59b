"""An experiment's folder: opened by one writer at a time, resumed where it was left, read by anyone."""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import ValidationError

from whyperf.foreign import (
    MAX_LARGE_DOCUMENT_BYTES,
    foreign_owner,
    parse_json,
    plain_files,
    quoted,
    read_bytes,
    read_text,
    refuse_link,
    refuse_many_values,
)
from whyperf.plan import EXTRA_PREFIXES, LOG_PREFIX, STAGES_PREFIX, Plan, PlannedTrial
from whyperf.profile import ProfileError
from whyperf.profile.uperf import looks_like_uperf
from whyperf.record.durable import PARTIAL, folder_mode, identity_of, remove_made, remove_partial, write_file
from whyperf.record.errors import RecordError, WrongFolderError, as_record_error, failure, refuse_exchangeable
from whyperf.record.lock import Lock
from whyperf.record.manifest import (
    INTERRUPTED,
    LOST,
    MAX_RERUNS,
    TRIAL_NAME,
    Damaged,
    Manifest,
    read_manifest,
    wrong_in,
)
from whyperf.record.pack import PackWriter, manifest_in_packs, next_pack, packs, read_pack
from whyperf.record.seal import NAME as SEAL
from whyperf.record.seal import is_made_here, write_seal
from whyperf.record.writer import TrialWriter

END_NAME = re.compile(r"(near|far)([2-9]|[1-9][0-9]+)?")
#: The cost of the evidence, next to the documents about hosts.
PROBE_COST = "probe-cost.json"
#: The profile as it was asked, in whyperf's language or in uperf's.
PROFILES = ("profile.toml", "profile.xml")
#: Possible content of a folder whose run was killed before it wrote plan.json, apart from half-written files; the
#: folder of trials is empty then.
UNFINISHED_CREATION = {".lock", "trials", SEAL, *PROFILES}
#: The folders of an experiment, each of its own and no link to another.
FOLDERS = ("trials", "hosts", "set-aside")
#: Set to anything but 0, it leaves the permissions of new results to the umask.
SHARED = "WHYPERF_SHARE_RESULTS"


class Trials(NamedTuple):
    """The trials of an experiment: the manifests by trial, in the order of names, and what cannot be read."""

    manifests: dict[str, Manifest]
    damaged: list[Damaged]

    @property
    def measured(self) -> dict[str, Manifest]:
        """Those that have a throughput: they carried no segment log or stage times, or are watched connections."""
        return {name: manifest for name, manifest in self.manifests.items() if not name.startswith(EXTRA_PREFIXES)}

    @property
    def staged(self) -> dict[str, Manifest]:
        """Those made for stage times."""
        return {name: manifest for name, manifest in self.manifests.items() if name.startswith(STAGES_PREFIX)}

    @property
    def logs(self) -> dict[str, Manifest]:
        """Those made for the segment log. A watched connection has one trial, which is then among both."""
        return {
            name: manifest
            for name, manifest in self.manifests.items()
            if name.startswith(LOG_PREFIX) or (manifest.is_watched and manifest.evidence_asked == "segments")
        }


class _Kept(NamedTuple):
    """The content of the folder when it was opened, read once: whoever may write there could exchange it after a check.

    The plan has the identifier of the plan that is made, but its texts may be of an earlier version.
    """

    plan: Plan
    #: The profile, or why it cannot be read.
    profile: str | RecordError


class Experiment:
    """`results/<experiment>`: what was asked, planned, found and measured."""

    def __init__(
        self, folder: Path, plan: Plan, kept: "_Kept", lock: Lock | None = None, *, retry_failed: bool = False
    ) -> None:
        """Use `create` or `open`."""
        self.folder = folder
        self.plan = plan
        self.retry_failed = retry_failed
        self._kept = kept
        self._lock = lock
        self._factors = {cell.id: cell.factors for cell in plan.cells}
        #: The folder that this process made, by its device and inode; None of one that was there.
        self._made: tuple[int, int] | None = None
        #: Trials recorded by this process: a retried trial that fails again is not tried for ever.
        self._recorded: set[str] = set()

    @classmethod
    def create(cls, folder: Path, plan: Plan, profile_text: str, *, retry_failed: bool = False) -> Self:
        """Starts the experiment, or resumes it when the folder already has this plan; locks it.

        What is made is always `plan`: a folder that was prepared by somebody else decides nothing.

        Raises:
            WrongFolderError: the folder is of another plan, not made by this user on this host, not an experiment's, or
                another user's to exchange; nothing was changed then.
            RecordError: another process measures there, or it cannot be written; nothing was changed then.
        """
        # Somebody else's link leads root into a folder of its own.
        _refuse_foreign(folder)
        refuse_exchangeable(folder)
        folder = _named_folder(folder)
        plan = plan.named(folder.name)
        _refuse_other_content(folder, plan)
        fresh = not folder.exists()
        lock: Lock | None = None
        identity: tuple[int, int] | None = None
        try:
            with as_record_error("make", folder):
                # A result names hosts, addresses and users' commands: it is for who made it.
                folder.mkdir(0o777 if _is_shared() else 0o700, parents=True, exist_ok=True)
                identity = identity_of(folder) if fresh else None
            # Again: its parents were made meanwhile, perhaps by somebody else.
            refuse_exchangeable(folder)
            lock = Lock(folder)
            # Again under the lock: a second process may have come first.
            kept = _refuse_other_content(folder, plan)
            with as_record_error("create", folder):
                (folder / "trials").mkdir(folder_mode(folder), exist_ok=True)
            with as_record_error("clean up", folder):
                remove_partial(folder)
                remove_partial(folder / "trials")
            if kept is None:
                kept = _Kept(plan, profile_text)
                text = _readable(plan)
                with as_record_error("write to", folder):
                    write_file(folder / _profile_name(profile_text), profile_text.encode(), in_result=True)
                    write_seal(folder, _sealed(plan), profile_text)
                    write_file(folder / "plan.json", text.encode(), in_result=True)
        except BaseException as error:
            if lock is not None:
                if identity is not None:
                    with suppress(OSError):
                        remove_made(folder, identity)
                lock.release()
            elif identity is not None:
                _remove_empty(folder, identity, with_lock=not isinstance(error, RecordError))
            raise
        experiment = cls(folder, plan, kept, lock, retry_failed=retry_failed)
        experiment._made = identity
        return experiment

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Opens it for reading, also while it is being measured.

        Raises:
            WrongFolderError: there is no experiment.
            RecordError: its plan cannot be read.
        """
        folder = _named_folder(folder)
        plan = _read_plan(folder)
        _refuse_links(folder)
        return cls(folder, plan, _Kept(plan, _read_profile(folder)))

    @property
    def name(self) -> str:
        """The experiment's name: its folder's."""
        return self.folder.name

    @property
    def profile_text(self) -> str:
        """The profile as it was asked.

        Raises:
            RecordError: it could not be read when the experiment was opened.
        """
        if isinstance(self._kept.profile, RecordError):
            raise self._kept.profile
        return self._kept.profile

    @cached_property
    def is_made_here(self) -> bool:
        """True where this user's whyperf planned it on this host, and its plan and profile were still so when it was
        opened: what took their place since is not what is used. A profile that is gone is another one.
        """
        return not isinstance(self._kept.profile, RecordError) and is_made_here(self.folder, *self.sealed)

    @property
    def sealed(self) -> tuple[str, str]:
        """The texts that the seal covers: the plan and the profile, as they were in the folder when it was opened."""
        return _sealed(self._kept.plan), self.profile_text

    def missing_trials(self, plan: Plan | None = None) -> list[PlannedTrial]:
        """The planned trials still to be made, in the plan's order.

        Interrupted trials are to be made again, and void ones, at most `MAX_RERUNS` times. Failed trials, and those
        for a log or for stage times that lack it, count as made unless the experiment was opened with `retry_failed`;
        damaged ones do not. A stop rule may need fewer.
        """
        made = {
            name
            for name, manifest in self.trials().manifests.items()
            if manifest.status != INTERRUPTED
            and not self.may_run_again(name, manifest.status)
            and (
                not self.retry_failed
                or name in self._recorded
                or not (
                    manifest.status in LOST
                    or manifest.lost_pairs
                    or (name.startswith(LOG_PREFIX) and manifest.lacks_log)
                    or (name.startswith(STAGES_PREFIX) and manifest.lacks_stages)
                )
            )
        }
        return [trial for trial in (plan or self.plan).trials() if trial.id not in made]

    def may_run_again(self, trial: str, status: str) -> bool:
        """True where a trial that ended so is to be run again: a void one, until it was void too often."""
        return status == "void" and not (self.folder / "set-aside" / f"{trial}-{MAX_RERUNS}").exists()

    def set_aside(self, trial: str) -> None:
        """Moves an earlier, failed or damaged, trial to `set-aside/`: nothing recorded is removed."""
        aside = self.folder / "set-aside"
        aside.mkdir(folder_mode(self.folder), exist_ok=True)
        number = 1
        while (aside / f"{trial}-{number}").exists():
            number += 1
        (self.folder / "trials" / trial).rename(aside / f"{trial}-{number}")

    def begin_trial(self, trial: str) -> TrialWriter:
        """A writer for a trial of the plan.

        Raises:
            RecordError: the experiment was opened for reading, or the disk refuses.
        """
        if self._lock is None:
            raise RecordError(f"{self.folder} is open for reading only")
        if not TRIAL_NAME.fullmatch(trial):
            raise RecordError(f'"{trial}" is no name of a trial')
        trials = self.folder / "trials"

        def clear_final() -> None:
            self._recorded.add(trial)
            if (trials / trial).exists():
                self.set_aside(trial)

        return TrialWriter(trials / f".{trial}.partial", trials / trial, clear_final)

    def begin_pack(self) -> PackWriter:
        """A writer for many simulated trials of the plan.

        Raises:
            RecordError: the experiment was opened for reading, or the disk refuses.
        """
        if self._lock is None:
            raise RecordError(f"{self.folder} is open for reading only")
        trials = self.folder / "trials"
        name = next_pack(trials)
        return PackWriter(trials / f".{name}.partial", trials / name)

    def trials(self) -> Trials:
        """Reads every manifest and checks that its tables are there; takes about 0.1 ms a trial."""
        manifests: dict[str, Manifest] = {}
        damaged: list[Damaged] = []
        if not (self.folder / "trials").exists():
            raise RecordError(f"{self.folder} has no folder trials; copy the result whole, or run the experiment again")
        with as_record_error("read", self.folder / "trials"), os.scandir(self.folder / "trials") as entries:
            names = sorted(entry.name for entry in entries if TRIAL_NAME.fullmatch(entry.name))
        # One after the other: what is not kept takes no memory.
        single = (_read_trial(self.folder / "trials" / name) for name in names)
        packed = (each for pack in packs(self.folder / "trials") for each in read_pack(pack))
        for read in chain(single, packed):
            found = self._as_planned(read)
            if isinstance(found, Manifest):
                manifests[found.trial] = found
            else:
                damaged.append(found)
        return Trials(dict(sorted(manifests.items())), damaged)

    def trial(self, name: str) -> Manifest | Damaged:
        """Reads one trial's manifest."""
        trials = self.folder / "trials"
        if not (trials / name).exists() and (found := manifest_in_packs(trials, name)) is not None:
            return self._as_planned(found)
        return self._as_planned(_read_trial(trials / name))

    def _as_planned(self, found: Manifest | Damaged) -> Manifest | Damaged:
        """The same; what was measured with other factors than those of its cell, or on more hosts, is no trial of the
        plan.
        """
        if not isinstance(found, Manifest):
            return found
        if self._factors.get(found.cell) != found.factors:
            return Damaged(found.trial, "its factors are not those of its cell in the plan")
        pairs_count = len(self.plan.pairs)
        if len(found.hosts) > 2 * pairs_count or len(found.lost_pairs) > pairs_count:
            return Damaged(found.trial, "it has more ends than the pairs of hosts in the plan")
        return found

    def write_host(self, host: str, facts: Mapping[str, object]) -> None:
        """Keeps what a host is: `hosts/near.json` or `hosts/far.json`."""
        self._write_json(self.folder / "hosts" / f"{host}.json", facts)

    def hosts(self) -> dict[str, dict[str, Any]]:
        """The facts of the hosts, as far as they are known."""
        found = {path.stem: self._read_json(path) for path in self.host_documents()}
        return {host: facts for host, facts in found.items() if facts is not None}

    def host_documents(self) -> list[Path]:
        """The documents about hosts that the plan has: those of the near and the far side, then those of further pairs
        in the order of their numbers.
        """
        names = [match for path in (self.folder / "hosts").glob("*.json") if (match := END_NAME.fullmatch(path.stem))]
        # The folder of somebody else may have any number of them.
        names = [name for name in names if int(name[2] or 1) <= max(1, len(self.plan.pairs))]
        names.sort(key=lambda name: (int(name[2] or 1), name[1] == "far"))
        return [self.folder / "hosts" / f"{name[0]}.json" for name in names]

    def write_testbed(self, testbed: Mapping[str, object]) -> None:
        """Keeps what the testbed looked like when it was read back."""
        self._write_json(self.folder / "testbed.json", testbed)

    def testbed(self) -> dict[str, Any] | None:
        """The description of the testbed; None without one."""
        return self._read_json(self.folder / "testbed.json")

    def discard_if_empty(self) -> bool:
        """Removes the folder when this process made it and no trial was recorded; says whether it did."""
        trials = self.folder / "trials"
        with as_record_error("remove", self.folder):
            # Somebody may have moved it away.
            if self._made is None or not trials.exists() or any(trials.iterdir()):
                return False
            remove_made(self.folder, self._made)
        return True

    def write_probe_cost(self, cost: Mapping[str, object]) -> None:
        """Keeps what the evidence costs on the host that drives the experiment: `hosts/probe-cost.json`."""
        self._write_json(self.folder / "hosts" / PROBE_COST, cost)

    def probe_cost(self) -> dict[str, Any] | None:
        """The cost of the evidence; None when it was not known."""
        return self._read_json(self.folder / "hosts" / PROBE_COST)

    def close(self) -> None:
        """Gives the lock back."""
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Self:
        """The experiment itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Gives the lock back."""
        self.close()

    def _write_json(self, path: Path, content: Mapping[str, object]) -> None:
        with as_record_error("write", path):
            path.parent.mkdir(folder_mode(self.folder), exist_ok=True)
            write_file(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode(), in_result=True)

    @staticmethod
    def _read_json(path: Path) -> dict[str, Any] | None:
        try:
            content = parse_json(read_bytes(path))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise failure("read", path, error) from None
        except ValueError:
            raise RecordError(f"{path} is damaged; remove it, and the next run writes it again") from None
        return content if isinstance(content, dict) else None


def kept_profile(folder: Path) -> Path:
    """The profile that an experiment keeps, in whichever language; it may be gone."""
    return next((folder / name for name in PROFILES if (folder / name).is_file()), folder / PROFILES[0])


def _sealed(plan: Plan) -> str:
    """The plan, by whatever name its folder has."""
    return plan.named("").to_json()


def _profile_name(text: str) -> str:
    return PROFILES[looks_like_uperf(text)]


def _remove_empty(folder: Path, identity: tuple[int, int], *, with_lock: bool) -> None:
    """Removes a folder in which nothing but the lock's file may be: one that was interrupted while taking it.

    A lock that was refused is another process's, which was quicker; the system refuses to remove its folder.
    """
    with suppress(OSError):
        if identity_of(folder) != identity:
            return
        if with_lock and {entry.name for entry in folder.iterdir()} <= {".lock"}:
            (folder / ".lock").unlink(missing_ok=True)
        folder.rmdir()


def _refuse_foreign(folder: Path) -> None:
    """Refuses root a folder or link of another user, who could exchange what is in it; nothing there is fine."""
    with suppress(FileNotFoundError, NotADirectoryError):
        if (owner := foreign_owner(folder.lstat())) is not None:
            raise WrongFolderError(
                f"{folder} belongs to another user ({owner}), and root writes nothing into it; "
                "name another folder with --out"
            )


def _refuse_other_content(folder: Path, plan: Plan) -> _Kept | None:
    """Refuses a folder that is not this plan's, so that results never mix, or from which a link leads elsewhere.

    Returns what it holds of this plan; None where it is not begun.
    """
    with as_record_error("read", folder):
        if not folder.exists():
            return None
        if not folder.is_dir():
            raise WrongFolderError(f"{folder} is not a folder; name another with --out")
        _refuse_foreign(folder)
        _refuse_links(folder)
        if (folder / "plan.json").exists():
            kept = Experiment.open(folder)
            there = kept.plan
            if there.id != plan.id:
                text = (
                    f"{folder} holds plan {there.id} (profile {there.profile}), not plan {plan.id}; "
                    "name another folder with --out, or leave --out away"
                )
                raise WrongFolderError(text)
            if not kept.is_made_here:
                raise WrongFolderError(
                    f"{folder} was not made by you on this host, or its plan or profile was changed since, "
                    "so it is not resumed; name another folder with --out"
                )
            return kept._kept
        if any(path.name not in UNFINISHED_CREATION and path.suffix != PARTIAL for path in folder.iterdir()):
            raise WrongFolderError(f"{folder} has files that are not an experiment's; name another folder with --out")
        if (folder / "trials").exists() and any((folder / "trials").iterdir()):
            # A run writes plan.json before its first trial: somebody else put these there.
            raise WrongFolderError(f"{folder} has trials but no plan.json; name another folder with --out")
        return None


def _readable(plan: Plan) -> str:
    """The text of plan.json, which can be read again."""
    text = plan.to_json()
    try:
        refuse_many_values(text)
    except ValueError as error:
        raise RecordError(f"the plan is too large: {error}; measure fewer cells at once") from None
    return text


def _read_plan(folder: Path) -> Plan:
    path = folder / "plan.json"
    try:
        return Plan.from_json(read_text(path, MAX_LARGE_DOCUMENT_BYTES), str(path)).named(folder.name)
    except (FileNotFoundError, NotADirectoryError):
        raise WrongFolderError(f"{folder} is not an experiment: it has no plan.json; look into results/") from None
    except OSError as error:
        raise failure("read", path, error) from None
    except (ProfileError, UnicodeDecodeError) as error:
        raise RecordError(str(error)) from None


def _read_profile(folder: Path) -> str | RecordError:
    """The profile, or why it cannot be read: a result without it has figures nevertheless."""
    path = kept_profile(folder)
    try:
        with as_record_error("read", path):
            return read_text(path)
    except RecordError as error:
        return error


def _read_trial(folder: Path) -> Manifest | Damaged:
    try:
        refuse_link(folder)
        manifest = read_manifest(read_bytes(folder / "manifest.json"))
        sizes = plain_files(folder)
    except FileNotFoundError:
        return Damaged(folder.name, "it has no manifest.json")
    except OSError as error:
        return Damaged(folder.name, f"its {Path(str(error.filename)).name} cannot be read: {error.strerror}")
    except ValidationError as error:
        return Damaged(folder.name, wrong_in(error))
    if manifest.trial != folder.name:
        return Damaged(folder.name, f"its manifest is of trial {quoted(manifest.trial)}")
    for name, size in manifest.tables.items():
        if sizes.get(name) != size:
            state = f"has {max(sizes[name], 0)} of {size} bytes" if name in sizes else "is missing"
            return Damaged(folder.name, f"its table {quoted(name)} {state}")
    return manifest


def _named_folder(folder: Path) -> Path:
    """The folder that a link leads to: whoever names an experiment by a link means what it leads to."""
    return folder.resolve() if folder.is_symlink() else folder


def _refuse_links(folder: Path) -> None:
    """Refuses folders of an experiment that are links: what is written there would come to lie elsewhere."""
    for name in FOLDERS:
        with as_record_error("use", folder / name):
            refuse_link(folder / name)


def _is_shared() -> bool:
    return os.environ.get(SHARED, "") not in {"", "0"}
