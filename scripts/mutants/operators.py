"""The mutants of a source file, by mutmut's operators and five of our own.

mutmut's own runner leaves out decorated functions and everything outside functions, such as constants. Strings,
annotations and decorators are never changed, nor is `strict=True` of `zip`, which changes nothing where the lengths are
equal by construction.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation import mutators


@dataclass(frozen=True)
class Mutant:
    """One change of one place."""

    path: str
    """From the root of the repository."""
    line: int
    column: int
    kind: str
    before: str
    after: str
    text: str
    """The line that the change starts in."""
    code: str
    """The whole changed file; empty where it is not asked for."""

    @property
    def key(self) -> tuple[str, str, int, str, str, str]:
        """Finds the mutant again when lines above it have changed."""
        return (self.path, self.text.strip(), self.column, self.kind, self.before, self.after)


def number(node: cst.BaseNumber) -> Iterator[cst.BaseNumber]:
    """1 more, and 1 less."""
    yield from mutators.operator_number(node)
    if isinstance(node, cst.Integer | cst.Float) and (value := node.evaluated_value) >= 1:
        yield node.with_changes(value=repr(value - 1))


#: mutmut moves the boundary; these turn the comparison around.
OPPOSITES: dict[type[cst.CSTNode], type[cst.BaseCompOp]] = {
    cst.LessThan: cst.GreaterThanEqual,
    cst.LessThanEqual: cst.GreaterThan,
    cst.GreaterThan: cst.LessThanEqual,
    cst.GreaterThanEqual: cst.LessThan,
}


def opposite(node: cst.ComparisonTarget) -> Iterator[cst.ComparisonTarget]:
    """`<` becomes `>=`."""
    if found := OPPOSITES.get(type(node.operator)):
        yield node.with_changes(operator=found())


def condition(node: cst.If | cst.While | cst.IfExp | cst.CompIf) -> Iterator[cst.CSTNode]:
    """The condition becomes its negation, unless a comparison or a `not` in it already does."""
    if isinstance(node.test, cst.Comparison | cst.UnaryOperation | cst.BooleanOperation):
        return
    test = node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    yield node.with_changes(test=cst.UnaryOperation(cst.Not(), test))


def returned(node: cst.Return) -> Iterator[cst.Return]:
    """`return None` in place of a value."""
    if node.value is not None and not (isinstance(node.value, cst.Name) and node.value.value == "None"):
        space = cst.SimpleWhitespace(" ")
        yield node.with_changes(value=cst.Name("None"), whitespace_after_return=space)


def removed(node: cst.Expr) -> Iterator[cst.BaseSmallStatement]:
    """A call whose value is not used is left out."""
    if isinstance(node.value, cst.Call):
        yield cst.Pass()


#: Kind of mutant, the type of the nodes that it may change, and what makes changed nodes of one.
OPERATORS: tuple[tuple[str, Any, Callable[[Any], Iterable[cst.CSTNode]]], ...] = (
    ("number", cst.BaseNumber, number),
    ("boundary or operator", cst.CSTNode, mutators.operator_swap_op),
    ("opposite", cst.ComparisonTarget, opposite),
    ("keyword", cst.CSTNode, mutators.operator_keywords),
    ("true or false", cst.Name, mutators.operator_name),
    ("not", cst.UnaryOperation, mutators.operator_remove_unary_ops),
    ("condition", (cst.If, cst.While, cst.IfExp, cst.CompIf), condition),
    ("return", cst.Return, returned),
    ("call", cst.Expr, removed),
)


class _Collector(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, int, str, cst.CSTNode, cst.CSTNode]] = []
        self._functions = 0

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Annotation | cst.Decorator | cst.BaseString) and not isinstance(
            node, cst.FormattedString
        ):
            return False
        if isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value == "strict":
            return False
        self._functions += isinstance(node, cst.FunctionDef | cst.Lambda)
        # Outside functions, `|` makes a union of types.
        is_union = isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.BitOr)
        if not (is_union and not self._functions):
            for kind, types, operator in OPERATORS:
                if isinstance(node, types):
                    for changed in operator(node):
                        start = self.get_metadata(PositionProvider, node).start
                        self.found.append((start.line, start.column, kind, node, changed))
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        self._functions -= isinstance(original_node, cst.FunctionDef | cst.Lambda)


class Source:
    """A file and its mutants."""

    def __init__(self, root: Path, path: Path) -> None:
        """Paths of mutants start at `root`."""
        self.path = str(path.relative_to(root))
        text = path.read_text()
        self._lines = text.splitlines()
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        collector = _Collector()
        wrapper.visit(collector)
        self._module = wrapper.module
        self._found = collector.found

    def __len__(self) -> int:
        """How many mutants it has."""
        return len(self._found)

    def mutant(self, index: int, *, with_code: bool = False) -> Mutant:
        """A mutant, `with_code` with the whole changed file; they are in the order of the file."""
        line, column, kind, node, changed = self._found[index]
        before, after = (_shown(self._module.code_for_node(each)) for each in (node, changed))
        code = ""
        if with_code:
            module = self._module.deep_replace(node, changed)
            assert isinstance(module, cst.Module)
            code = module.code
        return Mutant(self.path, line, column, kind, before, after, self._lines[line - 1], code)


def _shown(code: str) -> str:
    """A piece of code on one line."""
    return " ".join(code.split())
