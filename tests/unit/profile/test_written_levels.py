"""Levels as people write them: units, words, lists and references, for each factor and kind."""
# ruff: noqa: E501 - a case is a line.

import math
from typing import Any

import pytest

from tests.unit.profile.given import parts
from whyperf.profile import BY_NAME, FACTORS, ProfileError, factor_named
from whyperf.profile.errors import suggestion
from whyperf.profile.factor import Factor, cpus_of_list
from whyperf.profile.levels import as_set, levels_of_text, one_level
from whyperf.profile.path_levels import Loss, Queue, loss_of, queue_of

#: Factor | texts of one level, in quotes in a profile or on the command line | that level, as Python writes it.
TEXTS = """
window_bytes | 65536 64K 64k 64KB 64KiB 64kib 65536B | 65536
transfer_bytes | 1.5M 1536K | 1572864
transfer_bytes | 0.5gib 512M | 536870912
pacing_rate_bps | 1.5G 1500M 1.5Gbit/s 1.5Gbps 1.5gb/s 1500000000bit | 1500000000
write_rate_bps | 9600bit 9600bps 9.6K | 9600
offered_rate_per_s | 20K 20K/s 20000/s | 20000.0
duration_s | 120s 2min 120000ms | 120.0
duration_s | 500ms 500000us 500000µs 0.5s 500000000ns | 0.5
path_rtt_ms | 0.1s 100ms 100000us | 100.0
busy_poll_us | 1.5ms 1500us | 1500
path_loss | 0.1% | 0.001
path_reorder | 25% 0.25 | 0.25
path_queue | 250K 256000B | 256000
path_queue | 165p | '165p'
path_queue | 0.5bdp | '0.5bdp'
window_bytes | default | 'default'
rtt_probe_ms | none | 'none'
direction | receive | 'receive'
rps_cpus | off | 'off'
source_address | fe80::1 | 'fe80::1'
congestion_control | a-name_of-15-ch | 'a-name_of-15-ch'
tls_version | 1.3 | '1.3'
"""


@pytest.mark.parametrize(("name", "texts", "level"), parts(TEXTS))
def test_units_and_words(name: str, texts: str, level: str) -> None:
    for text in texts.split():
        option = factor_named(name).parse(text)
        assert repr(option) == level, text
        # A profile takes what stands for a number in quotes only with a unit.
        if not text.replace(".", "").isdecimal() or isinstance(option, str):
            assert repr(factor_named(name).check(text)) == level, text


#: Factor | what an option makes of a text without a unit, as Python writes it.
OPTIONS = """
window_bytes | 8192 | 8192
duration_s | 2 | 2.0
duration_s | 1e3 | 1000.0
path_loss | 1e-5 | 1e-05
ip_version | 6 | 6
no_delay | on | True
no_delay | off | False
window_bytes | " 8K " | 8192
read_size_bytes | =write_size_bytes | '=write_size_bytes'
window_bytes | 4096, 8192 | (4096, 8192)
no_delay | true,false | (True, False)
congestion_control | cubic,bbr | ('cubic', 'bbr')
near_cpus | 0,2 | '0,2'
hosts | a,b | 'a,b'
"""


@pytest.mark.parametrize(("name", "text", "level"), parts(OPTIONS))
def test_options(name: str, text: str, level: str) -> None:
    assert repr(levels_of_text(factor_named(name), text.strip('"'))) == level


