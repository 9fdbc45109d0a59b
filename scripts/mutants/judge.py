"""Runs the tests of a package against its mutants, as a plugin of pytest.

pytest collects once. Then each mutant gets a forked process, which puts the changed code into the function that has it
and runs the tests that reach that function, the quickest first, until one fails. A change outside functions takes
effect at import, so there the process imports whyperf and the tests again.
"""

import ast
import functools
import gc
import importlib.util
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import coverage
import hypothesis
import pytest

from scripts.mutants.operators import Mutant

KILLED, SURVIVED, ENDLESS, BROKEN = "killed", "survived", "endless", "broken"
#: CPU time of a mutant, as a multiple of that of its tests on the unchanged code, and in addition to it.
CPU_RATIO, CPU_SECONDS = 5, 10
#: The same for importing whyperf and the tests again.
IMPORT_SECONDS = 40
#: A mutant that waits does not use CPU time. Long enough for a machine that does other work; a halted process does not
#: count as waiting.
WAIT_SECONDS = 300
#: Memory of a mutant in addition to what the process has at the start.
MEMORY_BYTES = 2 << 30
#: How a process that judges a mutant ends.
STATUS = {0: SURVIVED, 1: KILLED, 3: BROKEN}
INLINE = 0x1
"""CO_OPTIMIZED: code of a function, not of a module or a class."""


