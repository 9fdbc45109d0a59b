"""Profiles of the shapes that uperf ships, and that wrappers of uperf write; the texts are our own.

What stands in a profile of a shape is how such profiles are written: variables, cases, quotes,
elements that are left open. `VARIABLES` has a value for each variable.
"""

from collections.abc import Mapping

from whyperf.profile.uperf.elements import read
from whyperf.profile.uperf.translate import Translation, translate

VARIABLES: dict[str, str] = {
    "h": "far.example",
    "h1": "far.example",
    "h2": "other.example",
    "proto": "tcp",
    "nthr": "3",
    "iter": "5",
    "dur": "400ms",
    "size": "2k",
}


def translated(text: str, environment: Mapping[str, str] = VARIABLES) -> Translation:
    """The workload of a profile that is named x.xml."""
    return translate(read(text, "x.xml", environment), "x", "x.xml")


def flowops(*flowops: str, group: str = 'nthreads="1"', transaction: str = "") -> str:
    """A profile of one transaction, which connects first."""
    connect = '<flowop type="connect" options="remotehost=h protocol=tcp" />'
    inside = "\n".join(flowops)
    return (
        f'<profile name="p">\n<group {group} >\n<transaction>\n{connect}\n</transaction>\n'
        f"<transaction {transaction} >\n{inside}\n</transaction>\n</group>\n</profile>\n"
    )


TO = "remotehost=$h protocol=tcp"
ONCE = 'iterations="1"'


def transaction(attributes: str, inside: str) -> str:
    """A transaction; flowops have `;` between them, their options behind the type."""
    lines = [f"    <transaction {attributes}>" if attributes else "    <transaction>"]
    for flowop in map(str.strip, inside.split(";")):
        kind, _, options = flowop.partition(" ")
        given = f'options="{options}"' if options else ""
        lines.append(f'      <flowop type="{kind}" {given}/>')
    return "\n".join([*lines, "    </transaction>"])


def group(threads: object, *transactions: str) -> str:
    """A group of virtual users."""
    return "\n".join([f'  <group nthreads="{threads}">', *transactions, "  </group>"])


def connected(threads: object, options: str, *transactions: str) -> str:
    """A group that connects, does its transactions and disconnects."""
    return group(threads, transaction(ONCE, f"connect {options}"), *transactions, transaction(ONCE, "disconnect"))


def named(name: str, *groups: str) -> str:
    """A profile of these groups."""
    return "\n".join(['<?xml version="1.0"?>', f'<profile name="{name}">', *groups, "</profile>", ""])


BULK = named(
    "Bulk",
    connected(
        "$nthr",
        "remotehost=$h protocol=$proto\n          wndsz=64k  tcp_nodelay",
        transaction('duration="$dur"', "write count=10 size=8k"),
    ),
)

REQUEST_RESPONSE = """<?xml version="1.0"?>
<Profile Name="Request-Response">
  <!-- one request,
       one response -->
  <Group nThreads="$nthr">
    <Transaction iterations="1">
      <Flowop Type="Connect" Options="remotehost=$h protocol=$proto tcp_nodelay"/>
    </Transaction>
    <Transaction iterations="100">
      <flowop type="write" options="size=90"/>
      <flowop type="read" options="size=90"/>
    </Transaction>
    <transaction iterations="1">
      <flowop type="disconnect" />
    </transaction>
  </Group>
</Profile>
"""

CONNECT_REQUEST_RESPONSE = named(
    "TCP_CRR",
    group(2, transaction('duration="$dur"', f"connect {TO}; write size=200; read size=1000; disconnect")),
)

CONNECT = named("connect", group("$nthr", transaction('iterations="$iter"', f"connect {TO}; disconnect")))

ACCEPT = CONNECT.replace('type="connect"', 'type="accept"')

TERMINAL = named(
    "terminal",
    group(
        1,
        transaction(
            ONCE,
            "connect remotehost=$h protocol=tcp\n\t    wndsz=100k tcp_nodelay; write size=1; "
            "think duration=200ms idle; read size=4k; think duration=1ms busy; disconnect",
        ),
    ),
)

WEB = named(
    "web",
    connected(
        2,
        TO,
        transaction('iterations="7"', "write size=250; read size=100; write size=250; read size=2k"),
        transaction('iterations="3"', "write size=250; read size=40"),
    ),
)