#: What a factor takes, and texts and levels of TOML that it does not.
REFUSED: tuple[tuple[str, str, tuple[Any, ...]], ...] = (
    ("window_bytes", "a whole number from 1 byte to 1 GiB or default", (0, -4096, True, 4096.0, "4096", "auto", "1.K", ".5M", "1.3K", "64kbit", "20ms", "50%", None)),
    ("write_size_bytes", "a whole number from 1 byte to 1 GiB", ("default", math.inf, 2**70)),
    ("transfer_bytes", "a whole number from 1 byte on or default", (0, "-1K")),
    ("connections", "a whole number from 1 to 100000", (0, "1K", "four", "1s")),
    ("busy_poll_us", "a whole number from 0 to 1000000 us or default", (-1, "0.0005ms", "2K")),
    ("duration_s", "a number from 0.001 to 604800", (0, math.nan, math.inf, "10K", "20parsecs", "20  ms", "50%")),
    ("schedule_scale", "a number from 0.0001 to 10000", ("50%", "1s")),
    ("path_reorder", "a number from 0 to 1", (1.1, -0.1, "101%", "1ms")),
    ("no_delay", "true or false", (1, "maybe", 0.0)),
    ("ip_version", "4 or 6", (5, True, 4.0, "4")),
    ("direction", "send or receive", ("up", "Send", 1)),
    ("congestion_control", "a name or default", ("no such name", "", "a-name-of-sixteen", "a=b")),
    ("workload", "a workload's name", ("Rr", "-rr", "rr-", "a b", 5)),
    ("near_cpus", 'auto, any or a list such as "0" or "0,2-3"', ("0;1", "", "3-", "0,any", "off", 0)),
    ("source_address", "a numeric address such as 10.0.0.1 or default", ("10.0.0", "fe80::1%eth0", "host7", 1)),
    ("hosts", "one host of the model such as sparc2+sba-100@2.2.6, two as SENDER,RECEIVER or none", ("a,b,c", "a b", "a=b", "")),
    ("path_queue", "165p", (0, "0p", "0bdp", "-1", "p", "1.5p", "bpd", True, "1s")),
    ("path_loss", "segments:1000+1003", (1.1, -0.1, math.nan, "bursts:0.1", "bursts:2/1", "segments:0", "segments:5+5", "segments:7+5", "segments:", True)),
)  # fmt: skip


@pytest.mark.parametrize(("name", "takes", "written"), REFUSED)
def test_what_is_no_level_is_refused_with_what_is(name: str, takes: str, written: tuple[Any, ...]) -> None:
    for level in written:
        with pytest.raises(ProfileError) as caught:
            factor_named(name).check(level)
        assert caught.value.key == name
        shown = str(level).lower() if isinstance(level, bool) else f'"{level}"' if isinstance(level, str) else level
        assert caught.value.problem.startswith(f"invalid value {shown}; give ")
        assert takes in caught.value.problem


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("duration_s", "10K", "to 604800 s, such as 10s; ns, us, ms, s, min and h may follow the number"),
        ("path_rtt_ms", "10 m", "to 60000 ms or none, such as 20ms; ns, us, ms, s, min and h may follow the number"),
        ("offered_rate_per_s", "1ms", "transactions/s or default, such as 10K; K, M and G are powers of 1000"),
        ("path_reorder", "1ms", "from 0 to 1, such as 0.1%"),
        ("path_loss", "1ms", 'or segments such as "segments:1000+1003" or none'),
        ("window_bytes", "64Kbit", "or default, such as 64K; K, M and G are powers of 1024"),
        ("connections", "1K", "from 1 to 100000 connections"),
        ("schedule_scale", "1s", "from 0.0001 to 10000"),
    ],
)
def test_a_number_with_another_unit_gets_the_unit_in_its_error(name: str, text: str, message: str) -> None:
    with pytest.raises(ProfileError) as caught:
        BY_NAME[name].parse(text)
    assert caught.value.problem.endswith(message)


#: Limits that are somebody else's: factor | lowest | highest | whose.
LIMITS = """
mss_bytes | 88 | 32767 | TCP_MIN_MSS and MAX_TCP_WINDOW of Linux (include/net/tcp.h)
dscp | 0 | 63 | six bits (RFC 2474)
mtu_bytes | 68 | 65535 | RFC 791
window_bytes | 1 | 1073741824 | 2^30 (RFC 7323 section 2.3)
datagram_size_bytes | 24 | 65507 | 65535 less the headers of IPv4 and UDP (RFC 768); whyperf's own header
datagram_batch | 1 | 128 | UDP_MAX_SEGMENTS (include/linux/udp.h)
sctp_streams | 1 | 65535 | 16 bits (RFC 9260 section 3.3.2)
tls_record_bytes | 64 | 16384 | 2^14 (RFC 8446 section 5.1); RFC 8449
path_red_probability | 0.000000001 | 1 | a probability
"""


@pytest.mark.parametrize(("name", "low", "high", "whose"), parts(LIMITS))
def test_limits(name: str, low: str, high: str, whose: str) -> None:
    assert whose
    assert (BY_NAME[name].low, BY_NAME[name].high) == (float(low), float(high))


