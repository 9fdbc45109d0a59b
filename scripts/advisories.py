"""python -m scripts.advisories: checks the locks against known advisories; exits with 1 if one applies.

cargo-deny reads the RustSec database, which it keeps in the cargo home. `uv audit` asks OSV, and its answer holds for a
day. Where neither can be reached, a line says so; what is checked in (advisories.txt, deny.toml) holds all the same.
"""

import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ("requirements.lock", "scripts/fuzz.txt", "scripts/uv.txt")
MANIFESTS = ("Cargo.toml", "crates/probe/fuzz/Cargo.toml", "crates/schema/fuzz/Cargo.toml")
CARGO_HOME = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
KEPT = ROOT / ".tools" / "advisories"
SERVICE = os.environ.get("OSV_URL", "https://api.osv.dev")
PIN = re.compile(r"^([\w.-]+==[^\s;\\]+(?: *;[^\\\n]*)?)", re.MULTILINE)
DAY_S = 86_400.0


def main() -> int:
    """Checks what is checked in, the crates and the packages."""
    pins = [pin.strip() for lock in LOCKS for pin in PIN.findall((ROOT / lock).read_text())]
    below = list(too_old(pins, (ROOT / "scripts" / "advisories.txt").read_text().splitlines()))
    for line in below:
        print(line)
    KEPT.mkdir(parents=True, exist_ok=True)
    are_good = [not below, crates_are_good(), packages_are_good(pins)]
    return 0 if all(are_good) else 1


def too_old(pins: Iterable[str], constraints: Iterable[str]) -> Iterator[str]:
    """The pins that a constraint excludes, each with the advisory."""
    versions = {name: version.partition(";")[0].strip() for name, _, version in (pin.partition("==") for pin in pins)}
    for line in constraints:
        wanted, _, advisory = line.partition("#")
        if wanted.strip():
            allowed = Requirement(wanted)
            version = versions.get(allowed.name)
            if version is not None and version not in allowed.specifier:
                yield f"{allowed.name} {version}: {advisory.strip()}; use {allowed.specifier}"


def crates_are_good() -> bool:
    """Reports what cargo-deny finds in the database of RustSec, as far as there is one."""
    fetched = KEPT / "crates"
    failure = ""
    if _age_s(fetched) > DAY_S:
        done = _run(*_LIMITED, "cargo-deny", "--config", "deny.toml", "fetch", "db")
        failure = "" if done.returncode == 0 else next(iter(re.findall("fatal: (.*)", done.stderr)), "cargo-deny fetch")
        if not failure:
            fetched.touch()
    databases = [path for path in (CARGO_HOME / "advisory-dbs").glob("*") if (path / ".git").exists()]
    if not databases:
        print(f"warning: the crates were NOT checked for new advisories: no RustSec database ({failure})")
        return True
    date = _run("git", "-C", str(databases[0]), "log", "-1", "--format=%cs").stdout.strip()
    print(f"advisories of crates: RustSec database of {date}" + (f", not refreshed ({failure})" if failure else ""))
    checks = [
        _run("cargo-deny", "--locked", "--offline", "--config", "deny.toml", "--manifest-path", manifest, *_ADVISORIES)
        for manifest in MANIFESTS
    ]
    for check in checks:
        if check.returncode:
            print(check.stderr)
    return not any(check.returncode for check in checks)


#: A network that answers nothing must not hold the check up.
_LIMITED = ("timeout", "120")
_ADVISORIES = ("check", "--hide-inclusion-graph", "-A", "advisory-not-detected", "advisories")


def packages_are_good(pins: list[str]) -> bool:
    """Reports what `uv audit` finds; an answer for the same pins holds for a day."""
    answer = KEPT / f"packages-{sha256(' '.join(pins).encode()).hexdigest()[:12]}"
    if _age_s(answer) > DAY_S:
        try:
            urllib.request.urlopen(SERVICE, timeout=10).close()
        except urllib.error.HTTPError:
            pass  # It answers.
        except OSError as error:
            last = f"last on {time.strftime('%F', time.gmtime(answer.stat().st_mtime))}" if answer.exists() else "never"
            print(f"warning: the Python packages were NOT checked for new advisories ({last}): {SERVICE}: {error}")
            return True
        script = KEPT / "locked.py"
        lines = "".join(f'#   "{pin}",\n' for pin in pins)
        script.write_text(f'# /// script\n# requires-python = ">=3.11"\n# dependencies = [\n{lines}# ]\n# ///\n')
        uv = shutil.which("uv") or str(ROOT / ".tools" / "uv" / "bin" / "uv")
        audit = _run(*_LIMITED, uv, "audit", "--quiet", "--script", str(script), "--service-url", SERVICE)
        if audit.returncode:
            print(audit.stdout + audit.stderr)
            return False
        answer.touch()
    print(f"advisories of {len(pins)} Python packages: none known to OSV {_age_s(answer) / 3600:.0f} hours ago")
    return True


def _age_s(path: Path) -> float:
    return time.time() - path.stat().st_mtime if path.exists() else float("inf")


def _run(*command: str) -> "subprocess.CompletedProcess[str]":
    path = f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"
    program = shutil.which(command[0], path=path) or command[0]
    # No question for a password, and no waiting for one.
    environment = {**os.environ, "PATH": path, "GIT_TERMINAL_PROMPT": "0"}
    return subprocess.run(
        [program, *command[1:]],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


if __name__ == "__main__":
    sys.exit(main())
