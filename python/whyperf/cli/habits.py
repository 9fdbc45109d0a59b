"""What somebody used to iperf3 meant."""

from collections.abc import Sequence

from whyperf.cli import run

_NO_SERVER = "whyperf starts the far end over ssh, no server is needed: `whyperf run HOST`"
HABITS = {
    "-c": "the host is named alone: `whyperf run HOST`, or `whyperf run PROFILE --host HOST`",
    "-s": _NO_SERVER,
    "-u": "datagrams are a workload: `whyperf run udp-stream --host HOST`",
}
HABITS |= {
    "-b": "the application's pace is a factor: `--set write_rate_bps=10M`; a path's rate is path_rate_bps",
    "-p": "--port names the far host's port for data; connections are -P",
    "-J": "it is --json",
    "-M": "the segment size is a factor: `--set mss_bytes=1400`",
    "-O": "the warm-up is a factor: `--set warmup_s=2`; there is one already",
    "-Z": "sending without a copy is a factor: `--set send_call=sendfile` or zero_copy=true",
    "-A": "CPUs are factors: `--set near_cpus=0 --set far_cpus=1`",
    "-S": "the code point is a factor: `--set dscp=46`",
    "--bidir": "both directions at once are a workload: `whyperf run bidirectional`",
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
