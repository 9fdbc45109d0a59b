"""What a uperf profile becomes: groups, transactions, steps, factors, and what is reported or refused."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.unit.profile.uperf.uperf_profiles import SHAPES, VARIABLES, VOICE, flowops, translated
from whyperf.profile.errors import ProfileError

SCHEMA = json.loads((Path(__file__).parents[4] / "schemas" / "request.json").read_text(encoding="utf-8"))
#: Shapes whose protocol is UDP.
OVER_UDP = {"voice", "datagrams", "links"}
OF_THE_SCHEMA = jsonschema.Draft202012Validator({"$ref": "#/$defs/Workload", "$defs": SCHEMA["$defs"]})


def assert_of_the_schema(workload: object) -> None:
    """The workload is one that the agent understands."""
    OF_THE_SCHEMA.validate(workload)


def transactions(text: str) -> Any:
    """The transactions of the first group."""
    found: Any = translated(text).workload["groups"][0]["transactions"]
    return found


def steps(*inside: str, transaction: str = "") -> Any:
    """The steps of a transaction on connection 0."""
    found: Any = transactions(flowops(*inside, transaction=transaction))[1]["steps"]
    return found


def operations(*inside: str, transaction: str = "") -> list[str]:
    """Operations with their connections: `connect 0`."""
    return [
        f"{step['operation']['operation']} {step['operation'].get('connection', '')}".strip()
        for step in steps(*inside, transaction=transaction)
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_becomes_a_workload(shape: str) -> None:
    found = translated(SHAPES[shape])
    assert_of_the_schema(found.workload)
    assert found.factors["transport"] == ("udp" if shape in OVER_UDP else "tcp")
    assert found.hosts[0] == "far.example"


def test_an_unclosed_transaction_changes_nothing() -> None:
    closed = SHAPES["operator-rr"].replace('size=1024"/>\n<trans', 'size=1024"/>\n</transaction>\n<trans')
    assert closed.count("</transaction>") == SHAPES["operator-rr"].count("</transaction>") + 1
    assert transactions(closed) == transactions(SHAPES["operator-rr"])
    assert len(transactions(closed)) == 3


def test_a_step() -> None:
    (write,) = steps('<flowop type="write" options="count=10 size=8k canfail"/>')
    assert write == {
        "operation": {
            "operation": "write",
            "connection": 0,
            "size": {"by": "fixed", "bytes": 8192},
            "call_bytes": None,
        },
        "count": 10,
        "can_fail": True,
    }


@pytest.mark.parametrize(
    ("type_", "operation"), [("write", "write"), ("send", "write"), ("read", "read"), ("recv", "read")]
)
def test_payload(type_: str, operation: str) -> None:
    (step,) = steps(f'<flowop type={type_} options="size=rand(10,1k)"/>')
    assert step["operation"]["operation"] == operation
    assert step["operation"]["size"] == {"by": "uniform", "low_bytes": 10, "high_bytes": 1024}


def test_a_read_waits_no_longer_than_asked() -> None:
    (step,) = steps('<flowop type=read options="size=1 timeout=20ms"/>')
    assert step["operation"]["timeout_ns"] == 20_000_000


def test_pauses_are_taken_by_both_sides() -> None:
    idle, busy, default, nop = steps(
        '<flowop type=think options="duration=1s idle"/>',
        '<flowop type=think options="duration=1ms busy idle count=3"/>',
        '<flowop type=think options="duration=2us"/>',
        "<flowop type=nop />",
    )
    assert idle["operation"] == {"operation": "think", "duration_ns": 10**9, "is_busy": False, "is_mirrored": True}
    assert (busy["operation"]["is_busy"], busy["operation"]["duration_ns"], busy["count"]) == (True, 10**6, 3)
    assert (default["operation"]["is_busy"], default["operation"]["duration_ns"]) == (False, 2000)
    assert (nop["operation"]["duration_ns"], nop["operation"]["is_mirrored"]) == (0, False)


@pytest.mark.parametrize(
    ("attributes", "repeat"),
    [
        ("", {"by": "iterations", "count": 1}),
        ("iterations=5", {"by": "iterations", "count": 5}),
        ("iterations=0", {"by": "iterations", "count": 0}),
        ("duration=5", {"by": "duration", "duration_ns": 5 * 10**9}),
        ("iterations=7 duration=5ms", {"by": "duration", "duration_ns": 5 * 10**6}),
        ("duration=5ms iterations=7", {"by": "duration", "duration_ns": 5 * 10**6}),
    ],
)
def test_how_often(attributes: str, repeat: dict[str, Any]) -> None:
    found = transactions(flowops("<flowop type=write options=size=1 />", transaction=attributes))
    assert [transaction["name"] for transaction in found] == ["Txn1", "Txn2"]
    assert found[1]["repeat"] == repeat


def test_a_rate_is_each_virtual_user_s_and_becomes_the_groups() -> None:
    voice = transactions(VOICE)[1]
    assert voice["arrivals"] == {"by": "constant", "per_kilosecond": 50 * 4 * 1000}


def test_a_rate_counts_only_with_a_duration() -> None:
    found = translated(flowops("<flowop type=nop />", transaction="rate=5 iterations=3"))
    assert found.workload["groups"][0]["transactions"][1]["arrivals"] == {"by": "closed"}
    assert found.notes == ("x.xml: line 6: rate= counts only with duration=, as in uperf.",)


CONNECT = "<flowop type=connect options={} />"
HOST = "remotehost=h protocol=tcp"


@pytest.mark.parametrize(
    ("inside", "transaction", "expected"),
    [
        (["disconnect"], "", ["disconnect 0"]),
        (["connect", "disconnect", "disconnect"], "", ["connect 1", "disconnect 1", "disconnect 0"]),
        # The newest is taken, and a number that is free is used again.
        (["connect", "write", "disconnect", "write"], "", ["connect 1", "write 1", "disconnect 1", "write 0"]),
        (["disconnect", "connect"], "iterations=9", ["disconnect 0", "connect 0"]),
        (["connect conn=7", "write", "write conn=7"], "", ["connect 1", "write 0", "write 1"]),
        (["connect conn=1", "disconnect conn=1"], "iterations=5", ["connect 1", "disconnect 1"]),
        (["accept conn=1", "read conn=1"], "", ["accept 1", "read 1"]),
        (["connect count=3"], "", ["connect 1", "connect 2", "connect 3"]),
        # Executions that leave connections open are written out.
        (["connect"], "iterations=3", ["connect 1", "connect 2", "connect 3"]),
        (["write", "connect"], "iterations=2", ["write 0", "connect 1", "write 1", "connect 2"]),
        # What cannot be closed ends the transaction.
        (["disconnect", "disconnect", "think"], "", ["disconnect 0"]),
        (["write", "disconnect"], "iterations=5", ["write 0", "disconnect 0"]),
        (["connect", "disconnect count=2"], "", ["connect 1", "disconnect 1", "disconnect 0"]),
    ],
)
def test_connections(inside: list[str], transaction: str, expected: list[str]) -> None:
    written = []
    for line in inside:
        kind, _, options = line.partition(" ")
        also = {"write": "size=1", "read": "size=1", "think": "duration=1s"}.get(kind, HOST)
        written.append(f'<flowop type={kind} options="{options} {also}" />')
    if "write" in inside and inside[-1] == "disconnect" and transaction:
        with pytest.raises(ProfileError, match="write needs a connection without conn=, and none is open here"):
            operations(*written, transaction=transaction)
        return
    assert operations(*written, transaction=transaction) == expected


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


def test_over_udp_connections_are_opened_and_named_as_over_tcp() -> None:
    found = translated(SHAPES["datagrams"])
    (group,) = found.workload["groups"]
    assert group["is_connected"]
    executed: list[Any] = [each for each in group["transactions"] if each["repeat"] != {"by": "iterations", "count": 0}]
    steps = [step["operation"] for transaction in executed for step in transaction["steps"]]
    assert ", ".join(f"{step['operation']} {step['connection']}" for step in steps) == (
        "write 0, disconnect 0, connect 0, read 0, disconnect 0, connect 0, read 0, write 0, disconnect 0"
    )
    assert not found.notes
    assert_of_the_schema(found.workload)


def test_over_udp_an_accept_is_no_connection_before_the_start() -> None:
    group = translated(SHAPES["voice"].replace('type="connect"', 'type="accept"')).workload["groups"][0]
    assert not group["is_connected"]
    assert group["transactions"][0]["steps"][0]["operation"] == {"operation": "accept", "connection": 0}


def test_over_udp_a_flowop_takes_the_connection_that_it_names_or_the_newest() -> None:
    found = transactions(SHAPES["links"])
    steps = [step["operation"] for transaction in found for step in transaction["steps"]]
    assert ", ".join(f"{step['operation']} {step['connection']}" for step in steps) == (
        "connect 0, connect 1, connect 2, "
        "write 1, write 2, write 2, write 0, read 1, "
        "disconnect 0, disconnect 1, disconnect 2"
    )


def test_executions_that_are_written_out_are_reported() -> None:
    found = translated(SHAPES["pile"])
    opened, closed = found.workload["groups"][0]["transactions"]
    assert (len(opened["steps"]), len(closed["steps"])) == (10, 10)
    assert opened["repeat"] == {"by": "iterations", "count": 1}
    assert found.notes[0].startswith("x.xml: line 4: its 10 executions are one here")


@pytest.mark.parametrize(
    ("options", "which"), [("", "a connection without conn="), ("options=conn=2", "connection 2")], ids=str
)
def test_a_second_disconnect_or_one_of_another_connection_ends_the_transaction_and_its_duration(
    options: str, which: str
) -> None:
    write, close = '<flowop type=write options="size=1" />', "<flowop type=disconnect />"
    found = translated(flowops(write, close, f"<flowop type=disconnect {options} />", transaction="duration=5s"))
    (_, timed) = found.workload["groups"][0]["transactions"]
    assert [step["operation"]["operation"] for step in timed["steps"]] == ["write", "disconnect"]
    assert list(found.notes) == [
        f"x.xml: line 9: the disconnect needs {which}, and none is open here; this ends the transaction, as in uperf.",
        "x.xml: line 6: its duration of 5 s does not apply, because a disconnect ends it, as in uperf.",
    ]


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


def test_groups() -> None:
    text = SHAPES["two-groups"].replace("<group nthreads", '<group name="g" nthreads')
    groups = translated(text).workload["groups"]
    assert [(group["name"], group["strands_count"], group["is_connected"]) for group in groups] == [
        ("g", 2, True),
        ("g-2", 1, False),
    ]


def test_a_group_without_virtual_users_or_transactions_does_nothing() -> None:
    found = translated(
        SHAPES["connect"].replace(
            "</profile>", "<group> <transaction> </group>\n<group nthreads=1 > </group> </profile>"
        )
    )
    assert len(found.workload["groups"]) == 1
    assert len(found.notes) == 2


def test_a_duration_without_flowops_is_waited_for() -> None:
    found = transactions(flowops(transaction="duration=20ms"))[1]
    assert found["steps"][0]["operation"]["duration_ns"] == 20_000_000
    assert found["repeat"] == {"by": "iterations", "count": 1}


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


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("protocol=tcp", "protocol=ssl", "line 7: flowop send does not run over ssl, in uperf neither; take read"),
        ("protocol=tcp", "protocol=sctp", "line 7: flowop send does not run over sctp, in uperf neither; take read"),
        ("protocol=tcp", "protocol=sctp sctp_in_streams=2 sctp_out_streams=3", "line 4: sctp_out_streams=3 and"),
        ("protocol=tcp", "protocol=RDS", "line 4: protocol=rds cannot run"),
        ("protocol=tcp", "protocol=udapl", "line 4: protocol=udapl cannot run; uperf refuses uDAPL too"),
        ("protocol=tcp", "protocol=vsock", "line 4: protocol=vsock cannot run"),
        ("protocol=tcp", "protocol=tpc", "line 4: protocol=tpc cannot run; there are tcp, udp, ssl and sctp"),
        ("protocol=tcp", "", "line 4: connect names no protocol; add protocol=tcp or protocol=udp"),
        ("remotehost=h", "", "line 4: connect names no far host; add remotehost="),
        ("protocol=tcp", "protocol=udp", "line 7: flowop send does not run over udp, in uperf neither; take read"),
        ("tcp\" />", "udp\" /> <flowop type=read options=\"size=9 conn=7\"/>", "line 4: read needs connection 7, and"),
        ("type=send", "type=sendfilev", "line 7: sendfilev exists on Solaris only"),
        ("size=9 ", "", "line 7: flowop send has no size; add size="),
        ("type=send", "", "line 7: the flowop has no type"),
        ("size=9", "size=9 conn=3", "line 7: send needs connection 3, and none is open here; connect first"),
        ("size=9", "size=9 conn=0", "line 7: conn=0 is below 1; give more"),
        ("size=9", "size=9 count=-1", "line 7: count=-1 is below 0; give more"),
        ("type=send", "type=sendfile", "line 7: sendfile has no folder; add dir="),
        ("nthreads=\"1\"", "", "no group has virtual users and transactions"),
        ("type=\"connect\"", "type=\"nop\"", "no flowop connects or accepts"),
        ("<flowop type=send", "<flowop type=connect options=\"remotehost=h protocol=udp\" /> <flowop type=send",
         "line 7: protocol is not as in line 4; a run has one for all connections: split the profile"),
        ("<flowop type=send", "<flowop type=accept options=\"remotehost=h protocol=tcp cc=reno\" /> <flowop type=send",
         "line 7: cc is not as in line 4"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_refused_by_name(before: str, after: str, says: str) -> None:
    text = flowops('<flowop type=send options="size=9 "/>')
    assert before in text
    with pytest.raises(ProfileError) as caught:
        translated(text.replace(before, after, 1))
    assert str(caught.value).startswith(f"x.xml: {says}")


def test_a_datagram_is_not_larger_than_udp_carries() -> None:
    translated(VOICE.replace("size=160", "size=65507"))
    with pytest.raises(ProfileError, match="65508 bytes are no datagram"):
        translated(VOICE.replace("size=160", "size=rand(1,65508)"))


def test_repeat_is_for_datagrams() -> None:
    assert transactions(VOICE.replace("size=160", "size=160 count=3 repeat=2"))[1]["steps"][0]["count"] == 6


@pytest.mark.parametrize("attributes", ["iterations=2000", "duration=5s"])
def test_connections_without_end_are_refused(attributes: str) -> None:
    with pytest.raises(ProfileError, match="over 1024 connections; use more virtual users"):
        translated(flowops(CONNECT.format(f'"{HOST}"'), transaction=attributes))


def test_many_steps_are_refused() -> None:
    thinks = ['<flowop type=think options="duration=1ms"/>'] * 60
    with pytest.raises(ProfileError, match="line 6: each of the many executions opens or closes connections"):
        translated(flowops(CONNECT.format(f'"{HOST}"'), *thinks, transaction="iterations=1000"))


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
    with pytest.raises(ProfileError, match="is not a folder here; uperf makes a name lower-case"):
        translated(text, VARIABLES | {"dir": str(tmp_path / "none")})
    (tmp_path / "Sub" / "a").unlink()
    with pytest.raises(ProfileError, match="holds no file with content"):
        translated(text, VARIABLES | {"dir": str(tmp_path / "Sub")})


GROUP = """
  <group nthreads="1" name="{name}">
    <transaction>
      <flowop type="connect" options="remotehost={host} protocol=tcp"/>
    </transaction>
  </group>"""
GROUPS = [GROUP.format(name=name, host=host) for name, host in (("one", "a"), ("two", "B"), ("one", "a"))]
APART = f'<profile name="apart">{"".join(GROUPS)}\n</profile>'


def test_groups_are_sorted_by_their_far_host() -> None:
    found = translated(APART)
    assert found.hosts == ("a", "b")
    assert found.parts == (("one", "one-3"), ("two",))
    assert translated(APART.replace("remotehost=B", "remotehost=a")).parts == ()


def test_a_group_with_two_far_hosts_is_named() -> None:
    second = '  <flowop type="connect" options="conn=1 remotehost=c protocol=tcp"/>\n    </transaction>'
    found = translated(APART.replace("</transaction>", second, 1))
    assert found.parts == ()
    (note,) = [note for note in found.notes if "several far hosts" in note]
    assert note == (
        "x.xml: line 2: the virtual users of the group connect to several far hosts (a, c), and here each has one; "
        "give each far host a group of its own to use several."
    )
