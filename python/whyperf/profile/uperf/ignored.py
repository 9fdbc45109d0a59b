"""Options that have no part in a run: those that uperf ignores too, and those that whyperf lacks."""

from whyperf.profile.uperf.elements import Flowop

#: Flowops of which uperf uses an option; elsewhere it stores the value and never looks at it again.
USED_BY: dict[str, frozenset[str]] = {
    name: frozenset(flowops.split())
    for name, flowops in {
        "remotehost": "connect accept",
        "protocol": "connect accept",
        "tcp_nodelay": "connect accept",
        "wndsz": "connect accept",
        "sctp_nodelay": "connect accept",
        "sctp_in_streams": "connect accept",
        "sctp_out_streams": "connect accept",
        "cc": "connect accept",
        "port": "connect accept",
        "size": "read write send recv sendfile",
        "rsize": "read write send recv",
        "duration": "think",
        "busy": "think",
        "idle": "think",
        "timeout": "read",
        "dir": "sendfile",
        "conn": "connect accept disconnect read write send recv sendfile",
        "repeat": "read write",
        "canfail": "connect accept disconnect read write send recv sendfile",
        "count": "connect accept disconnect read write send recv sendfile think nop",
    }.items()
}
#: Options that only some protocols have; TLS is one of TCP's connections.
ONLY = {"tcp_nodelay": ("tcp", "tls"), "cc": ("tcp", "tls"), "repeat": ("udp", "sctp"), "non_blocking": ("udp",)}
#: Options of protocol=ssl.
OF_SSL = frozenset({"engine", "cipher", "method"})
#: Options without a part: first those that uperf itself does not use on Linux over TCP and UDP.
NO_PART = {
    "nfiles": "uperf uses it on Solaris only",
    "localhost": "uperf uses it for RDS only",
    "stack": "it exists on FreeBSD only",
    "bblog": "it exists on FreeBSD only",
    "encaps": "it exists on FreeBSD only",
    "engine": "the agent's own library encrypts, or the kernel (--set ktls=both)",
    "cipher": "uperf never uses it; whyperf takes --set tls_cipher=NAME",
    "method": "uperf never uses it; whyperf takes --set tls_version=1.2 or 1.3",
    "batch_size": "each write is a call and a message of its own",
    "port_per_thread": "every virtual user has connections of its own here anyway",
    "port": "whyperf lets the kernel choose the port of the data, or takes --port",
    "rsize": "the far side reads what a write sends, in calls as large",
    "non_blocking": "how threads wait is the factor io_model",
}


def ignored(flowop: Flowop, protocol: str) -> list[tuple[str, str]]:
    """The options of a flowop without a part in the run, each with the reason."""
    found: list[tuple[str, str]] = []
    for name in flowop.options.given:
        reason = _reason(name, flowop, protocol)
        if reason:
            found.append((name, reason))
    return found


def _reason(name: str, flowop: Flowop, protocol: str) -> str:
    own = _protocol_of(name)
    if own and own != {"tls": "ssl"}.get(protocol, protocol):
        return f"it is for protocol={own}"
    if name in USED_BY and flowop.type not in USED_BY[name]:
        return f"uperf does not use it in {flowop.type}"
    if protocol not in ONLY.get(name, (protocol,)):
        return f"it is for {ONLY[name][0]}, in uperf too"
    if name.startswith("sctp_") and name not in USED_BY:
        return "whyperf leaves it to the kernel (sysctl net.sctp)"
    return NO_PART.get(name, "")


def _protocol_of(name: str) -> str:
    """The protocol that alone has an option; empty where others have it too, or leave it to the messages of `ONLY`."""
    if name.startswith("sctp_") or name == "batch_size":
        return "sctp"
    return "ssl" if name in OF_SSL else ""
