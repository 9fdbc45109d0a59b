"""The factor table against the levels people write."""

import pytest

from whyperf.profile import BY_NAME, FACTORS, ProfileError, factor_named


def test_every_default_is_a_level_of_its_factor() -> None:
    for factor in FACTORS:
        assert factor.check(factor.default) == factor.default
        assert factor.help.endswith(".")


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("window_bytes", 0),
        ("window_bytes", -4096),
        ("window_bytes", True),
        ("window_bytes", 4096.0),
        ("window_bytes", "4096"),
        ("window_bytes", "auto"),
        ("write_size_bytes", "default"),
        ("connections", 0),
        ("no_delay", 1),
        ("ip_version", 5),
        ("ip_version", True),
        ("ip_version", 4.0),
        ("direction", "up"),
        ("duration_s", 0),
        ("duration_s", float("nan")),
        ("duration_s", float("inf")),
        ("mtu_bytes", 67),
        ("mtu_bytes", 65536),
        ("mss_bytes", 40000),
        ("congestion_control", "no such name"),
        ("near_cpus", "0;1"),
        ("near_cpus", ""),
    ],
)
def test_what_is_not_a_level_is_refused_with_what_is(name: str, level: object) -> None:
    with pytest.raises(ProfileError) as caught:
        factor_named(name).check(level)
    assert name in str(caught.value)
    assert "it takes" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "level"),
    [
        ("window_bytes", "8192", 8192),
        ("window_bytes", "64K", 65536),
        ("window_bytes", "64KB", 65536),
        ("window_bytes", "64KiB", 65536),
        ("transfer_bytes", "1.5M", 1572864),
        ("pacing_rate_bps", "1.5G", 1_500_000_000),
        ("write_rate_bps", "100Mbps", 100_000_000),
        ("offered_rate_per_s", "20K", 20_000.0),
        ("transfer_bytes", "0.5gib", 1 << 29),
        ("transfer_bytes", "1g", 1 << 30),
        ("window_bytes", "1000B", 1000),
        ("transfer_bytes", "1T", 1 << 40),
        ("path_rate_bps", "1.5Gbit/s", 1_500_000_000),
        ("path_rate_bps", "9600bit", 9600),
        ("duration_s", "500ms", 0.5),
        ("duration_s", "2min", 120.0),
        ("path_rtt_ms", "0.1s", 100.0),
        ("path_rtt_ms", "10us", 0.01),
        ("busy_poll_us", "1.5ms", 1500),
        ("interval_ms", "1 s", 1000),
        ("path_loss", "0.1%", 0.001),
        ("path_reorder", "25 %", 0.25),
        ("path_queue", "250K", 256_000),
        ("path_queue", "165p", "165p"),
        ("window_bytes", "default", "default"),
        ("duration_s", "2", 2.0),
        ("no_delay", "on", True),
        ("direction", "receive", "receive"),
        ("ip_version", "6", 6),
        ("far_cpus", "0,2-3", "0,2-3"),
        ("read_size_bytes", "=write_size_bytes", "=write_size_bytes"),
    ],
)
def test_options_are_read_as_levels(name: str, text: str, level: object) -> None:
    parsed = factor_named(name).parse(text)
    assert parsed == level
    assert type(parsed) is type(level)


@pytest.mark.parametrize(
    ("name", "written", "level"),
    [("path_loss", "0.1%", 0.001), ("path_rtt_ms", "20ms", 20.0), ("write_rate_bps", "200M", 200_000_000)],
)
def test_a_profile_takes_units_in_quotes(name: str, written: str, level: object) -> None:
    assert factor_named(name).check(written) == level


def test_a_percentage_is_for_ratios_alone() -> None:
    for name in ("schedule_scale", "duration_s", "path_ack_thinning"):
        with pytest.raises(ProfileError, match="is not a level"):
            factor_named(name).parse("50%")
    with pytest.raises(ProfileError, match='"101%" is not a level'):
        factor_named("path_loss").parse("101%")


def test_a_size_suffix_is_for_bytes_alone() -> None:
    with pytest.raises(ProfileError, match="connections"):
        factor_named("connections").parse("1K")
    for text in ("1.3K", "64Ki2", "1.K", ".5M", "64kbit"):
        with pytest.raises(ProfileError, match="is not a level"):
            factor_named("window_bytes").parse(text)


def test_whole_seconds_become_a_float_so_that_10_and_10_0_are_one_plan() -> None:
    assert isinstance(BY_NAME["duration_s"].check(10), float)


def test_a_misspelled_factor_is_recognized() -> None:
    with pytest.raises(ProfileError, match="did you mean window_bytes"):
        factor_named("windw_bytes")