@pytest.mark.parametrize("factor", FACTORS, ids=lambda factor: factor.name)
def test_a_factor_takes_its_default_its_words_and_what_is_in_its_bounds(factor: Factor) -> None:
    assert BY_NAME[factor.name] is factor
    assert factor.help.endswith(".")
    for level in (factor.default, *factor.keywords, *factor.choices):
        text = str(level).lower() if isinstance(level, bool) else str(level)
        assert factor.check(level) == factor.parse(text) == level
    whole = factor.kind == "int"
    for bound, outside in ((factor.low, -1), (factor.high, 1)):
        if math.isfinite(bound):
            level = int(bound) if whole else bound
            assert type(factor.check(level)) is (int if whole else float)
            with pytest.raises(ProfileError, match=r"invalid value .*; give "):
                factor.check(level + (outside if whole else outside * max(1e-9, abs(level) * 1e-9)))


def test_a_single_level_or_a_reference() -> None:
    factor = BY_NAME["write_size_bytes"]
    assert one_level(factor, "=window_bytes") == "=window_bytes"
    for written, says in (
        ("=windw_bytes", '"=windw_bytes" names no factor; did you mean window_bytes?'),
        ("=write_size_bytes", '"=write_size_bytes" refers to itself; name another factor'),
        ([1], "one level belongs here; lists and ranges belong in a sweep's factors"),
        ({"from": 1}, "one level belongs here"),
    ):
        with pytest.raises(ProfileError) as caught:
            one_level(factor, written)
        assert caught.value.problem.startswith(says)


@pytest.mark.parametrize(
    ("text", "cpus"), [("0", [0]), ("0,2-3", [0, 2, 3]), ("0-3,8", [0, 1, 2, 3, 8]), ("any", []), ("=near_cpus", [])]
)
def test_cpus_of_a_list(text: str, cpus: list[int]) -> None:
    assert cpus_of_list(text) == cpus


@pytest.mark.parametrize("text", ["0-99999,0-99999", "0-9999999"])
def test_a_text_that_is_no_list_names_no_endless_cpus(text: str) -> None:
    """The level of a stored plan may be any text."""
    assert cpus_of_list(text)[:100_001] == list(range(100_000))


def test_forms_of_queues_and_losses() -> None:
    assert [queue_of(level) for level in (9000, "165p", "bdp", "0.5bdp", "x")] == [
        Queue(bytes=9000),
        Queue(packets=165),
        Queue(products=1),
        Queue(products=0.5),
        None,
    ]
    # Gilbert and Elliott's p, r, loss in bursts, loss between.
    assert [
        loss_of(level) for level in (0.5, "bursts:0.01/0.25", "bursts:1e-3/0.25/0.5/0.001", "segments:5+7", "x")
    ] == [
        Loss(share=0.5),
        Loss(bursts=(0.01, 0.25, 1, 0)),
        Loss(bursts=(0.001, 0.25, 0.5, 0.001)),
        Loss(segments=(5, 7)),
        None,
    ]


#: What somebody wrote | what is suggested of `KNOWN`.
KNOWN = ("size", "write_size", "write_size_bytes", "read_size", "request_size", "count", "window")
SUGGESTED = """
wind | ; did you mean window?
write | ; did you mean write_size or write_size_bytes?
size | ; did you mean size, read_size or write_size?
cuont | ; did you mean count?
write_size_bytes_2 | ; did you mean write_size or write_size_bytes?
zzzz | ; known: count, read_size, request_size, size, window, write_size, write_size_bytes
"""


@pytest.mark.parametrize(("word", "says"), parts(SUGGESTED))
def test_suggestions(word: str, says: str) -> None:
    assert suggestion(word, KNOWN) == says


def test_what_is_suggested_where_nothing_is_near() -> None:
    assert suggestion("zzzz", KNOWN, listed_by="whyperf list") == "; `whyperf list` lists what there is"
    assert suggestion("zzzz", ()) == ""


def test_levels_as_options() -> None:
    assert as_set({"no_delay": True, "window_bytes": 8192}) == ["no_delay=true", "window_bytes=8192"]
