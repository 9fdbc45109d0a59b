"""Profiles of the shapes that uperf ships, and that wrappers of uperf write; the texts are our own.

What stands in a profile of a shape is how such profiles are written: variables, cases, quotes,
elements that are left open. `VARIABLES` has a value for each variable.
"""

from collections.abc import Mapping

from whyperf.profile.uperf.read import read
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


def connected_group(group: str, options: str, transaction: str, *flowops: str) -> str:
    """A group that connects, does one transaction and disconnects."""
    inside = "\n".join(f"      {flowop}" for flowop in flowops)
    return f"""  <group {group}>
    <transaction iterations="1">
      <flowop type="connect" options="{options}"/>
    </transaction>
    <transaction {transaction}>
{inside}
    </transaction>
    <transaction iterations="1">
      <flowop type="disconnect" />
    </transaction>
  </group>"""


BULK = """<?xml version="1.0"?>
<profile name="Bulk">
  <group nthreads="$nthr">
    <transaction iterations="1">
      <flowop type="connect" options="remotehost=$h protocol=$proto
          wndsz=64k  tcp_nodelay"/>
    </transaction>
    <transaction duration="$dur">
      <flowop type="write" options="count=10 size=8k"/>
    </transaction>
    <transaction iterations="1">
      <flowop type="disconnect" />
    </transaction>
  </group>
</profile>
"""

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

CONNECT_REQUEST_RESPONSE = """<profile name="TCP_CRR">
  <group nthreads="2">
    <transaction duration="$dur">
      <flowop type="connect" options="remotehost=$h protocol=tcp"/>
      <flowop type="write" options="size=200"/>
      <flowop type="read" options="size=1000"/>
      <flowop type="disconnect" />
    </transaction>
  </group>
</profile>
"""

CONNECT = """<?xml version="1.0"?>
<profile name="connect">
  <group nthreads="$nthr">
    <transaction iterations="$iter">
      <flowop type="connect" options="remotehost=$h protocol=tcp"/>
      <flowop type="disconnect" />
    </transaction>
  </group>
</profile>
"""

ACCEPT = CONNECT.replace('type="connect"', 'type="accept"')

TERMINAL = """<?xml version="1.0"?>
<profile name="terminal">
  <group nthreads="1">
    <transaction iterations="1">
      <flowop type="connect" options="remotehost=$h protocol=tcp
\t    wndsz=100k tcp_nodelay"/>
      <flowop type="write" options="size=1" />
      <flowop type="think" options="duration=200ms idle"/>
      <flowop type="read" options="size=4k" />
      <flowop type="think" options="duration=1ms busy"/>
      <flowop type="disconnect" />
    </transaction>
  </group>

</profile>
"""

WEB = """<?xml version="1.0"?>
<profile name="web">

<group nthreads="2">
\t<transaction>
\t  \t<flowop type="connect" options="remotehost=$h protocol=tcp" />
\t</transaction>
\t<transaction iterations="7">
\t\t<flowop type="write" options="size=250" />
\t\t<flowop type="read"  options="size=100"/>

\t\t<flowop type="write" options="size=250" />
\t\t<flowop type="read"  options="size=2k"/>
\t</transaction>
\t<transaction iterations="3">
\t\t<flowop type="write" options="size=250" />
\t\t<flowop type="read"  options="size=40"/>
\t</transaction>
\t<transaction>
\t  \t<flowop type="disconnect" options="remotehost=$h protocol=tcp"/>
\t</transaction>
</group>

</profile>
"""

DATABASE = """<?xml version="1.0"?>
<profile name="database">
  <group nthreads="50">
    <transaction iterations="1">
      <flowop type="connect" options="remotehost=$h protocol=tcp
          tcp_nodelay "/>
    </transaction>
    <transaction iterations="20">
      <flowop type="read" options="size=70"/>
      <flowop type="read" options="size=400"/>
      <flowop type="write" options="size=180"/>
      <flowop type="read" options="size=30"/>
      <flowop type="write" options="size=180"/>
    </transaction>
    <transaction iterations="1">
      <flowop type="disconnect" />
    </transaction>
  </group>
</profile>
"""

DIRECTORY = f"""<?xml version="1.0"?>
<profile name="directory">
{
    connected_group(
        'nthreads="10"',
        "remotehost=$h protocol=tcp",
        'iterations="5"',
        '<flowop type="write" options="size=80"/>',
        '<flowop type="think" options="duration=10ms idle" />',
        '<flowop type="read" options="size=320"/>',
        '<flowop type="think" options="duration=10ms busy" />',
    )
}
</profile>
"""