class Judge:
    """The plugin. `pytest_runtestloop` judges the mutants instead of running the tests."""

    def __init__(self, root: Path, mutants: Iterable[Mutant], jobs: int, report: Any, kept: Path) -> None:
        """`report` is called with each mutant, its outcome, the number of its tests, its seconds, and those that ran.

        `kept` has the baseline of an earlier run of the same code and tests, or gets it.
        """
        self._root, self._mutants, self._jobs, self._report, self._kept = root, mutants, jobs, report, kept
        self._items: list[pytest.Item] = []
        self._seconds: dict[str, float] = {}
        self._reached: dict[str, dict[int, list[str]]] = {}
        self._is_child = False
        self._note = _Note(Path(os.devnull))
        self.error = ""

    def pytest_sessionstart(self) -> None:
        """The same examples each time, and no time for making the failing one small."""
        hypothesis.settings.register_profile(
            "mutants",
            parent=hypothesis.settings.get_profile("whyperf"),
            database=None,
            derandomize=True,
            phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
        )
        hypothesis.settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Runs the tests on the unchanged code, then against each mutant."""
        self._items = session.items
        if _has_threads_of_polars():
            self.error = (
                "A test module runs polars when it is imported, and a forked process would wait for its threads."
            )
            return True
        with tempfile.TemporaryDirectory() as folder:
            self._baseline(Path(folder))
            if not self.error:
                self._functions = _functions(self._root)
                gc.freeze()
                self._judge_all(Path(folder))
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """The first failing test ends the process of a mutant."""
        if self._is_child:
            self._note.write(report)
            if report.failed:
                os._exit(1)

    def _baseline(self, folder: Path) -> None:
        """Which test reaches which line, and how long it takes."""
        if not self._kept.exists():
            parts = [folder / f"{number}.json" for number in range(self._jobs)]
            for number, part in enumerate(parts):
                if os.fork() == 0:
                    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(folder)
                    part.write_text(json.dumps(_covered(self._items[number :: self._jobs], self._root)))
                    os._exit(0)
            for _ in parts:
                os.wait()
            if not all(part.exists() for part in parts):
                self.error = "The tests ended their process on the unchanged code."
                return
            self._kept.write_text(json.dumps(_together([json.loads(part.read_text()) for part in parts])))
        reached, self._seconds, failed = json.loads(self._kept.read_text())
        self._reached = {path: {int(n): tests for n, tests in lines.items()} for path, lines in reached.items()}
        if failed:
            self.error = f"{len(failed)} tests fail on the unchanged code, the first is {failed[0]}. Repair them first."

    def _judge_all(self, folder: Path) -> None:
        waiting = iter(self._mutants)
        running: dict[int, tuple[Mutant, int, _Clock, Path]] = {}
        while True:
            while len(running) < self._jobs and (mutant := next(waiting, None)) is not None:
                place = Path(tempfile.mkdtemp(dir=folder))
                items, functions = self._chosen(mutant)
                if not items:
                    self._report(mutant, SURVIVED, 0, 0.0, [])
                    continue
                child = os.fork()
                if child == 0:
                    self._judge(mutant, items, functions, place)
                running[child] = (mutant, len(items), _Clock(child), place)
            if not running:
                return
            ended, status = os.waitpid(-1, os.WNOHANG)
            if not ended:
                for child, (*_, clock, _) in running.items():
                    if clock.waits():
                        os.kill(child, signal.SIGKILL)
                time.sleep(0.01)
                continue
            mutant, count, clock, place = running.pop(ended)
            ran = _Note(place).read()
            shutil.rmtree(place, ignore_errors=True)
            found = STATUS.get(os.waitstatus_to_exitcode(status), ENDLESS)
            self._report(mutant, found, count, time.monotonic() - clock.started, ran)

    def _chosen(self, mutant: Mutant) -> tuple[list[pytest.Item], list[tuple[FunctionType, CodeType]] | None]:
        """The tests to run, the quickest first, and which functions get which code; None: import again."""
        path = self._root / mutant.path
        lines = self._reached.get(mutant.path, {})
        functions = self._changed_functions(path, mutant)
        if functions is None:
            near = {test for tests in lines.values() for test in tests}
            readers = self._readers(mutant)
            items = [item for item in self._items if readers is None or item.nodeid in readers | near]
            return sorted(items, key=lambda item: (item.nodeid not in near, self._seconds[item.nodeid])), None
        tests = {test for _, new in functions for line in _lines(new) for test in lines.get(line, ())}
        items = [item for item in self._items if item.nodeid in tests]
        return sorted(items, key=lambda item: self._seconds[item.nodeid]), functions

    def _readers(self, mutant: Mutant) -> set[str] | None:
        """The tests that reach a function or class with the name of the changed constant; None: it is no constant."""
        statements = _statements(self._root)
        names = next(
            (set(each.sets) for each in statements if each.path == mutant.path and mutant.line in each.lines), set()
        )
        if not names:
            return None
        # A constant may be made of another one.
        while more := {name for each in statements if each.names_in_it & names for name in each.sets} - names:
            names |= more
        users = [each for each in statements if each.names_in_it & names]
        if any(each.is_other for each in users):
            return None
        reached = [(self._reached.get(each.path, {}), each.lines) for each in users]
        return {test for by_line, lines in reached for line in lines for test in by_line.get(line, ())}

    def _changed_functions(self, path: Path, mutant: Mutant) -> list[tuple[FunctionType, CodeType]] | None:
        before = compile(path.read_text(), str(path), "exec")
        after = compile(mutant.code, str(path), "exec")
        changed: list[tuple[FunctionType, CodeType]] = []
        pairs = list(zip(_top_codes(before), _top_codes(after), strict=True))
        for old, new in pairs:
            if not old.co_flags & INLINE:
                if _own(old) != _own(new):
                    return None
            elif old != new:
                living = self._functions.get((str(path), old.co_qualname, old.co_firstlineno), [])
                if not living or old.co_freevars != new.co_freevars:
                    return None
                changed += [(function, new) for function in living]
        return changed

    def _judge(
        self,
        mutant: Mutant,
        items: list[pytest.Item],
        functions: list[tuple[FunctionType, CodeType]] | None,
        place: Path,
    ) -> None:
        """In a process of its own: never returns."""
        try:
            self._is_child = True
            self._note = _Note(place)
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
            os.environ["PYTEST_DEBUG_TEMPROOT"] = str(place)
            planned = sum(self._seconds[item.nodeid] for item in items)
            cpu = int(planned * CPU_RATIO + CPU_SECONDS + (IMPORT_SECONDS if functions is None else 0))
            resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
            memory = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + MEMORY_BYTES
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            if functions is None:
                os._exit(self._imported_again(mutant, items))
            for function, code in functions:
                function.__code__ = code
            _clear_caches(_caches())
            _run(items)
            os._exit(0)
        except MemoryError:
            os._exit(1)
        except BaseException:
            os._exit(3)

    def _imported_again(self, mutant: Mutant, items: list[pytest.Item]) -> int:
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            own = file is not None and file.startswith(str(self._root)) and "site-packages" not in file
            if own and not name.startswith("scripts"):
                del sys.modules[name]
        sys.meta_path.insert(0, _Changed(self._root / mutant.path, mutant.code))
        files = list(dict.fromkeys(item.nodeid.partition("::")[0] for item in items))
        order = {item.nodeid: number for number, item in enumerate(items)}
        status = pytest.main([*OPTIONS, "-x", *files], plugins=[_Order(order, self._seconds.keys(), self._note)])
        return 0 if status == pytest.ExitCode.OK else 1


OPTIONS = ("-qq", "-rN", "-s", "-p", "no:cacheprovider", "-p", "no:xdist")


class _Order:
    """Runs the chosen tests, the quickest first, as in the other processes."""

    def __init__(self, order: dict[str, int], known: Collection[str], note: "_Note") -> None:
        self._order, self._known, self._note = order, known, note

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        # A change may change the names of tests: those that are new run as well.
        items[:] = [item for item in items if item.nodeid in self._order or item.nodeid not in self._known]
        items.sort(key=lambda item: self._order.get(item.nodeid, len(self._order)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note.write(report)


class _Note:
    """The tests that ran against a mutant, in this order: written by its process, read by the first one."""

    def __init__(self, place: Path) -> None:
        self._path = place / "ran" if place.is_dir() else place

    def write(self, report: pytest.TestReport) -> None:
        if report.failed or (report.when == "call" and report.passed):
            with self._path.open("a") as file:
                file.write(f"{report.nodeid}\n")

    def read(self) -> list[str]:
        return self._path.read_text().splitlines() if self._path.exists() else []


class _Clock:
    """Since when a process runs, and since when it waits for something that does not come."""

    def __init__(self, child: int) -> None:
        self.started = self._moved = time.monotonic()
        self._child, self._ticks = child, -1

    def waits(self) -> bool:
        state, *values = Path(f"/proc/{self._child}/stat").read_text().rpartition(") ")[2].split()
        ticks = int(values[10]) + int(values[11])
        if ticks != self._ticks or state != "S":
            self._ticks, self._moved = ticks, time.monotonic()
        return time.monotonic() - self._moved > WAIT_SECONDS


@dataclass(frozen=True)
class _Statement:
    """A statement of a module."""

    path: str
    lines: range
    sets: frozenset[str]
    """The names of the constants that it sets."""
    names_in_it: frozenset[str]
    """The names in it."""
    is_other: bool
    """Whether it is neither that nor an import, a function or a class."""


@functools.cache
def _statements(root: Path) -> tuple[_Statement, ...]:
    """Those of all modules of whyperf."""
    return tuple(
        _statement(str(path.relative_to(root)), node)
        for path in sorted((root / "python" / "whyperf").rglob("*.py"))
        for node in ast.parse(path.read_text()).body
        if not isinstance(node, ast.Import | ast.ImportFrom)
    )


def _statement(path: str, node: ast.stmt) -> _Statement:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    sets = {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    found = list(ast.walk(node))
    names_in_it = {each.id for each in found if isinstance(each, ast.Name)}
    names_in_it |= {each.attr for each in found if isinstance(each, ast.Attribute)}
    is_other = not sets and not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Expr)
    return _Statement(
        path,
        range(node.lineno, (node.end_lineno or node.lineno) + 1),
        frozenset(sets),
        frozenset(names_in_it),
        is_other,
    )


class _Changed:
    """Finds one module with other code than its file has."""

    def __init__(self, path: Path, code: str) -> None:
        self._path, self._code = path, code
        parts = path.with_suffix("").parts
        name = ".".join(parts[len(parts) - 1 - parts[::-1].index("whyperf") :])
        self._name = name.removesuffix(".__init__")

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        del path, target
        if name != self._name:
            return None
        loader = _Loader(name, str(self._path))
        loader.text = self._code
        return importlib.util.spec_from_file_location(name, self._path, loader=loader)


class _Loader(SourceFileLoader):
    text: str

    def get_code(self, fullname: str) -> CodeType | None:
        return compile(self.text, self.get_filename(fullname), "exec")


def _has_threads_of_polars() -> bool:
    tasks = Path("/proc/self/task").glob("*/comm")
    return any(task.read_text().strip() == "polars-0" for task in tasks)


def _run(items: Sequence[pytest.Item]) -> None:
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def _covered(
    items: Sequence[pytest.Item], root: Path
) -> tuple[dict[str, dict[int, list[str]]], dict[str, float], list[str]]:
    """Tests by line of each file, seconds of each test, and the tests that fail."""
    failed: list[str] = []

    class Failures:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed:
                failed.append(report.nodeid)

    items[0].config.pluginmanager.register(Failures())
    caches = _caches()
    seconds: dict[str, float] = {}
    measured = coverage.Coverage(data_file=None, config_file=False, source=[str(root / "python" / "whyperf")])
    measured.start()
    for item, following in zip(items, [*items[1:], None], strict=True):
        _clear_caches(caches)
        measured.switch_context(item.nodeid)
        started = time.process_time()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        seconds[item.nodeid] = time.process_time() - started
    measured.stop()
    data = measured.get_data()
    reached = {
        str(Path(file).relative_to(root)): {
            line: [test for test in tests if test] for line, tests in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    return reached, seconds, failed


def _together(parts: list[Any]) -> tuple[dict[str, dict[str, list[str]]], dict[str, float], list[str]]:
    """The baselines of parts of the tests as one."""
    reached: dict[str, dict[str, list[str]]] = {}
    seconds: dict[str, float] = {}
    failed: list[str] = []
    for own_reached, own_seconds, own_failed in parts:
        seconds |= own_seconds
        failed += own_failed
        for path, lines in own_reached.items():
            for line, tests in lines.items():
                reached.setdefault(path, {}).setdefault(line, []).extend(tests)
    return reached, seconds, failed


def _caches() -> list[Any]:
    """The caches of functions of whyperf."""
    kind = type(functools.cache(len))
    return [
        cache for cache in gc.get_objects() if isinstance(cache, kind) and str(cache.__module__).startswith("whyperf")
    ]


def _clear_caches(caches: list[Any]) -> None:
    for cache in caches:
        cache.cache_clear()


def _functions(root: Path) -> dict[tuple[str, str, int], list[FunctionType]]:
    """The functions of whyperf that this process has, by file, name and line."""
    found: dict[tuple[str, str, int], list[FunctionType]] = {}
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename.startswith(str(root)):
            code = function.__code__
            found.setdefault((code.co_filename, code.co_qualname, code.co_firstlineno), []).append(function)
    return found


def _top_codes(code: CodeType) -> Iterator[CodeType]:
    """A module, its classes, and the functions directly in them."""
    yield code
    if not code.co_flags & INLINE:
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from _top_codes(constant)


def _own(code: CodeType) -> tuple[object, ...]:
    """What a module or a class does itself, without the functions in it."""
    constants = tuple(repr(value) for value in code.co_consts if not isinstance(value, CodeType))
    return code.co_code, constants, code.co_names


def _lines(code: CodeType) -> Iterator[int]:
    """The lines of a function, with those of the functions in it, except the line that defines it."""
    for _, _, line in code.co_lines():
        if line is not None and line != code.co_firstlineno:
            yield line
    if code.co_name == "<lambda>":
        yield code.co_firstlineno
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _lines(constant)
