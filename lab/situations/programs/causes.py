"""The causes that are injected into programs of others by their own options; the rest is of `lab.situations.causes`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from lab.situations.distributions import log_integer, log_uniform
from lab.situations.programs.served import PIECE_BYTES
from lab.situations.setting import Setting


@dataclass(frozen=True)
class Options:
    """The text that a dose adds to the command lines, and fills into them and into the files."""

    client: tuple[str, ...] = ()
    server: tuple[str, ...] = ()
    fill: Mapping[str, str] = field(default_factory=dict)


Drawing = Callable[[Random, Setting], Options]


@dataclass(frozen=True)
class ProgramCause:
    """A cause that one of the programs can have by its own options: fields as those of `lab.situations.injecting`."""

    name: str
    program: str
    causes: tuple[str, ...]
    because: tuple[str, ...]
    slot: str
    needs: frozenset[str]
    dose: Drawing


def _part(rng: Random) -> float:
    return log_uniform(rng, 0.04, 0.6)


def _rate_bytes(rng: Random, setting: Setting) -> int:
    """A rate in bytes a second that is a part of what the path carries."""
    return max(5_000, round(min(setting.rate_bps, 4e9) / 8 * _part(rng)))


def _buffer_bytes(rng: Random, setting: Setting) -> int:
    return max(4096, round(setting.share_bytes * _part(rng)))


def _pause_us(rng: Random, setting: Setting) -> int:
    """A pause of half to ten times what a piece takes."""
    takes_s = 8 * PIECE_BYTES / min(setting.rate_bps, 4e9)
    return min(400_000, max(50, round(1e6 * takes_s * log_uniform(rng, 0.5, 10))))


_found: list[ProgramCause] = []


def injected_into(
    program: str, causes: str, *, slot: str, needs: str = "", **because: str
) -> Callable[[Drawing], Drawing]:
    """Registers the decorated dose; spaces separate the names of causes and of traits."""

    def add(dose: Drawing) -> Drawing:
        names = tuple(causes.split())
        reasons = tuple(because[name] for name in names[1:])
        name = dose.__name__.replace("_", "-")
        _found.append(ProgramCause(name, program, names, reasons, slot, frozenset(needs.split()), dose))
        return dose

    return add


BOTH_BUFFERS = "The option sets the buffers of both sides."
PAUSES = "A program that pauses by its own clock writes at a rate."


@injected_into("iperf3", "receive_buffer send_buffer", slot="receive window", send_buffer=BOTH_BUFFERS)
def iperf3_window(rng: Random, setting: Setting) -> Options:
    """-w, SO_SNDBUF and SO_RCVBUF of both sides."""
    return Options(client=("-w", str(_buffer_bytes(rng, setting))))


@injected_into(
    "iperf3", "tiny_writes sender_cpu", slot="writes", needs="lan", sender_cpu="What small writes cost is CPU time."
)
def iperf3_small_writes(rng: Random, _: Setting) -> Options:
    """-l, the size of writes and reads."""
    return Options(client=("-l", str(log_integer(rng, 64, 4096))))


@injected_into("iperf3", "asked_rate slow_writer", slot="pace", slow_writer="iperf3 keeps a rate by pauses.")
def iperf3_rate(rng: Random, setting: Setting) -> Options:
    """-b, a rate that iperf3 keeps by pauses."""
    return Options(client=("-b", str(8 * _rate_bytes(rng, setting))))


@injected_into("iperf3", "pacing_rate asked_rate", slot="pace", asked_rate="The user asked for this rate.")
def iperf3_pacing(rng: Random, setting: Setting) -> Options:
    """--fq-rate, SO_MAX_PACING_RATE."""
    return Options(client=("--fq-rate", str(8 * _rate_bytes(rng, setting))))


@injected_into("python", "receive_buffer", slot="receive window")
def python_receive_buffer(rng: Random, setting: Setting) -> Options:
    """SO_RCVBUF of the reader."""
    return Options(server=("--receive-buffer", str(_buffer_bytes(rng, setting))))


@injected_into("python", "send_buffer", slot="send buffer")
def python_send_buffer(rng: Random, setting: Setting) -> Options:
    """SO_SNDBUF of the writer."""
    return Options(client=("--send-buffer", str(_buffer_bytes(rng, setting))))


@injected_into("python", "slow_reader", slot="think")
def python_slow_reader(rng: Random, setting: Setting) -> Options:
    """A reader that sleeps after each piece."""
    return Options(server=("--pause-us", str(_pause_us(rng, setting))))


@injected_into("python", "slow_writer", slot="think")
def python_slow_writer(rng: Random, setting: Setting) -> Options:
    """A writer that sleeps after each piece."""
    return Options(client=("--pause-us", str(_pause_us(rng, setting))))


@injected_into(
    "python", "receiver_cpu slow_reader", slot="think", needs="lan", slow_reader="It is late because it computes."
)
def python_computing_reader(rng: Random, setting: Setting) -> Options:
    """A reader that computes after each piece."""
    return Options(server=("--compute-us", str(_pause_us(rng, setting))))


@injected_into(
    "python", "sender_cpu slow_writer", slot="think", needs="lan", slow_writer="It writes late because it computes."
)
def python_computing_writer(rng: Random, setting: Setting) -> Options:
    """A writer that computes before each piece."""
    return Options(client=("--compute-us", str(_pause_us(rng, setting))))


@injected_into(
    "python", "tiny_writes sender_cpu", slot="writes", needs="lan", sender_cpu="What small writes cost is CPU time."
)
def python_small_writes(rng: Random, _: Setting) -> Options:
    """Writes of 64 bytes to 8 KB."""
    return Options(client=("--piece", str(log_integer(rng, 64, 8192))))


@injected_into(
    "python", "read_size receiver_cpu", slot="reads", needs="lan", receiver_cpu="What small reads cost is CPU time."
)
def python_small_reads(rng: Random, _: Setting) -> Options:
    """Reads of 64 bytes to 4 KB."""
    return Options(server=("--piece", str(log_integer(rng, 64, 4096))))


@injected_into("python-requests", "think_time", slot="think")
def python_think_time(rng: Random, setting: Setting) -> Options:
    """A pause after each answer, 20 % to ten times of what an exchange takes."""
    takes_s = setting.rtt_s + 8 * 32_768 / min(setting.rate_bps, 4e9)
    return Options(client=("--pause-us", str(max(50, round(1e6 * takes_s * log_uniform(rng, 0.2, 10))))))


@injected_into("python-requests", "nagle_delayed_ack", slot="pieces")
def python_nagle(rng: Random, _: Setting) -> Options:
    """A head and a body in two writes, with Nagle's rule; without the cause the client switches it off."""
    head = str(log_integer(rng, 40, 400))
    return Options(client=("--head", head), server=("--head", head))


