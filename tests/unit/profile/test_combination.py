"""Which factors a cell has, what their defaults stand for, and which of them contradict each other."""
# ruff: noqa: E501 - a case is a line.

import pytest

from tests.unit.profile.given import cell, check_refused, levels
from whyperf.profile import FACTORS, ProfileError, is_plain, resolve
from whyperf.profile.workload import read_workload

#: Levels that are given | what the cell has; `-name` is a factor that it does not have.
CELLS = """
| workload=stream transport=tcp io_model=blocking connections=1 write_size_bytes=131072 read_size_bytes=131072 direction=send schedule=none
| duration_s=10 warmup_s=1 cooldown_s=0.2 deadline_s=60 transfer_bytes=default mtu_bytes=1500 tso=true
| -request_size_bytes -datagram_size_bytes -idle_connections -kernel_timestamps -schedule_scale -competitor -path_rtt_ms -hosts -threads -tls_version -sctp_streams
transfer_bytes=1K | transfer_bytes=1024 deadline_s=60 -duration_s -warmup_s -cooldown_s
duration_s=60 | deadline_s=91.2
duration_s=59 warmup_s=0.5 cooldown_s=0.4 deadline_s=60 | deadline_s=60
write_size_bytes=4K read_size_bytes==write_size_bytes | read_size_bytes=4096
io_model=epoll | threads=auto read_size_bytes=131072 -read_wait -reply_size_bytes -write_rate_bps -schedule
workload=stream-receive | io_model=blocking read_size_bytes=131072 -direction
workload=rr | io_model=blocking no_delay=true request_size_bytes=1 response_size_bytes=1 arrivals=auto kernel_timestamps=false -write_size_bytes -read_size_bytes -direction
workload=rr request_size_bytes=100 | response_size_bytes=100
workload=rr request_size_bytes=100 response_size_bytes=7 no_delay=false | response_size_bytes=7 no_delay=false
workload=rr connections=4 | io_model=blocking
workload=rr connections=5 | io_model=epoll
workload=idle-connections | io_model=epoll idle_connections=1000
workload=burst | request_size_bytes=1024 think_us=1000 burst_count=16
workload=udp-stream | transport=udp io_model=blocking datagram_size_bytes=1472 -no_delay -congestion_control
workload=udp-stream transport=quic | datagram_size_bytes=1400
workload=udp-stream transport=quic datagram_size_bytes=1000 | datagram_size_bytes=1000
transport=unix | -no_delay -dscp -rtt_probe_ms
transport=quic congestion_control=bbr window_bytes=1M rtt_probe_ms=5 rtt_probe=icmp | congestion_control=bbr window_bytes=1048576 rtt_probe_ms=5 rtt_probe=icmp -no_delay -mss_bytes -dscp -read_wait
transport=udt | window_bytes=default direction=send -congestion_control -truncate -zero_copy -busy_poll_us
transport=srt | reply_size_bytes=0 -quick_ack -cork
transport=mptcp | truncate=false -window_bytes -quick_ack -zero_copy
transport=tls window_bytes=64K no_delay=true ktls=tx | window_bytes=65536 no_delay=true ktls=tx tls_version=default -zero_copy -truncate
transport=sctp | sctp_streams=default no_delay=false -cork
schedule=mixed | duration_s=480 warmup_s=0 cooldown_s=0 deadline_s=510 competitor=cubic connections=1 -schedule_order
schedule=mixed schedule_scale=0.5 competitor=srt | duration_s=240 deadline_s=270 competitor=srt
transport=udt schedule=mixed competitor=quic | transport=udt competitor=quic
schedule=seven-regions schedule_order=fifo | schedule_order=fifo duration_s=960 -competitor
schedule=single-and-parallel direction=receive | direction=receive -connections
schedule=forward-reverse connections=3 | connections=3 -direction
path_rtt_ms=20 | path_implementation=auto path_loss=none path_rate_bps=none tso=true path_jitter_us=0 -path_queue -path_discipline
path_rate_bps=10M path_queue=100p | path_rtt_ms=none path_discipline=drop_tail path_cross_rate_bps=0 -path_ecn -path_cross_period_ms
path_rtt_ms=20 path_rate_bps=10M path_discipline=red | path_ecn=false path_red_probability=0.1 -path_codel_target_ms
path_rtt_ms=20 path_rate_bps=10M path_cross_rate_bps=1M | path_cross_period_ms=10000 path_cross_packet_bytes=1514
path_rtt_ms=20 path_implementation=netem gro=true | tso=false gso=false gro=true
"""


