"""The options of a flowop: `options="remotehost=$h protocol=tcp wndsz=50k tcp_nodelay"`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from whyperf.profile.errors import suggestion
from whyperf.profile.uperf.quantities import integer, is_perhaps_minutes, leading_integer, time_ns

#: The way that a value is read: `count` by atoi(3), a `number` with a suffix, a `size` also as rand(min,max).
Kind = Literal["flag", "count", "number", "size", "time", "text"]

#: Every option of uperf 1.0.8 (src/parse.c) and of the master branch after it.
KINDS: dict[str, Kind] = {
    "tcp_nodelay": "flag",
    "busy": "flag",
    "idle": "flag",
    "canfail": "flag",
    "non_blocking": "flag",
    "bblog": "flag",
    "sctp_unordered": "flag",
    "sctp_nodelay": "flag",
    "port_per_thread": "flag",
    "size": "size",
    "rsize": "number",
    "nfiles": "number",
    "wndsz": "number",
    "encaps": "number",
    "count": "count",
    "port": "count",
    "conn": "count",
    "repeat": "count",
    "batch_size": "count",
    "timeout": "time",
    "duration": "time",
    "dir": "text",
    "protocol": "text",
    "remotehost": "text",
    "localhost": "text",
    "cc": "text",
    "stack": "text",
    "engine": "text",
    "cipher": "text",
    "method": "text",
    "sctp_rto_min": "number",
    "sctp_rto_max": "number",
    "sctp_rto_initial": "number",
    "sctp_sack_delay": "number",
    "sctp_sack_frequency": "number",
    "sctp_max_burst_size": "number",
    "sctp_max_fragment_size": "number",
    "sctp_hb_interval": "number",
    "sctp_path_mtu": "number",
    "sctp_in_streams": "number",
    "sctp_out_streams": "number",
    "sctp_stream_id": "number",
    "sctp_pr_value": "number",
    "sctp_pr_policy": "text",
}


@dataclass(frozen=True)
class RandomSize:
    """`rand(min,max)`, both in bytes."""

    low_bytes: int
    high_bytes: int


Value = int | str | RandomSize


@dataclass
class Options:
    """The options given, the last one of a name; a flag is 1, times are in ns."""

    given: dict[str, Value] = field(default_factory=dict)
    #: Facts that should be known of how they were read.
    notes: list[str] = field(default_factory=list)

    def has(self, name: str) -> bool:
        """True where a flag is set."""
        return name in self.given

    def number(self, name: str, otherwise: int = 0) -> int:
        """A number or a time."""
        value = self.given.get(name, otherwise)
        assert isinstance(value, int)
        return value

    def text(self, name: str) -> str:
        """A text; empty when not given."""
        return str(self.given.get(name, ""))

    @property
    def size(self) -> int | RandomSize | None:
        """Bytes of an operation."""
        value = self.given.get("size")
        assert not isinstance(value, str)
        return value


def parse_options(text: str, environment: Mapping[str, str]) -> Options:
    """Reads the value of `options=`.

    Raises:
        ValueError: the sentence without file and line.
    """
    found = Options()
    for word in text.replace("\t", " ").split(" "):
        if word and not (word[0].isascii() and word[0].isalpha()):
            found.notes.append(f'"{word}" among the options does not begin with a letter and is ignored, as by uperf')
        elif word:
            _read(word, environment, found)
    return found


def _read(word: str, environment: Mapping[str, str], found: Options) -> None:
    name, equals, value = word.partition("=")
    name = name.lower()
    kind = KINDS.get(name)
    if kind == "flag" and not equals:
        found.given[name] = 1
        return
    if kind is None or kind == "flag":
        hint = "it stands without a value" if kind == "flag" else _unknown(name)
        raise ValueError(f'option "{word}" is not one of uperf\'s; {hint}')
    if not value:
        raise ValueError(f'option "{word}" has no value; write {name}=…')
    if value.startswith("$"):
        value = substituted(value, environment, f"option {name}")
    try:
        found.given[name] = _value(kind, value)
    except ValueError as error:
        raise ValueError(f"{name}={value} {error}") from None
    if kind == "time" and is_perhaps_minutes(value):
        found.notes.append(f"{name}={value} is in milliseconds, as in uperf")
    if kind == "count" and value != str(found.given[name]):
        found.notes.append(f"{name}={value} counts as {found.given[name]}, as in uperf: it takes no suffix")


def substituted(value: str, environment: Mapping[str, str], what: str) -> str:
    """The value of the environment's variable that `value` names behind a `$`.

    Raises:
        ValueError: it is not set, or empty.
    """
    name = value[1:]
    if not environment.get(name):
        hint = f"set it in the environment: {name}=… whyperf run …" if name else "write its name behind the $"
        if name and any(variable.lower() == name for variable in environment):
            hint = "uperf knows variables by their names in small letters only, so " + hint
        raise ValueError(f"{what} takes its value from ${name}, which is not set; {hint}")
    return environment[name]


def _value(kind: Kind, value: str) -> Value:
    match kind:
        case "number":
            return integer(value)
        case "count":
            return leading_integer(value)
        case "time":
            return time_ns(value)
        case "size":
            return _size(value)
    return value


def _size(value: str) -> int | RandomSize:
    if not value.lower().startswith("rand("):
        size = integer(value)
        if size == 0:
            raise ValueError("is no size; give one above 0")
        return size
    low, comma, high = value[len("rand(") :].removesuffix(")").partition(",")
    if not comma or not high or not value.endswith(")"):
        raise ValueError("is not complete; write rand(min,max) without blanks")
    bounds = []
    for bound in (low, high):
        if bound.startswith("$"):
            raise ValueError("has a variable inside, which uperf does not replace; put all of it into one: size=$size")
        try:
            bounds.append(integer(bound))
        except ValueError as error:
            raise ValueError(f'cannot be: "{bound}" {error}') from None
    if not 0 < bounds[0] <= bounds[1]:
        raise ValueError("cannot be: min is at least 1, and max not below it")
    return RandomSize(*bounds)


def _unknown(name: str) -> str:
    return suggestion(name, KINDS).removeprefix("; ")