@injected_into("web", "send_buffer", slot="send buffer")
def nginx_send_buffer(rng: Random, setting: Setting) -> Options:
    """sndbuf of nginx."""
    return Options(fill={"listen": f" sndbuf={_buffer_bytes(rng, setting)}"})


@injected_into("web", "asked_rate slow_writer", slot="pace", slow_writer=PAUSES)
def nginx_rate(rng: Random, setting: Setting) -> Options:
    """limit_rate of nginx."""
    return Options(fill={"serve": f"limit_rate {_rate_bytes(rng, setting)};"})


@injected_into("web", "slow_reader", slot="think")
def curl_rate(rng: Random, setting: Setting) -> Options:
    """--limit-rate of curl, which reads late."""
    return Options(client=("--limit-rate", str(_rate_bytes(rng, setting))))


@injected_into("web-h2", "slow_reader", slot="think")
def curl_rate_of_streams(rng: Random, setting: Setting) -> Options:
    """The same by HTTP/2."""
    return Options(client=("--limit-rate", str(_rate_bytes(rng, setting))))


@injected_into("web-h2", "asked_rate slow_writer", slot="pace", slow_writer=PAUSES)
def nginx_rate_of_streams(rng: Random, setting: Setting) -> Options:
    """limit_rate by HTTP/2."""
    return Options(fill={"serve": f"limit_rate {_rate_bytes(rng, setting)};"})


@injected_into("haproxy", "slow_writer asked_rate", slot="pace", asked_rate="The server behind it keeps a rate.")
def slow_server_behind(rng: Random, setting: Setting) -> Options:
    """limit_rate of the server behind the proxy."""
    return Options(fill={"serve": f"limit_rate {_rate_bytes(rng, setting)};"})


@injected_into("haproxy", "slow_reader", slot="think")
def curl_rate_of_proxy(rng: Random, setting: Setting) -> Options:
    """--limit-rate of curl."""
    return Options(client=("--limit-rate", str(_rate_bytes(rng, setting))))


@injected_into("rsync", "asked_rate slow_writer", slot="pace", slow_writer=PAUSES)
def rsync_rate(rng: Random, setting: Setting) -> Options:
    """--bwlimit, in units of 1,024 bytes a second."""
    return Options(client=(f"--bwlimit={max(5, _rate_bytes(rng, setting) // 1024)}",))


@injected_into(
    "ssh", "sender_cpu receiver_cpu", slot="cpu", needs="lan", receiver_cpu="Both sides compute for each byte."
)
def ssh_cipher(rng: Random, _: Setting) -> Options:
    """A cipher that costs much."""
    return Options(fill={"cipher": rng.choice(("3des-cbc", "aes256-cbc"))})


@injected_into("postgresql", "slow_reader", slot="think")
def slow_consumer(rng: Random, setting: Setting) -> Options:
    """The program behind psql reads a piece and sleeps."""
    program = (
        f"import sys, time\nwhile sys.stdin.buffer.read({PIECE_BYTES}): time.sleep({_pause_us(rng, setting) / 1e6})"
    )
    return Options(fill={"reader": f"@python@ -S -c '{program}'"})


CAUSES = tuple(_found)
"""All of them, in the order of this file."""
