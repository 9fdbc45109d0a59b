"""From words to elements: uperf's flat state machine, in which a closing tag only clears a flag.

A missing `</transaction>`, or one too many, is therefore no mistake (uperf 1.0.8, src/parse.c).

The content of a uperf profile, element by element.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from whyperf.profile.errors import ProfileError, suggestion
from whyperf.profile.uperf.options import Options, parse_options, substituted
from whyperf.profile.uperf.quantities import integer, is_perhaps_minutes, time_ns
from whyperf.profile.uperf.tokens import Token, in_one_line, tokenize


@dataclass
class Flowop:
    """A flowop: its type as written, lower-cased; empty until one is given."""

    line: int
    type: str = ""
    options: Options = field(default_factory=Options)


@dataclass
class Transaction:
    """Flowops and how often they are executed."""

    line: int
    iterations: int = 1
    #: Takes the place of `iterations`.
    duration_ns: int | None = None
    #: Executions a second of each virtual user; 0: as fast as it can.
    rate: int = 0
    flowops: list[Flowop] = field(default_factory=list)


@dataclass
class Group:
    """Virtual users that execute the same transactions."""

    line: int
    name: str
    strands: int = 0
    are_processes: bool = False
    transactions: list[Transaction] = field(default_factory=list)


@dataclass
class Tree:
    """The whole profile, and what should be known of how it was read."""

    name: str = ""
    groups: list[Group] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


#: Elements and attributes, known by how a word begins.
ELEMENTS = (
    "<profile", "</profile>", "<group", "</group>", "<transaction", "</transaction", "<flowop", "/>",
)  # fmt: skip
ATTRIBUTES = ("name=", "iterations=", "type=", "options=", "duration=", "nthreads=", "nprocs=", "rate=")
OPENING = ("<profile", "<group", "<transaction", "<flowop")

FLOWOPS = (
    "read", "write", "connect", "disconnect", "accept", "nop", "think", "send", "recv", "sendfile", "sendfilev",
)  # fmt: skip

#: Tables of fixed size in uperf.
MAX_GROUPS = 1024
MAX_TRANSACTIONS = 100
#: More virtual users in a group than this is taken for a mistake.
MAX_VIRTUAL_USERS = 1_000_000


class Symbol(NamedTuple):
    """A word that is known: which element or attribute it is, and an attribute's value."""

    kind: str
    value: str
    line: int


def read(text: str, where: str, environment: Mapping[str, str]) -> Tree:
    """The elements of a profile.

    Raises:
        ProfileError: the first thing that uperf refuses too, naming `where` and the line.
    """
    tokens, notes = tokenize(text, where)
    reader = _Reader(where, environment, Tree(notes=notes))
    for token in tokens:
        reader.take(token)
    if reader.is_open:
        problem = "the text ends without </profile>, which uperf takes for its end too; it may be cut off"
        reader.tree.notes.append(f"{where}: {problem}.")
    return reader.tree


