"""Pieces of uperf profiles of every form: what they become, or what is said of them."""
# ruff: noqa: E501 - a case is a line.

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from tests.unit.profile.uperf.uperf_profiles import SHAPES, flowops, translated
from tests.unit.snapshots import Snapshots, outcome, plain
from whyperf.profile import ProfileError
from whyperf.profile.uperf.options import parse_options
from whyperf.profile.uperf.quantities import integer, is_perhaps_minutes, leading_integer, time_ns
from whyperf.profile.uperf.tokens import LONGEST_WORD, tokenize

SNAPSHOTS = Snapshots(Path(__file__).with_suffix(".json"))

#: Flowops of the second transaction, one case a line: name | attributes of the transaction | flowops, each with its
#: options, in which TO is the far host. What cannot be written so is in `ODD`.
WRITTEN = """
nothing | |
a count of 0 | | write size=1k count=0
a count below 0 | | write size=1k count=-1
a repeat of 0 | | read size=1k repeat=0
a connection 0 | | read size=1k conn=0
a connection that is not open | | read size=1k conn=2
may fail without a connection | | read size=1k conn=2 canfail
random sizes | iterations="7" | write size=rand(1k,2k) count=3 canfail
pauses | duration="2s" | think duration=20ms; think duration=1s busy count=2; think; nop count=4
a rate | duration="2s" rate="50" | write size=1k
a rate without duration | iterations="2" rate="50" | write size=1k
a duration without flowops | duration="300ms" |
no iterations | iterations="0" | write size=1k
a duration in minutes | duration="2m" | read size=1k timeout=3s
opens another | iterations="3" | connect TO conn=2; write size=1k conn=2; disconnect conn=2
leaves others open | iterations="3" | connect TO
opens a thousand | iterations="1024" | connect TO
opens 1024 more | | connect TO count=1024
opens many with others | duration="1s" | connect TO; disconnect count=1; write size=1k
closes too many | iterations="4" | disconnect; write size=1k
closes in a loop | duration="1s" | disconnect
accepts | | accept TO conn=3
no size | | write
too many repeats | | write size=1 count=2147483647
no folder | | sendfile
a folder that is none | | sendfile dir=/nowhere
vectors | | sendfilev dir=/tmp
sends and receives | iterations="2" | send size=64k count=2; recv size=64k timeout=5ms canfail; read size=1 non_blocking repeat=2
an unknown type | | wirte size=1
options without a part | | write size=1 rsize=2 nfiles=3 port=9 engine=x sctp_unordered batch_size=3 bblog; read size=1 encaps=3 method=y idle
"""
ODD = {
    "no type": ("", '<flowop options="size=1k"/>'),
    "single quotes": ("", "<flowop type='write' options='size=1'/>"),
}