DATABASE = named(
    "database",
    connected(
        50,
        f"{TO} tcp_nodelay ",
        transaction('iterations="20"', "read size=70; read size=400; write size=180; read size=30; write size=180"),
    ),
)

THINKS = "write size=80; think duration=10ms idle; read size=320; think duration=10ms busy"
DIRECTORY = named("directory", connected(10, TO, transaction('iterations="5"', THINKS)))

#: Groups that connect to different far hosts.
APART = named(
    "apart",
    connected(2, "remotehost=$h1 protocol=tcp", transaction('iterations="50"', "write size=100; read size=200")),
    connected(1, "remotehost=$h2 protocol=tcp", transaction('iterations="30"', "write size=1000")),
)

TWO_HOSTS = named(
    "two-hosts",
    group(
        2,
        transaction("", "connect remotehost=$h1 protocol=tcp; connect conn=1 remotehost=$h2 protocol=tcp"),
        transaction('duration="$dur"', "write size=300; read conn=1 size=300"),
        transaction("", "disconnect; disconnect conn=1"),
    ),
)

TWO_GROUPS = named(
    "two groups",
    connected(2, f"{TO} wndsz=64k", transaction('iterations="10"', "write count=1 size=64k")),
    group(1, transaction(ONCE, f"connect {TO} wndsz=64k; write count=10 size=8k; disconnect")),
)

VOICE = named(
    "voice", connected(4, "remotehost=$h\n\tprotocol=udp", transaction('duration="$dur" rate="50"', "write size=160"))
)

OVER_UDP = "remotehost=$h protocol=udp"
#: What is sent, received and exchanged over flows of their own, one after another.
DATAGRAMS = named(
    "datagrams",
    group(
        2,
        transaction(ONCE, f"connect {OVER_UDP}"),
        transaction('iterations="12"', "write size=600"),
        transaction("", "disconnect"),
        transaction(ONCE, f"connect {OVER_UDP}"),
        transaction('iterations="8"', "read size=300"),
        transaction("", f"disconnect; connect conn=1 {OVER_UDP}"),
        transaction('iterations="5"', "read size=300 conn=1; write size=600 conn=1"),
        transaction("", "disconnect conn=1"),
    ),
)

#: Three flows at a time: two that are named, and one that is not.
EXCHANGE = "write size=100 conn=2; write size=200; write size=200; write size=300 conn=1; read size=400 conn=2"
LINKS = named(
    "links",
    group(
        2,
        transaction(ONCE, f"connect {OVER_UDP} conn=1; connect {OVER_UDP} conn=2; connect {OVER_UDP}"),
        transaction('iterations="30"', EXCHANGE),
        transaction(ONCE, "disconnect conn=1; disconnect conn=2; disconnect"),
    ),
)

PILE = named(
    "pile", group(3, transaction('iterations="10"', f"connect {TO}"), transaction(' iterations="10"', "disconnect"))
)

#: As the operators of clusters write them: no quotes, processes, a transaction that is never closed.
OPERATOR_STREAM = """<?xml version=1.0?>
<profile name="stream-tcp-1024-1024-2">
<group nprocs="2">
<transaction iterations="1">
<flowop type=connect options="remotehost=$h protocol=tcp port=30000"/>
</transaction>
<transaction duration="300ms">
<flowop type=write options="count=16 size=1024"/>
</transaction>
<transaction iterations="1">
<flowop type=disconnect />
</transaction>
</group>
</profile>
"""

OPERATOR_RR = OPERATOR_STREAM.replace("stream-", "rr-").replace(
    '<flowop type=write options="count=16 size=1024"/>\n</transaction>',
    '<flowop type=write options="size=1024"/>\n<flowop type=read  options="size=1024"/>',
)

SHAPES: Mapping[str, str] = {
    "bulk": BULK,
    "request-response": REQUEST_RESPONSE,
    "connect-request-response": CONNECT_REQUEST_RESPONSE,
    "connect": CONNECT,
    "accept": ACCEPT,
    "terminal": TERMINAL,
    "web": WEB,
    "database": DATABASE,
    "directory": DIRECTORY,
    "two-hosts": TWO_HOSTS,
    "two-groups": TWO_GROUPS,
    "voice": VOICE,
    "datagrams": DATAGRAMS,
    "links": LINKS,
    "pile": PILE,
    "operator-stream": OPERATOR_STREAM,
    "operator-rr": OPERATOR_RR,
}
