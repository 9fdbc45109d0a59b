"""What a uperf profile becomes: groups, transactions, steps, factors, and what is reported or refused."""
# ruff: noqa: E501 - a case is a line.

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.unit.profile.uperf.uperf_profiles import APART, SHAPES, VARIABLES, VOICE, flowops, translated
from whyperf.profile.errors import ProfileError

SCHEMA = json.loads((Path(__file__).parents[4] / "schemas" / "request.json").read_text(encoding="utf-8"))
OVER_UDP = {"voice", "datagrams", "links"}
OF_THE_SCHEMA = jsonschema.Draft202012Validator({"$ref": "#/$defs/Workload", "$defs": SCHEMA["$defs"]})


def assert_of_the_schema(workload: object) -> None:
    """The workload is one that the agent understands."""
    OF_THE_SCHEMA.validate(workload)


def transactions(text: str) -> Any:
    """The transactions of the first group."""
    found: Any = translated(text).workload["groups"][0]["transactions"]
    return found


def shown(transaction: Any) -> str:
    """How often a transaction runs, and its steps: `5 × | write 0 8192 B ×10 ?, think 2 ms`; `?` marks what may fail."""
    repeat, arrivals = transaction["repeat"], transaction["arrivals"]
    often = f"{repeat['count']} ×" if repeat["by"] == "iterations" else f"{repeat['duration_ns'] / 1e6:g} ms"
    if arrivals["by"] != "closed":
        often += f" {arrivals['by']} {arrivals['per_kilosecond'] / 1000:g}/s"
    return f"{often} | {', '.join(map(shown_step, transaction['steps']))}"


def shown_step(step: Any) -> str:
    """A step as in `shown`."""
    operation = step["operation"]
    parts = [operation["operation"]]
    if operation["operation"] == "think":
        parts += [f"{operation['duration_ns'] / 1e6:g} ms", *(["busy"] if operation["is_busy"] else [])]
        assert operation["is_mirrored"] == (operation["duration_ns"] > 0)
    else:
        parts.append(str(operation["connection"]))
    if "size" in operation:
        size = operation["size"]
        parts.append(f"{size.get('bytes') or '{low_bytes}-{high_bytes}'.format(**size)} B")
        assert operation["call_bytes"] is None
    if operation.get("timeout_ns"):
        parts.append(f"within {operation['timeout_ns'] / 1e6:g} ms")
    parts += [f"×{step['count']}"] if step["count"] > 1 else []
    return " ".join([*parts, *(["?"] if step["can_fail"] else [])])


def written(attributes: str, inside: str) -> str:
    """A profile that connects, and does this: flowops with `;` between them, each with its options, TO the far host."""
    found = []
    for flowop in filter(None, map(str.strip, inside.split(";"))):
        kind, _, options = flowop.replace("TO", "remotehost=h protocol=tcp").partition(" ")
        found.append(f'<flowop type={kind} options="{options}" />')
    return flowops(*found, transaction=attributes)


