"""Transports that a library carries: which factors have a meaning there, and what is said of the others."""

import pytest

from whyperf.profile import ProfileError
from whyperf.profile.combination import resolve


@pytest.mark.parametrize("transport", ["udt", "quic", "srt"])
def test_a_cell_has_what_the_library_can_do_and_nothing_of_the_kernels_sockets(transport: str) -> None:
    cell = resolve({"transport": transport, "window_bytes": 1 << 20}, testbed=True)
    assert cell["window_bytes"] == 1 << 20
    assert {"write_size_bytes", "read_size_bytes", "reply_size_bytes", "connections", "direction"} <= cell.keys()
    for name in (
        "no_delay",
        "quick_ack",
        "cork",
        "mss_bytes",
        "dscp",
        "busy_poll_us",
        "zero_copy",
        "read_wait",
        "truncate",
    ):
        assert name not in cell, name


@pytest.mark.parametrize(
    ("transport", "name", "level"),
    [
        ("udt", "no_delay", True),
        ("udt", "congestion_control", "reno"),
        ("udt", "dscp", 8),
        ("udt", "read_wait", "block"),
        ("udt", "truncate", True),
        ("udt", "zero_copy", True),
        ("udt", "send_call", "splice"),
        ("quic", "no_delay", True),
        ("quic", "mss_bytes", 1000),
    ],
)
def test_what_it_does_not_have_is_refused_before_the_run(transport: str, name: str, level: bool | int | str) -> None:
    with pytest.raises(ProfileError, match=f"{transport} has no such setting") as caught:
        resolve({"transport": transport, name: level}, testbed=True)
    assert name in str(caught.value)


@pytest.mark.parametrize("name", ["window_bytes", "quick_ack", "zero_copy", "pacing_rate_bps"])
def test_what_sockets_of_multipath_tcp_lack_is_refused_too(name: str) -> None:
    level = True if name in {"quick_ack", "zero_copy"} else 80_000
    with pytest.raises(ProfileError, match="mptcp has no such setting") as caught:
        resolve({"transport": "mptcp", name: level}, testbed=True)
    assert ("set receive_buffer_bytes and send_buffer_bytes instead" in str(caught.value)) == (name == "window_bytes")


def test_a_unix_socket_cannot_throw_away_in_the_kernel() -> None:
    with pytest.raises(ProfileError, match="unix has no such setting; leave the factor out, or choose another"):
        resolve({"transport": "unix", "truncate": True}, testbed=False)


@pytest.mark.parametrize(("transport", "control"), [("tcp", "default"), ("mptcp", "default"), ("quic", "cubic")])
def test_where_hosts_refuse_the_usual_control_each_has_its_own_and_quic_its_library_s(
    transport: str, control: str
) -> None:
    usual = {"congestion_control": "default"}
    assert resolve({"transport": transport}, testbed=False, usual=usual)["congestion_control"] == control
    chosen = {"transport": transport, "congestion_control": "bbr"}
    assert resolve(chosen, testbed=False, usual=usual)["congestion_control"] == "bbr"


@pytest.mark.parametrize("transport", ["udt", "quic", "srt"])
def test_workloads_but_streams_do_not_run_over_it(transport: str) -> None:
    with pytest.raises(ProfileError, match=f"rr does not run over {transport}"):
        resolve({"transport": transport, "workload": "rr"}, testbed=True)


def test_quic_has_congestion_controls_of_its_own() -> None:
    assert resolve({"transport": "quic", "congestion_control": "bbr"}, testbed=True)["congestion_control"] == "bbr"


@pytest.mark.parametrize("transport", ["udt", "quic", "srt"])
def test_the_probe_goes_next_to_it(transport: str) -> None:
    cell = resolve({"transport": transport, "rtt_probe_ms": 5, "rtt_probe": "icmp"}, testbed=True)
    assert (cell["rtt_probe_ms"], cell["rtt_probe"]) == (5, "icmp")


def test_what_carries_the_probe_needs_a_probe() -> None:
    with pytest.raises(ProfileError, match="set rtt_probe_ms too") as caught:
        resolve({"rtt_probe": "icmp"}, testbed=True)
    assert "rtt_probe" in str(caught.value)


def test_two_libraries_may_compete() -> None:
    cell = resolve({"transport": "udt", "schedule": "mixed", "competitor": "quic"}, testbed=True)
    assert (cell["transport"], cell["competitor"]) == ("udt", "quic")


@pytest.mark.parametrize(
    ("levels", "name", "problem"),
    [
        ({"transport": "quic", "io_model": "epoll"}, "io_model", "quic has a thread for each connection"),
        ({"transport": "udt", "io_model": "io_uring"}, "io_model", "udt has a thread for each connection"),
        ({"transport": "udp", "workload": "udp-rr", "io_model": "io_uring"}, "io_model", "does not carry udp-rr"),
        (
            {"workload": "rr", "io_model": "io_uring", "kernel_timestamps": True},
            "kernel_timestamps",
            'io_model "io_uring" has',
        ),
        ({"workload": "rr", "outstanding": 8, "kernel_timestamps": True}, "kernel_timestamps", "one request at a time"),
        ({"workload": "rr", "zero_copy": True, "kernel_timestamps": True}, "kernel_timestamps", "the same queue"),
    ],
)
def test_what_the_agents_refuse_is_refused_before_the_run(
    levels: dict[str, bool | int | str], name: str, problem: str
) -> None:
    with pytest.raises(ProfileError, match=problem) as caught:
        resolve(levels, testbed=True)
    assert name in str(caught.value)


def test_tls_has_the_options_of_tcp_and_its_own() -> None:
    cell = resolve({"transport": "tls", "window_bytes": 65_536, "no_delay": True, "ktls": "tx"}, testbed=True)
    assert (cell["window_bytes"], cell["no_delay"], cell["ktls"], cell["tls_version"]) == (
        65_536,
        True,
        "tx",
        "default",
    )
    assert not {"zero_copy", "truncate"} & cell.keys()
    assert not {"ktls", "tls_version", "tls_cipher", "tls_record_bytes"} & resolve({}, testbed=True).keys()


@pytest.mark.parametrize(
    ("levels", "name", "problem"),
    [
        ({"ktls": "both", "tls_record_bytes": 1000}, "tls_record_bytes", "set ktls to off"),
        ({"send_call": "sendfile"}, "send_call", "sendfile moves no byte through the agent, which has to encrypt it"),
        ({"workload": "rr", "ktls": "tx"}, "ktls", "both sides of a workload send"),
        ({"io_model": "io_uring"}, "io_model", "the agents encrypt what their calls move"),
        ({"zero_copy": True}, "zero_copy", "tls has no such setting"),
        ({"tls_version": "1.1"}, "tls_version", "1.2"),
        ({"transport": "tcp", "tls_cipher": "aes-128-gcm"}, "tls_cipher", "tcp has no such setting"),
    ],
)
def test_what_tls_cannot_do_is_refused_before_the_run(
    levels: dict[str, bool | int | str], name: str, problem: str
) -> None:
    with pytest.raises(ProfileError, match=problem) as caught:
        resolve({"transport": "tls", **levels}, testbed=True)
    assert name in str(caught.value)


def test_a_file_goes_to_the_kernel_s_tls() -> None:
    assert resolve({"transport": "tls", "send_call": "splice", "ktls": "tx"}, testbed=True)["send_call"] == "splice"
