"""What somebody used to iperf3 meant."""

from collections.abc import Sequence

from whyperf.cli import run

_NO_SERVER = "whyperf starts the far end over ssh, no server is needed: `whyperf run HOST`"
HABITS = {
    "-c": "the host is named alone: `whyperf run HOST`, or `whyperf run PROFILE --host HOST`",
    "-s": _NO_SERVER,
    "-u": "datagrams are a workload: `whyperf run udp-stream --host HOST`",
}
HABITS |= {"--client": HABITS["-c"], "--server": _NO_SERVER, "--udp": HABITS["-u"]}
"""By option of iperf3 that `run` does not have."""


def hint(verb: str | None, option: str | None, message: str, given: Sequence[str]) -> str | None:
    """What to write instead of a command line that click refused with `message`; None where that is not known."""
    if verb not in {None, run.NAME}:
        return None
    if option in HABITS:
        return HABITS[option]
    words = [word for word in given[1:] if not word.startswith("-")]
    if verb is not None and "unexpected extra argument" in message and len(words) == len(given) - 1 == 2:
        return f"a profile and a host: `whyperf run {words[0]} --host {words[1]}`"
    return None