#: Attributes of a transaction | its flowops | how often it runs | its steps. Connection 0 is open before.
EXECUTED = """
| write size=8k count=10 canfail | 1 × | write 0 8192 B ×10 ?
| send size=1; recv size=2; write size=rand(10,1k); read size=rand(1,1) | 1 × | write 0 1 B, read 0 2 B, write 0 10-1024 B, read 0 1-1 B
| read size=1 timeout=20ms | 1 × | read 0 1 B within 20 ms
| write size=1 repeat=3 | 1 × | write 0 1 B
| think duration=1s idle; think duration=1ms busy idle count=3; think duration=2us; nop count=4 | 1 × | think 1000 ms, think 1 ms busy ×3, think 0.002 ms, think 0 ms ×4
| think | 1 × | think 0 ms
| write size=1 count=0; read size=2 | 1 × | read 0 2 B
| write size=1 conn=2 canfail; read size=2 | 1 × | read 0 2 B
| write size=1 count=0 | 0 × | think 0 ms
iterations=5 | write size=1 | 5 × | write 0 1 B
iterations=0 | write size=1 | 0 × | think 0 ms
duration=5 | write size=1 | 5000 ms | write 0 1 B
iterations=7 duration=5ms | write size=1 | 5 ms | write 0 1 B
duration=5ms iterations=7 | write size=1 | 5 ms | write 0 1 B
duration=20ms | | 1 × | think 20 ms
duration=2s | write size=1 count=0 | 1 × | think 2000 ms
duration=2s rate=50 | write size=1 | 2000 ms constant 50/s | write 0 1 B
iterations=2 rate=50 | write size=1 | 2 × | write 0 1 B
| disconnect | 1 × | disconnect 0
| connect TO; disconnect; disconnect | 1 × | connect 1, disconnect 1, disconnect 0
| connect TO; write size=1; disconnect; write size=1 | 1 × | connect 1, write 1 1 B, disconnect 1, write 0 1 B
iterations=9 | disconnect; connect TO | 9 × | disconnect 0, connect 0
| connect TO conn=7; write size=1; write size=1 conn=7 | 1 × | connect 1, write 0 1 B, write 1 1 B
iterations=5 | connect TO conn=1; disconnect conn=1 | 5 × | connect 1, disconnect 1
| accept TO conn=1; read size=1 conn=1 | 1 × | accept 1, read 1 1 B
| connect TO count=3 canfail | 1 × | connect 1 ?, connect 2 ?, connect 3 ?
iterations=2 | write size=1; connect TO | 1 × | write 0 1 B, connect 1, write 1 1 B, connect 2
| disconnect; disconnect; think duration=1s | 1 × | disconnect 0
| connect TO; disconnect count=2 | 1 × | connect 1, disconnect 1, disconnect 0
iterations=4 | disconnect; write size=1 canfail | 1 × | disconnect 0
"""


@pytest.mark.parametrize("case", EXECUTED.strip().splitlines())
def test_what_a_transaction_becomes(case: str) -> None:
    attributes, inside, often, steps = (part.strip() for part in case.split("|"))
    first, second = transactions(written(attributes, inside))
    assert shown(first) == "0 × | think 0 ms"
    assert shown(second) == f"{often} | {steps}"
    assert (first["name"], second["name"], second["outstanding_count"]) == ("Txn1", "Txn2", 1)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_becomes_a_workload(shape: str) -> None:
    found = translated(SHAPES[shape])
    assert_of_the_schema(found.workload)
    assert found.factors["transport"] == ("udp" if shape in OVER_UDP else "tcp")
    assert found.hosts[0] == "far.example"


#: Shapes, and what the transactions of their first group are.
OF_SHAPES = {
    "bulk": "0 × | think 0 ms / 400 ms | write 0 8192 B ×10 / 1 × | disconnect 0",
    "request-response": "0 × | think 0 ms / 100 × | write 0 90 B, read 0 90 B / 1 × | disconnect 0",
    "connect-request-response": "400 ms | connect 0, write 0 200 B, read 0 1000 B, disconnect 0",
    "connect": "5 × | connect 0, disconnect 0",
    "terminal": "1 × | connect 0, write 0 1 B, think 200 ms, read 0 4096 B, think 1 ms busy, disconnect 0",
    "two-hosts": "1 × | connect 0, connect 1 / 400 ms | write 0 300 B, read 1 300 B / 1 × | disconnect 0, disconnect 1",
    # Its second transaction is never closed.
    "operator-rr": "0 × | think 0 ms / 300 ms | write 0 1024 B, read 0 1024 B / 1 × | disconnect 0",
}


@pytest.mark.parametrize("shape", OF_SHAPES)
def test_the_transactions_of_a_shape(shape: str) -> None:
    assert " / ".join(map(shown, transactions(SHAPES[shape]))) == OF_SHAPES[shape]


def test_the_rate_of_a_virtual_user_becomes_that_of_its_group() -> None:
    assert shown(transactions(VOICE)[1]) == "400 ms constant 200/s | write 0 160 B"