#: Groups that connect to different far hosts.
APART = f"""<?xml version="1.0"?>
<profile name="apart">
{
    connected_group(
        'nthreads="2"',
        "remotehost=$h1 protocol=tcp",
        'iterations="50"',
        '<flowop type="write" options="size=100"/>',
        '<flowop type="read" options="size=200"/>',
    )
}
{
    connected_group(
        'nthreads="1"',
        "remotehost=$h2 protocol=tcp",
        'iterations="30"',
        '<flowop type="write" options="size=1000"/>',
    )
}
</profile>
"""

TWO_HOSTS = """<?xml version="1.0"?>
<profile name="two-hosts">
  <group nthreads="2">
    <transaction>
      <flowop type="connect" options="remotehost=$h1 protocol=tcp"/>
      <flowop type="connect" options="conn=1 remotehost=$h2 protocol=tcp"/>
    </transaction>
    <transaction duration="$dur">
      <flowop type="write" options="size=300"/>
      <flowop type="read" options="conn=1 size=300"/>
    </transaction>
    <transaction>
      <flowop type="disconnect" />
      <flowop type="disconnect" options="conn=1"/>
    </transaction>
  </group>
</profile>
"""

TWO_GROUPS = """<profile name="two groups">
  <group nthreads="2">
    <transaction iterations="1">
      <flowop type="connect" options="remotehost=$h protocol=tcp wndsz=64k"/>
    </transaction>
    <transaction iterations="10">
      <flowop type="write" options="count=1 size=64k"/>
    </transaction>
    <transaction>
      <flowop type="disconnect" />
    </transaction>
  </group>
  <group nthreads="1">
    <transaction iterations="1">
      <flowop type="connect" options="remotehost=$h protocol=tcp wndsz=64k"/>
      <flowop type="write" options="count=10 size=8k"/>
      <flowop type="disconnect" />
    </transaction>
  </group>
</profile>
"""

VOICE = """<?xml version="1.0"?>
<profile name="voice">
  <group nthreads="4">
    <transaction iterations="1">
      <flowop type="connect" options="remotehost=$h
\tprotocol=udp"/>
    </transaction>
    <transaction duration="$dur" rate="50">
      <flowop type="write" options="size=160"/>
    </transaction>
    <transaction iterations="1">
      <flowop type="disconnect" />
    </transaction>
  </group>
</profile>
"""

#: What is sent, received and exchanged over flows of their own, one after another.
DATAGRAMS = """<?xml version="1.0"?>
<profile name="datagrams">
  <group nthreads="2">
    <transaction iterations="1">
      <flowop type="connect" options="remotehost=$h protocol=udp"/>
    </transaction>
    <transaction iterations="12">
      <flowop type="write" options="size=600"/>
    </transaction>
    <transaction>
      <flowop type="disconnect"/>
    </transaction>
    <transaction iterations="1">
      <flowop type="connect" options="remotehost=$h protocol=udp"/>
    </transaction>
    <transaction iterations="8">
      <flowop type="read" options="size=300"/>
    </transaction>
    <transaction>
      <flowop type="disconnect"/>
      <flowop type="connect" options="conn=1 remotehost=$h protocol=udp"/>
    </transaction>
    <transaction iterations="5">
      <flowop type="read" options="size=300 conn=1"/>
      <flowop type="write" options="size=600 conn=1"/>
    </transaction>
    <transaction>
      <flowop type="disconnect" options="conn=1"/>
    </transaction>
  </group>
</profile>
"""

#: Three flows at a time: two that are named, and one that is not.
LINKS = """<?xml version="1.0"?>
<profile name="links">
  <group nthreads="2">
    <transaction iterations="1">
      <flowop type="connect" options="remotehost=$h protocol=udp conn=1"/>
      <flowop type="connect" options="remotehost=$h protocol=udp conn=2"/>
      <flowop type="connect" options="remotehost=$h protocol=udp"/>
    </transaction>
    <transaction iterations="30">
      <flowop type="write" options="size=100 conn=2"/>
      <flowop type="write" options="size=200"/>
      <flowop type="write" options="size=200"/>
      <flowop type="write" options="size=300 conn=1"/>
      <flowop type="read" options="size=400 conn=2"/>
    </transaction>
    <transaction iterations="1">
      <flowop type="disconnect" options="conn=1"/>
      <flowop type="disconnect" options="conn=2"/>
      <flowop type="disconnect"/>
    </transaction>
  </group>
</profile>
"""

PILE = """<?xml version="1.0"?>
<profile name="pile">
  <group nthreads="3">
    <transaction iterations="10">
      <flowop type="connect" options="remotehost=$h protocol=tcp"/>
    </transaction>
    <transaction  iterations="10">
      <flowop type="disconnect" />
    </transaction>
  </group>
</profile>
"""

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
