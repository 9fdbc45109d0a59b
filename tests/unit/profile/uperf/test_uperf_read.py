"""Elements and attributes: uperf's flat state machine."""

import pytest

from tests.unit.profile.uperf.uperf_profiles import VARIABLES
from whyperf.profile.errors import ProfileError
from whyperf.profile.uperf.elements import MAX_GROUPS, MAX_TRANSACTIONS, Tree, read


def elements(text: str) -> Tree:
    """The tree of a profile that is named x.xml."""
    return read(text, "x.xml", VARIABLES)


def shape(tree: Tree) -> list[list[list[str]]]:
    """Types of flowops, by group and transaction."""
    return [[[flowop.type for flowop in t.flowops] for t in group.transactions] for group in tree.groups]


WELL = """<profile name="p"> <group nthreads="2"> <transaction iterations="3">
<flowop type="write" options="size=1"/> <flowop type="nop"/> </transaction> </group> </profile>"""


def test_a_profile_without_its_end_may_be_cut_off() -> None:
    note = "x.xml: the text ends without </profile>, which uperf takes for its end too; it may be cut off."
    assert elements(WELL).notes == []
    assert elements(WELL[: WELL.index('<flowop type="nop')]).notes == [note]
    # A list of groups without a profile around them is what it is.
    assert elements("<group nthreads=1 > <transaction> </transaction> </group>").notes == []


def test_a_whole_profile() -> None:
    tree = elements(WELL)
    (group,) = tree.groups
    (transaction,) = group.transactions
    assert (tree.name, group.name, group.strands, transaction.iterations) == ("p", "Group0", 2, 3)
    assert [(flowop.type, flowop.line) for flowop in transaction.flowops] == [("write", 2), ("nop", 2)]
    assert transaction.flowops[0].options.given == {"size": 1}


@pytest.mark.parametrize(
    "text",
    [
        WELL.replace("</transaction>", ""),
        WELL.replace("</transaction>", "</transaction> </transaction>"),
        WELL.replace("</transaction>", "</transactions>"),
        WELL.replace("</group>", ""),
        WELL.replace("</profile>", ""),
        WELL.replace('<profile name="p">', ""),
        WELL.replace("profile", "PROFILE").replace("group", "Group"),
        WELL.replace("<transaction", "<transactions"),
        WELL.replace("</transaction> </group>", "</transaction></group>"),
        "<?xml version=1.0?>" + WELL,
    ],
)
def test_what_uperf_takes_though_it_is_no_xml(text: str) -> None:
    assert shape(elements(text)) == [[["write", "nop"]]]


def test_a_transaction_without_its_end_ends_where_the_next_begins() -> None:
    text = "<group nthreads=1 > <transaction> <flowop type=nop /> <transaction> <flowop type=read /> </group>"
    assert shape(elements(text)) == [[["nop"], ["read"]]]


def test_attributes() -> None:
    text = """<profile name=p> <group nprocs=4 nthreads=2 name=g1 >
        <transaction duration=2 iterations=7 rate=1k name=renames-the-group > </transaction> </group>
        <group nthreads=1 > </group> </profile>"""
    first, second = elements(text).groups
    # The last number counts, and a name anywhere in a group is the group's.
    assert (first.strands, first.are_processes, first.name) == (2, True, "renames-the-group")
    assert (second.strands, second.are_processes, second.name) == (1, False, "Group1")
    (transaction,) = first.transactions
    assert (transaction.duration_ns, transaction.iterations, transaction.rate) == (2 * 10**9, 7, 1024)


def test_a_later_attribute_of_a_flowop_counts() -> None:
    text = "<group nthreads=1 > <transaction> <flowop type=nop type=read options=size=1 options=count=2 />"
    (flowop,) = elements(text).groups[0].transactions[0].flowops
    assert (flowop.type, flowop.options.given) == ("read", {"size": 1, "count": 2})


def test_variables() -> None:
    tree = elements('<group nthreads=$nthr > <transaction duration=$dur > <flowop options="size=$size" />')
    assert tree.groups[0].strands == 3
    assert tree.groups[0].transactions[0].flowops[0].options.given == {"size": 2048}


def test_all_options_may_come_from_a_variable_and_keep_their_case() -> None:
    tree = read("<group> <transaction> <flowop options=$o />", "x", {"o": "dir=/A size=$B", "B": "3"})
    assert tree.groups[0].transactions[0].flowops[0].options.given == {"dir": "/A", "size": 3}


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('"2"> <trans', '"2"><trans', 'line 1: "><transaction" is unknown; uperf needs a blank or a new line'),
        ("/> <flowop", "/><flowop", 'line 2: "/><flowop" holds two elements, and uperf would lose the second'),
        ('"p"> <group', '"p"> </profile><group', 'line 1: "</profile><group" holds two elements'),
        ('<group nthreads="2"', '<groupnthreads="2"', 'line 1: "<groupnthreads=2" holds an attribute that uperf'),
        ("<profile", "<!DOCTYPE x> <profile", 'line 1: "<!doctype" is unknown; uperf takes no document type'),
        ("<profile", "<workload", 'line 1: "<workload" is unknown; elements are profile, group'),
        ("nthreads=", "threads=", 'line 1: "threads=2" is unknown; there is no such attribute; did you mean nthreads?'),
        ('type="write"', "type='write'", "line 2: flowop \"'write'\" is unknown; leave the single quotes away"),
        ('type="write"', 'type="wirte"', 'line 2: flowop "wirte" is unknown; did you mean write?'),
        ('type="nop"/>', "type=nop/>", 'line 2: "type=nop/>" has the end of its element in it'),
        ('nthreads="2"', 'nthreads="$x"', "line 1: nthreads takes its value from $x, which is not set"),
        ('nthreads="2"', 'nthreads="2m"', "line 1: nthreads=2m is more than 1000000 virtual users"),
        ('nthreads="2"', "nthreads=2", 'line 1: "nthreads=2>" has the end of its element in it, for uperf too'),
        ('iterations="3"', 'iterations="-1"', "line 1: iterations=-1 is not a number"),
        ('iterations="3"', 'rate="fast"', "line 1: rate=fast is not a number"),
        ("<transaction", "</group> <transaction", "line 1: <transaction> stands outside a group"),
        ("<flowop", "</transaction> <flowop", "line 2: <flowop> stands outside a transaction"),
        ("<flowop", 'type="nop" <flowop', "line 2: type=nop stands outside a flowop"),
        ("<group", "nthreads=1 <group", "line 1: nthreads=1 stands outside a group"),
    ],
)  # fmt: skip
def test_refusals(before: str, after: str, says: str) -> None:
    assert before in WELL
    with pytest.raises(ProfileError) as caught:
        elements(WELL.replace(before, after, 1))
    assert str(caught.value).startswith(f"x.xml: {says}")


def test_a_flowop_in_a_group_without_a_transaction() -> None:
    with pytest.raises(ProfileError, match="line 2: <flowop> stands in a group without a transaction"):
        elements("<group> <transaction> <group>\n<flowop")


def test_uperfs_tables_are_not_overrun() -> None:
    with pytest.raises(ProfileError, match=f"over {MAX_GROUPS} groups"):
        elements("<group " * (MAX_GROUPS + 1))
    with pytest.raises(ProfileError, match=f"over {MAX_TRANSACTIONS} transactions"):
        elements("<group " + "<transaction " * (MAX_TRANSACTIONS + 1))


def test_times_that_look_like_minutes_are_reported() -> None:
    tree = elements("<group>\n<transaction duration=2min >")
    assert tree.notes == ["x.xml: line 2: duration=2min is in milliseconds, as in uperf."]