#: Attributes of a transaction | its flowops | the only note: its line, and what it says.
NOTED = """
rate=5 iterations=3 | nop | 6 | rate= counts only with duration=, as in uperf
| write size=1 count=0 | 7 | count=0: the write is never executed, as in uperf
| think | 7 | think without duration= does nothing, as in uperf
| write size=1 conn=2 canfail | 7 | write has no connection and may fail, so it does nothing
duration=20ms | | 6 | there are no flowops, so the virtual users wait for the duration
iterations=3 | connect TO | 6 | its 3 executions are one here, because they leave other connections open
| disconnect; disconnect | 8 | the disconnect needs a connection without conn=, and none is open here; this ends the transaction, as in uperf
"""


@pytest.mark.parametrize("case", NOTED.strip().splitlines())
def test_what_is_noted(case: str) -> None:
    attributes, inside, line, note = (part.strip() for part in case.split("|"))
    assert translated(written(attributes, inside)).notes == (f"x.xml: line {line}: {note}.",)


def test_a_first_transaction_that_only_connects_is_done_before_the_start() -> None:
    (group,) = translated(SHAPES["bulk"]).workload["groups"]
    assert group["is_connected"]
    assert group["transactions"][0]["repeat"] == {"by": "iterations", "count": 0}
    for shape in ("connect", "terminal", "two-hosts", "pile"):
        assert not translated(SHAPES[shape]).workload["groups"][0]["is_connected"]


def test_an_accept_lets_the_far_side_connect() -> None:
    accepts, connects = translated(SHAPES["accept"]), translated(SHAPES["connect"])
    assert accepts.notes == connects.notes == ()
    written = json.dumps(connects.workload).replace('"operation": "connect"', '"operation": "accept"')
    assert accepts.workload == json.loads(written)
    alone = translated(SHAPES["bulk"].replace('type="connect"', 'type="accept"')).workload["groups"][0]
    assert not alone["is_connected"]
    assert alone["transactions"][0]["steps"][0]["operation"] == {"operation": "accept", "connection": 0}


def test_a_transaction_ends_when_nothing_is_left_to_close() -> None:
    found = translated(SHAPES["pile"].replace('<transaction  iterations="10">', '<transaction  duration="5s">'))
    assert len(found.workload["groups"][0]["transactions"][1]["steps"]) == 10
    assert any("line 8: the disconnect needs a connection without conn=" in note for note in found.notes)


def test_options_of_all_connections_become_factors() -> None:
    text = flowops("<flowop type=nop />").replace("protocol=tcp", "protocol=tcp wndsz=50k tcp_nodelay cc=reno")
    assert translated(text).factors == {
        "transport": "tcp",
        "send_buffer_bytes": 51200,
        "receive_buffer_bytes": 51200,
        "no_delay": True,
        "congestion_control": "reno",
        "deadline_s": 60.0,
    }


def test_a_group_without_virtual_users_or_transactions_does_nothing() -> None:
    found = translated(
        SHAPES["connect"].replace(
            "</profile>", "<group> <transaction> </group>\n<group nthreads=1 > </group> </profile>"
        )
    )
    assert len(found.workload["groups"]) == 1
    assert len(found.notes) == 2


def test_the_deadline_leaves_room_for_what_is_known() -> None:
    nop = "<flowop type=nop />"
    assert translated(flowops(nop, transaction="duration=90s")).factors["deadline_s"] == 150.0
    thinks = flowops('<flowop type=think options="duration=2s count=3"/>', transaction="iterations=10")
    assert translated(thinks).factors["deadline_s"] == 60.0 + 60.0 + 3600.0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("port=5000", "x.xml: option port has no part (line 4): whyperf lets the kernel choose the port"),
        ("wndsz=0", None),
        ("size=5", "option size has no part (line 4): uperf does not use it in connect."),
        ("stack=rack", "option stack has no part (line 4): it exists on FreeBSD only."),
        ("encaps=9899", "option encaps has no part (line 4): it exists on FreeBSD only."),
        ("engine=x cipher=y", "option cipher has no part (line 4): it is for protocol=ssl."),
        ("method=y", "option method has no part (line 4): it is for protocol=ssl."),
        ("sctp_nodelay", "option sctp_nodelay has no part (line 4): it is for protocol=sctp."),
        ("localhost=me", "option localhost has no part (line 4): uperf uses it for RDS only."),
        ("non_blocking", "option non_blocking has no part (line 4): it is for udp, in uperf too."),
        ("port_per_thread", "option port_per_thread has no part (line 4): every virtual user has"),
    ],
)
def test_options_without_a_part_are_reported(options: str, reason: str | None) -> None:
    found = translated(flowops("<flowop type=nop />").replace("protocol=tcp", f"protocol=tcp {options}"))
    assert any(reason in note for note in found.notes) if reason else found.notes == ()