class _Reader:
    """Where in the profile the reading is. `group`, `transaction` and `flowop` outlive their closing tags."""

    def __init__(self, where: str, environment: Mapping[str, str], tree: Tree) -> None:
        self.where = where
        self.environment = environment
        self.tree = tree
        self.is_in_group = False
        self.is_in_transaction = False
        #: True while a profile has begun and not ended.
        self.is_open = False

    def take(self, token: Token) -> None:
        """Goes on by a word."""
        try:
            symbol = self._symbol(token)
            match symbol.kind:
                case "<group":
                    self._begin_group(symbol)
                case "</group>":
                    self.is_in_group = False
                case "<transaction":
                    self._begin_transaction(symbol)
                case "</transaction":
                    self.is_in_transaction = False
                case "<flowop":
                    self._transaction(symbol).flowops.append(Flowop(symbol.line))
                case "<profile" | "</profile>":
                    self.is_open = symbol.kind == "<profile"
                case "/>":
                    pass
                case _:
                    self._attribute(symbol)
        except ValueError as error:
            problem = str(error)
            if "=" in token.text and token.text.endswith(">") and not token.is_quoted:
                problem = f'"{token.text}" has the end of its element in it, for uperf too; put a blank before it'
            raise ProfileError(self.where, f"line {token.line}", in_one_line(problem)) from None

    def _symbol(self, token: Token) -> Symbol:
        text = token.text
        for attribute in ATTRIBUTES:
            if text.startswith(attribute):
                value = text.partition("=")[2]
                if value.startswith("$"):
                    value = substituted(value, self.environment, attribute.removesuffix("="))
                return Symbol(attribute, value, token.line)
        for element in ELEMENTS:
            if text.startswith(element):
                _refuse_lost(text, element)
                return Symbol(element, "", token.line)
        raise ValueError(_unknown(text))

    def _begin_group(self, symbol: Symbol) -> None:
        if len(self.tree.groups) == MAX_GROUPS:
            raise ValueError(f"there are over {MAX_GROUPS} groups, as many as uperf takes; use fewer")
        self.tree.groups.append(Group(symbol.line, f"Group{len(self.tree.groups)}"))
        self.is_in_group = True

    def _begin_transaction(self, symbol: Symbol) -> None:
        transactions = self._group(symbol).transactions
        if len(transactions) == MAX_TRANSACTIONS:
            raise ValueError(f"the group has over {MAX_TRANSACTIONS} transactions, as many as uperf takes; use fewer")
        transactions.append(Transaction(symbol.line))
        self.is_in_transaction = True

    def _attribute(self, symbol: Symbol) -> None:
        kind, value, line = symbol
        match kind:
            case "name=" if self.is_in_group:
                self._group(symbol).name = in_one_line(value)
            case "name=":
                self.tree.name = in_one_line(value)
            case "nthreads=" | "nprocs=":
                group = self._group(symbol)
                group.strands = self._number(symbol)
                group.are_processes |= kind == "nprocs="
                if group.strands > MAX_VIRTUAL_USERS:
                    raise ValueError(f"{kind}{value} is more than {MAX_VIRTUAL_USERS} virtual users; use fewer")
            case "iterations=":
                self._transaction(symbol).iterations = self._number(symbol)
            case "rate=":
                self._transaction(symbol).rate = self._number(symbol)
            case "duration=":
                self._transaction(symbol).duration_ns = self._time(symbol)
            case "type=":
                self._flowop(symbol).type = _flowop_type(value)
            case "options=":
                options = parse_options(value, self.environment)
                self.tree.notes.extend(f"{self.where}: line {line}: {in_one_line(note)}." for note in options.notes)
                self._flowop(symbol).options.given |= options.given

    def _group(self, symbol: Symbol) -> Group:
        if not self.is_in_group:
            raise ValueError(f"{_shown(symbol)} stands outside a group; put it between <group …> and </group>")
        return self.tree.groups[-1]

    def _transaction(self, symbol: Symbol) -> Transaction:
        if not self.is_in_transaction:
            problem = "stands outside a transaction; put it between <transaction …> and </transaction>"
            raise ValueError(f"{_shown(symbol)} {problem}")
        transactions = self.tree.groups[-1].transactions
        if not transactions:
            # The last transaction was never closed, and a new group has begun.
            raise ValueError(f"{_shown(symbol)} stands in a group without a transaction; add <transaction …> before it")
        return transactions[-1]

    def _flowop(self, symbol: Symbol) -> Flowop:
        transactions = self.tree.groups[-1].transactions if self.tree.groups else []
        flowops = transactions[-1].flowops if transactions else []
        if not flowops:
            raise ValueError(f"{_shown(symbol)} stands outside a flowop; put it between <flowop and />")
        return flowops[-1]

    def _number(self, symbol: Symbol) -> int:
        try:
            return integer(symbol.value)
        except ValueError as error:
            raise ValueError(f"{symbol.kind}{symbol.value} {error}") from None

    def _time(self, symbol: Symbol) -> int:
        try:
            value_ns = time_ns(symbol.value)
        except ValueError as error:
            raise ValueError(f"{symbol.kind}{symbol.value} {error}") from None
        if is_perhaps_minutes(symbol.value):
            note = f"{symbol.kind}{symbol.value} is in milliseconds, as in uperf"
            self.tree.notes.append(f"{self.where}: line {symbol.line}: {in_one_line(note)}.")
        return value_ns


def _flowop_type(value: str) -> str:
    name = value.lower()
    if name in FLOWOPS:
        return name
    quotes = "; leave the single quotes away, or write double ones" if "'" in value else suggestion(name, FLOWOPS)
    raise ValueError(f'flowop "{value}" is unknown{quotes}')


def _refuse_lost(text: str, element: str) -> None:
    """Refuses a word that holds a second element, which uperf would lose without a sound."""
    rest = text[len(element) :]
    for other in OPENING:
        if other in rest:
            problem = f"holds two elements, and uperf would lose the second; put a blank before {other}"
            raise ValueError(f'"{text}" {problem}')
    if "=" in rest:
        raise ValueError(f'"{text}" holds an attribute that uperf would lose; put a blank behind {element}')


def _unknown(text: str) -> str:
    if text.startswith(">"):
        hint = 'uperf needs a blank or a new line after ">"'
    elif text.startswith("<!doctype"):
        hint = "uperf takes no document type; remove it"
    elif "=" in text and not text.startswith("<"):
        name = text.partition("=")[0]
        hint = "there is no such attribute" + suggestion(name, [word.removesuffix("=") for word in ATTRIBUTES])
    else:
        hint = "elements are profile, group, transaction and flowop, and a flowop ends with />"
    return f'"{text[:60]}" is unknown; {hint}'


def _shown(symbol: Symbol) -> str:
    return f"{symbol.kind}{symbol.value}" if symbol.kind.endswith("=") else f"{symbol.kind}>"
