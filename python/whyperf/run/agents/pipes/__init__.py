"""The pipes to an agent: commands whose standard input and output are those of the agent on a host.

[kinds] has the kinds of pipes, [push] finds the agent of a host or copies ours there, [calls] makes the single calls
of a pipe's command, [hosts] checks the names of hosts and resolves them.
"""

from whyperf.run.agents.pipes.binary import agent_binary, local
from whyperf.run.agents.pipes.kinds import SHOWN_LENGTH, SSH, PipeKind, by_name, refuse_unusable_host
from whyperf.run.agents.pipes.push import NO_AGENT

__all__ = [
    "NO_AGENT",
    "SHOWN_LENGTH",
    "SSH",
    "PipeKind",
    "address_of",
    "agent_binary",
    "by_name",
    "local",
    "refuse_unusable_host",
    "ssh",
]


def ssh(host: str, netns: str | None = None) -> list[str]:
    """Command of an agent on ``host`` by ssh, as `PipeKind.argv`."""
    return SSH.argv(host, netns)


def address_of(host: str, ip_version: int) -> str:
    """Numeric address of an ssh host for data connections, as `PipeKind.address_of`."""
    return SSH.address_of(host, ip_version)