def test_ssl_is_tls_with_the_options_of_tcp() -> None:
    asked = "protocol=ssl engine=dynamic cipher=x method=y tcp_nodelay wndsz=50k"
    found = translated(flowops('<flowop type=write options="size=9"/>').replace("protocol=tcp", asked))
    assert (found.factors["transport"], found.factors["no_delay"]) == ("tls", True)
    assert found.factors["send_buffer_bytes"] == 50 << 10
    assert any("whyperf takes --set tls_cipher=NAME" in note for note in found.notes)
    assert not any("tcp_nodelay" in note for note in found.notes)


def test_sctp_has_streams_and_no_delay() -> None:
    asked = "protocol=sctp sctp_nodelay sctp_in_streams=4 sctp_out_streams=4 sctp_rto_min=10 wndsz=50k"
    found = translated(flowops('<flowop type=write options="size=9 repeat=3"/>').replace("protocol=tcp", asked))
    assert found.factors["transport"] == "sctp"
    assert (found.factors["no_delay"], found.factors["sctp_streams"]) == (True, 4)
    assert found.notes == (
        "x.xml: option sctp_rto_min has no part (line 4): whyperf leaves it to the kernel (sysctl net.sctp).",
    )


def test_lines_of_the_same_option_are_reported_together() -> None:
    write = '<flowop type=write options="size=4k rsize=8k"/>'
    assert translated(flowops(write, write)).notes == (
        "x.xml: option rsize has no part (lines 7, 8): the far side reads what a write sends, in calls as large.",
    )


#: Options of the first connect | attributes of the transaction | its flowops | what is said.
REFUSED = """
remotehost=h protocol=sctp sctp_in_streams=2 sctp_out_streams=3 | | nop | line 4: sctp_out_streams=3 and sctp_in_streams=2 differ; whyperf asks for as many in both directions
remotehost=h protocol=RDS | | nop | line 4: protocol=rds cannot run; Linux hosts rarely have RDS, and whyperf has none; take protocol=udp or tcp
remotehost=h protocol=udapl | | nop | line 4: protocol=udapl cannot run; uperf refuses uDAPL too; take protocol=tcp
remotehost=h protocol=tcp_zc | | nop | line 4: protocol=tcp_zc cannot run; take protocol=tcp, and --set zero_copy=true
remotehost=h protocol=tpc | | nop | line 4: protocol=tpc cannot run; there are tcp, udp, ssl and sctp
remotehost=h | | nop | line 4: connect names no protocol; add protocol=tcp or protocol=udp
protocol=tcp | | nop | line 4: connect names no far host; add remotehost=
TO count=-1 | | nop | line 4: count=-1 is below 0; give 0 or more
remotehost=h protocol=udp | | write size=65508 | line 7: 65508 bytes are no datagram; 65507 is the most that UDP carries
TO | | write size=9 conn=3 | line 7: write needs connection 3, and none is open here; connect first
TO | iterations=5 | write size=9; disconnect | line 7: write needs a connection without conn=, and none is open here
TO | | write size=9 conn=0 | line 7: conn=0 is below 1; give more
TO | | read size=9 repeat=0 | line 7: repeat=0 is below 1; give more
TO | | write | line 7: flowop write has no size; add size=
TO | | sendfilev dir=/tmp | line 7: sendfilev exists on Solaris only
TO | | sendfile | line 7: sendfile has no folder; add dir=
TO | | sendfile dir=/nowhere | line 7: dir=/nowhere is not a folder here; uperf makes a name lower-case
TO | | connect remotehost=h protocol=udp | line 7: protocol is not as in line 4; a run has one for all connections: split the profile
TO | | accept TO cc=reno | line 7: cc is not as in line 4
TO | | connect TO tcp_nodelay | line 7: tcp_nodelay is not as in line 4
TO | iterations=2000 | connect TO | line 7: a virtual user would open over 1024 connections; use more virtual users
"""