@pytest.mark.parametrize("case", CELLS.strip().splitlines())
def test_a_cell_has_these_levels(case: str) -> None:
    given, expected = case.split("|")
    stated = expected.split()
    found = cell(given)
    present = levels(" ".join(word for word in stated if not word.startswith("-")))
    assert {name: found.get(name) for name in present} == present
    assert not found.keys() & {word.removeprefix("-") for word in stated if word.startswith("-")}
    assert list(found) == [factor.name for factor in FACTORS if factor.name in found]


#: Settings of the devices and kernels of the embedded testbed, and of hosts of the model.
OF_TESTBED = {
    "mtu_bytes",
    "tso",
    "gso",
    "gro",
    "rps_cpus",
    "threaded_napi",
    "tcp_limit_output_bytes",
    "tcp_autocorking",
}
OF_TESTBED |= {"tcp_tso_win_divisor", "firewall_rules"}
OF_MODEL = {"hosts", "link", "adapters", "bus_bytes_per_s", "duplex", "maxpsz_multiplier", "copy_limit_bytes"}


def test_testbed_and_model_have_settings_of_their_own() -> None:
    network = cell("", "network").keys()
    assert cell("").keys() - network == OF_TESTBED
    assert cell("", "model").keys() - network == OF_MODEL
    assert network <= cell("").keys() & cell("", "model").keys()
    # The model's hosts have an MTU and offloads where the profile states them.
    assert cell("mtu_bytes=9188 tso=false", "model").keys() - network == OF_MODEL | {"mtu_bytes", "tso"}
    assert "mtu_bytes" not in cell("mtu_bytes=9188", "network")


def test_levels_that_the_hosts_allow_take_the_place_of_defaults() -> None:
    usual = {"congestion_control": "default"}
    for given, control in (
        ("", "default"),
        ("transport=mptcp", "default"),
        # Its congestion controls are the library's.
        ("transport=quic", "cubic"),
        ("congestion_control=bbr", "bbr"),
    ):
        assert resolve(levels(given), testbed=False, usual=usual)["congestion_control"] == control


def test_a_stream_in_blocking_calls_is_plain() -> None:
    for given, plain in (
        ("", True),
        ("workload=stream-receive", True),
        ("io_model=epoll", False),
        ("workload=rr", False),
    ):
        assert is_plain(cell(given)) is plain