def written(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """From `WRITTEN`: the name of a case, and the attributes and the flowops of its transaction."""
    for line in text.strip().splitlines():
        name, attributes, inside = (part.strip() for part in line.split("|"))
        found = [attributes]
        for flowop in filter(None, map(str.strip, inside.split(";"))):
            kind, _, options = flowop.replace("TO", "remotehost=h protocol=tcp").partition(" ")
            found.append(f'<flowop type="{kind}" options="{options}"/>' if options else f'<flowop type="{kind}"/>')
        yield name, tuple(found)


FLOWOPS: Mapping[str, tuple[str, ...]] = dict(written(WRITTEN)) | ODD
#: Those whose connections matter.
CONNECTING = (
    "opens another",
    "opens a thousand",
    "opens many with others",
    "closes too many",
    "closes in a loop",
    "accepts",
    "may fail without a connection",
)
GROUPS = {
    "processes": 'nprocs="3"',
    "no users": "",
    "both": 'nthreads="2" nprocs="3" name="X"',
    "too many": 'nthreads="1000001"',
    "most": 'nthreads="1000000"',
    "a suffix": 'nthreads="1k"',
    "no number": 'nthreads="x"',
    "a variable": 'nthreads="$nthr"',
    "a variable that is not set": 'nthreads="$bogus"',
    "a variable in capitals": 'nthreads="$NTHR"',
}
PROTOCOLS = ("tcp", "udp", "ssl", "sctp", "vsock", "rds", "udapl", "tcp_zc", "smoke", "TCP")
WHOLE = {
    "empty": "",
    "not closed": "<profile name='x' ",
    "a comment without end": '<profile name="x"> <!-- never',
    "short comments": '<profile name="x" ><!--> <?x?> <!---><group nthreads="1" ><transaction ><flowop type="nop" /></transaction></group></profile>',
    "an attribute outside": '<profile name="x" > nthreads="1" </profile>',
    "a transaction outside": '<profile name="x" > <transaction > </transaction> </profile>',
    "a flowop outside": '<profile name="x" ><group nthreads="1" > <flowop type="nop" /> </group></profile>',
    "a type outside": '<profile name="x" ><group nthreads="1" > <transaction > type="nop" </transaction></group></profile>',
    "iterations outside": '<profile name="x" ><group nthreads="1" > iterations="2" </group></profile>',
    "two in one word": '<profile name="x" ><group><transaction> </group></profile>',
    "an attribute in a word": '<profile name="x" ><group/nthreads="1" > </group></profile>',
    "an unknown element": '<profile name="x" > <bogus > </profile>',
    "an unknown attribute": '<profile name="x" > <group nthread="3" > </group></profile>',
    "an end in a word": '<profile name="x" > <group nthreads=3> </group></profile>',
    "a document type": "<!DOCTYPE x> <profile >",
    "a quote without end": '<profile name="x > <group > </group>',
    "a long word": f'<profile name="{"x" * LONGEST_WORD}" >',
    "the longest word": f'<profile name="{"x" * (LONGEST_WORD - 5)}" ></profile>',
    "a NUL": '<profile\n name="x"\0 >',
    "marks of order and ends of lines": '\ufeff<profile name="a\nb" >\r\n\t<group\n nthreads = "2" name= "g" > <transaction ><flowop type="nop" /></transaction></group></profile>',
    "an unclosed transaction": '<profile name="x" ><group nthreads="1" ><transaction ><flowop type="nop" /></group><group nthreads="1" > iterations="2" </group></profile>',
    "groups of a name": '<profile name="x" >'
    + '<group name="g" nthreads="1" ><transaction ><flowop type="nop" /></transaction></group>' * 3
    + '<group name="g-2" nthreads="2" ><transaction ><flowop type="nop" /></transaction></group>'
    + '<group nthreads="2" ></group><group ><transaction ><flowop type="nop" /></transaction></group></profile>',
    "ten transactions": '<profile ><group nthreads="1" >'
    + '<transaction ><flowop type="nop" /></transaction>' * 10
    + "</group></profile>",
    "over a hundred transactions": '<profile ><group nthreads="1" >'
    + "<transaction ></transaction>" * 101
    + "</group></profile>",
    "over a thousand groups": "<profile >" + "<group ></group>" * 1025 + "</profile>",
}
NUMBERS = (
    *(
        "",
        "0",
        "1",
        "8192",
        "8k",
        "8K",
        "8kb",
        "8 k",
        "1.5K",
        "1.",
        ".5k",
        "1.5",
        "2b",
        "2m",
        "2g",
        "1.9999g",
        "2e",
        "2z",
        "x",
    ),
    *("2147483647", "2147483648", "-1", "+3", " 7x", "7k", "1" * 101, "2s", "2sec", "20ms", "3us", "3n", "0.3n", "0s"),
    *("2min", "2mil", "2M", "3155673600s", "3162240000s", "3162240001s", "2h", "-2147483648"),
)
OPTIONS = (
    *("size=1k", "size=0", "size=rand(1,2)", "size=rand(2,1)", "size=rand(0,1)", "size=rand(1,1)", "size=rand(1k,2k"),
    *(
        "size=rand(1)",
        "size=rand(1,)",
        "size=rand($a,2)",
        "size=rand(x,2)",
        "size=RAND(3,4)",
        "count=3k",
        "count=x",
        "count=7",
    ),
    *(
        "canfail=1",
        "canfail CANFAIL",
        "bogus",
        "bogus=2",
        "siz=3",
        "size=",
        "9size=3",
        "size=1\tcount=2  conn=3",
        "dir=$size",
    ),
    *(
        "dir=$bogus",
        "dir=$",
        "timeout=2m",
        "timeout=2ms",
        "timeout=0",
        "wndsz=1x",
        "size=1 size=2",
        "é=1",
        "protocol=tcp=x",
    ),
)


@pytest.mark.parametrize("name", FLOWOPS)
def test_flowops(name: str) -> None:
    transaction, *inside = FLOWOPS[name]
    SNAPSHOTS.check(name, outcome(lambda: translated(flowops(*inside, transaction=transaction)), ProfileError))


@pytest.mark.parametrize("name", GROUPS)
def test_groups(name: str) -> None:
    text = flowops('<flowop type="write" options="size=1k"/>', group=GROUPS[name])
    SNAPSHOTS.check(f"group: {name}", outcome(lambda: translated(text, {"nthr": "3"}), ProfileError))


@pytest.mark.parametrize("name", CONNECTING)
def test_connections_over_udp_are_those_over_tcp(name: str) -> None:
    transaction, *inside = FLOWOPS[name]
    text = flowops(*inside, transaction=transaction)
    over_tcp, over_udp = (
        plain(outcome(partial(translated, text.replace("protocol=tcp", f"protocol={protocol}")), ProfileError))
        for protocol in ("tcp", "udp")
    )
    assert over_udp == json.loads(json.dumps(over_tcp).replace('"transport": "tcp"', '"transport": "udp"'))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_protocols(protocol: str) -> None:
    found = {}
    for size in ("1k", "65507", "65508", "rand(1,65508)"):
        for kind, more in (("write", ""), ("read", " repeat=3"), ("send", ""), ("connect", ""), ("disconnect", "")):
            options = (
                f"size={size}{more}" if kind not in {"connect", "disconnect"} else f"remotehost=h protocol={protocol}"
            )
            text = flowops(f'<flowop type="{kind}" options="{options}"/>', transaction='iterations="2"')
            text = text.replace("protocol=tcp", f"protocol={protocol}")
            found[f"{kind} {size}"] = outcome(partial(translated, text), ProfileError)
    SNAPSHOTS.check(f"over {protocol}", found)


@pytest.mark.parametrize("name", WHOLE)
def test_whole_texts(name: str) -> None:
    # Elements need blanks between them, and only what connects can be measured.
    spaced = WHOLE[name].replace("><", "> <")
    connecting = spaced.replace(
        '<flowop type="nop" />', '<flowop type="connect" options="remotehost=h protocol=tcp" />'
    )
    found = [outcome(partial(translated, text), ProfileError) for text in (WHOLE[name], spaced, connecting)]
    SNAPSHOTS.check(f"text: {name}", found)


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str) -> None:
    SNAPSHOTS.check(f"shape: {name}", outcome(lambda: translated(SHAPES[name]), ProfileError))