@pytest.mark.parametrize("case", REFUSED.strip().splitlines())
def test_what_cannot_run_is_refused_by_name(case: str) -> None:
    connecting, attributes, inside, says = (part.strip() for part in case.split("|"))
    to = "remotehost=h protocol=tcp"
    with pytest.raises(ProfileError) as caught:
        translated(written(attributes, inside).replace(to, connecting.replace("TO", to), 1))
    assert str(caught.value).startswith(f"x.xml: {says}")


def test_what_does_nothing_is_refused() -> None:
    nop = "<flowop type=nop />"
    for text, says in (
        (flowops(nop, group=""), "no group has virtual users and transactions"),
        (flowops(nop).replace('type="connect"', "type=nop"), "no flowop connects or accepts"),
        (flowops("<flowop />"), "line 7: the flowop has no type"),
        (flowops(*[nop] * 60, "<flowop type=connect options=$to />", transaction="iterations=1000"), "line 6: each of"),
    ):
        with pytest.raises(ProfileError, match=says):
            translated(text, VARIABLES | {"to": "remotehost=h protocol=tcp"})


#: uperf's manual: send, recv and sendfile are system calls of TCP; datagrams and records of TLS and SCTP have others.
@pytest.mark.parametrize(
    ("protocol", "refused"),
    [("tcp", ""), ("udp", "send recv sendfile"), ("ssl", "send recv"), ("sctp", "send recv sendfile")],
)
def test_each_protocol_has_these_flowops(protocol: str, refused: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("content")
    for kind in ("write", "read", "send", "recv", "sendfile"):
        text = written("", f"{kind} size=9 dir=$dir").replace("protocol=tcp", f"protocol={protocol}")
        if kind not in refused.split():
            assert translated(text, {"dir": str(tmp_path)})
            continue
        with pytest.raises(ProfileError, match=f"flowop {kind} does not run over {protocol}, in uperf neither"):
            translated(text, {"dir": str(tmp_path)})


@pytest.mark.parametrize(("protocol", "count"), [("tcp", 3), ("ssl", 3), ("udp", 6), ("sctp", 6)])
def test_repeat_is_for_messages(protocol: str, count: int) -> None:
    text = written("", "read size=65507 count=3 repeat=2").replace("protocol=tcp", f"protocol={protocol}")
    assert shown(transactions(text)[1]) == f"1 × | read 0 65507 B ×{count}"


#: Over UDP connections are opened and named as over TCP.
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize(
    ("shape", "steps"),
    [
        (
            "datagrams",
            "think, write 0, disconnect 0, connect 0, read 0, disconnect 0, connect 0, read 0, write 0, disconnect 0",
        ),
        (
            "links",
            "connect 0, connect 1, connect 2, write 1, write 2, write 2, write 0, read 1, "
            "disconnect 0, disconnect 1, disconnect 2",
        ),
    ],
)
def test_a_flowop_takes_the_connection_that_it_names_or_the_newest(protocol: str, shape: str, steps: str) -> None:
    found = translated(SHAPES[shape].replace("protocol=udp", f"protocol={protocol}"))
    assert (found.factors["transport"], found.notes) == (protocol, ())
    transactions = found.workload["groups"][0]["transactions"]
    operations: list[Any] = [step["operation"] for transaction in transactions for step in transaction["steps"]]
    assert ", ".join(f"{each['operation']} {each.get('connection', '')}".strip() for each in operations) == steps


#: Attributes of the group | its virtual users | what is noted.
GROUP_CASES = """
nprocs=3 | 3 | nprocs= are virtual users like those of nthreads= here; no process is made for each
nthreads=2 nprocs=1k | 1024 | nprocs= are virtual users like those of nthreads= here; no process is made for each
nthreads=1000000 | 1000000 |
nthreads=$nthr | 3 |
"""


@pytest.mark.parametrize("case", GROUP_CASES.strip().splitlines())
def test_virtual_users_of_a_group(case: str) -> None:
    attributes, count, note = (part.strip() for part in case.split("|"))
    found = translated(flowops("<flowop type=nop />", group=attributes))
    assert found.workload["groups"][0]["strands_count"] == int(count)
    assert found.notes == ((f"x.xml: line 2: {note}.",) if note else ())


def test_groups_of_one_name_are_kept_apart() -> None:
    text = SHAPES["two-groups"].replace("<group nthreads", '<group name="g" nthreads')
    groups = translated(text).workload["groups"]
    assert [(group["name"], group["strands_count"], group["is_connected"]) for group in groups] == [
        ("g", 2, True),
        ("g-2", 1, False),
    ]
    again = text.replace('name="g"', 'name="g-2"', 1).replace("</profile>", text.partition("\n")[2])
    assert [group["name"] for group in translated(again).workload["groups"]] == ["g-2", "g", "g-3", "g-4"]


def test_a_disconnect_that_ends_a_transaction_ends_its_duration() -> None:
    for options, which in (("", "a connection without conn="), (" conn=2", "connection 2")):
        found = translated(written("duration=5s", f"write size=1; disconnect; disconnect{options}"))
        assert shown(found.workload["groups"][0]["transactions"][1]) == "1 × | write 0 1 B, disconnect 0"
        ends = f"the disconnect needs {which}, and none is open here; this ends the transaction, as in uperf."
        assert found.notes == (
            f"x.xml: line 9: {ends}",
            "x.xml: line 6: its duration of 5 s does not apply, because a disconnect ends it, as in uperf.",
        )


def test_files_of_a_folder_are_sent(tmp_path: Path) -> None:
    (tmp_path / "Sub").mkdir()
    for name, length in (("b", 20), ("Sub/a", 10), ("empty", 0)):
        (tmp_path / name).write_bytes(bytes(length))
    text = flowops('<flowop type=sendfile options="dir=$dir size=4k nfiles=3"/>')
    found = translated(text, VARIABLES | {"dir": str(tmp_path)})
    assert_of_the_schema(found.workload)
    operation: Any = found.workload["groups"][0]["transactions"][1]["steps"][0]["operation"]
    assert [(Path(file["path"]).name, file["length_bytes"]) for file in operation["files"]] == [("b", 20), ("a", 10)]
    assert operation["call_bytes"] == 4096
    random = text.replace("size=4k", "size=rand(1,4k)")
    with pytest.raises(ProfileError, match="sendfile takes no random size"):
        translated(random, VARIABLES | {"dir": str(tmp_path)})
    (tmp_path / "Sub" / "a").unlink()
    with pytest.raises(ProfileError, match="holds no file with content"):
        translated(text, VARIABLES | {"dir": str(tmp_path / "Sub")})


def test_groups_are_sorted_by_their_far_host() -> None:
    found = translated(APART)
    assert found.hosts == ("far.example", "other.example")
    assert found.parts == (("Group0",), ("Group1",))
    assert translated(APART.replace("$h2", "$h1")).parts == ()


def test_a_group_with_two_far_hosts_is_named() -> None:
    found = translated(SHAPES["two-hosts"])
    assert found.parts == ()
    (note,) = [note for note in found.notes if "several far hosts" in note]
    hosts = "several far hosts (far.example, other.example), and here each has one"
    assert note.startswith(f"x.xml: line 3: the virtual users of the group connect to {hosts}")