#: Levels | the factor at fault | what is said.
REFUSED = """
duration_s=20 transfer_bytes=1K | duration_s | transfer_bytes ends the trial by bytes, so it has no timed phases; keep one of the two
duration_s=60 warmup_s=0 cooldown_s=0 deadline_s=60 | deadline_s | 60 s end before warm-up, measurement and cool-down (60 s); raise it
duration_s=20 warmup_s=30 deadline_s=50 | deadline_s | 50 s end before warm-up, measurement and cool-down (50.2 s); raise it
workload=rrr | workload | there is no workload "rrr"; did you mean rr?
workload=rr transport=udp | transport | rr does not run over udp; it takes tcp or mptcp or unix or tls or sctp; udp-stream and udp-rr run over udp
workload=udp-stream transport=tcp | transport | udp-stream does not run over tcp; it takes udp or quic
workload=rr transport=quic | transport | rr does not run over quic; it takes tcp
transport=udp | transport | stream does not run over udp;
workload=stream request_size_bytes=8 | request_size_bytes | the workload stream has no such setting; it takes write_size_bytes, connections
workload=stream-receive direction=receive | direction | the workload stream-receive has no such setting; it takes
workload=stream kernel_timestamps=true | kernel_timestamps | a stream has no requests; leave the factor out, or choose a workload of requests, such as rr
workload=rr idle_connections=100 | idle_connections | the workload rr has no such setting; it takes
workload=rr kernel_timestamps=true outstanding=8 | kernel_timestamps | the kernel's time stamps are for one request at a time, not 8; set outstanding to 1
workload=rr kernel_timestamps=true zero_copy=true | kernel_timestamps | zero_copy and the kernel's time stamps use the same queue of the socket
workload=rr kernel_timestamps=true io_model=io_uring | kernel_timestamps | io_model "io_uring" has no such setting; choose blocking or epoll, or leave the factor out
workload=bidirectional kernel_timestamps=true | kernel_timestamps | the workload bidirectional has no request with a response; leave the factor out, or choose rr
workload=udp-rr io_model=io_uring | io_model | io_uring does not carry udp-rr over udp; choose blocking or epoll
io_model=epoll read_wait=block | read_wait | a stream in blocking calls has it, epoll has not; leave one of the two out
transport=quic io_model=epoll | io_model | quic has a thread for each connection; choose blocking, or leave the factor out
transport=udt no_delay=true | no_delay | udt has no such setting; leave the factor out, or choose another transport
transport=mptcp window_bytes=80000 | window_bytes | mptcp has no such setting; set receive_buffer_bytes and send_buffer_bytes instead, or choose another transport
transport=mptcp quick_ack=true | quick_ack | mptcp has no such setting; leave the factor out
transport=tcp tls_cipher=aes-128-gcm | tls_cipher | tcp has no such setting
transport=tls io_model=io_uring | io_model | tls has no such model: the agents encrypt what their calls move; choose blocking or epoll
transport=tls ktls=both tls_record_bytes=1000 | tls_record_bytes | the kernel makes its own records of up to 16384 bytes; leave the factor out, or set ktls to off
transport=tls send_call=sendfile | send_call | sendfile moves no byte through the agent, which has to encrypt it; leave the factor out, or set ktls to tx or both
transport=tls workload=rr ktls=tx | ktls | both sides of a workload send
transport==congestion_control | transport | stream does not run over cubic
write_size_bytes==read_size_bytes read_size_bytes==write_size_bytes | write_size_bytes | the references write_size_bytes = read_size_bytes = write_size_bytes form a circle; set one of them
write_size_bytes==window_bytes | write_size_bytes | invalid value "default"; give a whole number from 1 byte to 1 GiB
write_size_bytes==request_size_bytes | write_size_bytes | "=request_size_bytes" has no value in this cell; give a level instead
hosts=sparc2 | hosts | only hosts of the model have this setting; use whyperf model simulate
gso=false | tso | segmentation offload by the device cannot be on with gso off; set tso = false too
threaded_napi=true | threaded_napi | a veth uses NAPI only with gro on and tso off
mtu_bytes=1279 ip_version=6 | mtu_bytes | IP version 6 needs an MTU of 1280, not 1279; raise it
rtt_probe=icmp | rtt_probe | there is no probe to carry; set rtt_probe_ms too
workload=rr arrivals=constant offered_rate_per_s=100 schedule=mixed | schedule | the workload rr has no such setting
"""


@pytest.mark.parametrize("case", REFUSED.strip().splitlines())
def test_what_contradicts_is_refused(case: str) -> None:
    check_refused(case)


def test_a_file_is_not_sent_by_an_agent_that_encrypts(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("files")
    (folder / "file").write_text("content")
    steps = [{"op": "sendfile", "files": ["file"]}]
    own = {"own": read_workload({"group": [{"transaction": [{"steps": steps}]}]}, folder=folder)}
    given = levels("transport=tls") | {"workload": "own"}
    with pytest.raises(ProfileError, match=r"^ktls: sendfile moves no byte through the agent"):
        resolve(given, testbed=True, own=own)
    assert resolve(given | {"ktls": "both"}, testbed=True, own=own)["ktls"] == "both"