def test_quantities() -> None:
    readers = (integer, time_ns, leading_integer, is_perhaps_minutes)
    found = {
        f"{read.__name__} {text}": outcome(partial(read, text), ValueError) for read in readers for text in NUMBERS
    }
    SNAPSHOTS.check("quantities", found)


def test_options() -> None:
    known = {"size": "3k", "SIZE": "4k", "empty": ""}
    SNAPSHOTS.check("options", {text: outcome(partial(parse_options, text, known), ValueError) for text in OPTIONS})


def test_words() -> None:
    texts = (
        'a "b c" d',
        'a="b"c',
        "a = b",
        "a =b",
        "a= b",
        "< group",
        "</ group",
        'a="b" = c',
        "a\x01b > c>",
        "> >",
        '"" ">"',
    )
    SNAPSHOTS.check("words", {text: tokenize(text, "x.xml") for text in texts})


def test_files_are_sent_by_name(tmp_path: Path) -> None:
    for name in ("b", "a/z", "a/c", "empty"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("" if name == "empty" else name * 3)
    text = flowops('<flowop type="sendfile" options="dir=$dir size=4k count=2"/>')
    steps = translated(text, {"dir": str(tmp_path)}).workload["groups"][0]["transactions"][1]["steps"]
    files = [{"path": str(tmp_path / name), "length_bytes": size} for name, size in (("b", 3), ("a/c", 9), ("a/z", 9))]
    assert steps == [
        {
            "operation": {"operation": "send_file", "connection": 0, "files": files, "call_bytes": 4096},
            "count": 2,
            "can_fail": False,
        }
    ]
    (tmp_path / "b").unlink()
    for name in ("a/z", "a/c"):
        (tmp_path / name).unlink()
    assert "holds no file with content" in str(outcome(lambda: translated(text, {"dir": str(tmp_path)}), ProfileError))
