"""The metrics of RFC 6349, "Framework for TCP Throughput Testing"."""

#: Headers of IP and TCP with its timestamps (RFC 7323), which Linux sends in every segment, by IP version.
HEADERS_BYTES = {4: 20 + 20 + 12, 6: 40 + 20 + 12}
ETHERNET_HEADER_BYTES = 14


def ideal_bps(rate_bps: float, mtu_bytes: int, ip_version: int) -> float:
    """Payload that TCP can carry at most over a bottleneck, in bit/s (section 3.3.1).

    `rate_bps` counts the packets of `mtu_bytes` with their Ethernet header, as the emulated path does.
    """
    return rate_bps * (mtu_bytes - HEADERS_BYTES[ip_version]) / (mtu_bytes + ETHERNET_HEADER_BYTES)


def transfer_time_ratio(ideal: float, achieved: float) -> float | None:
    """Actual over ideal transfer time of the same payload (section 4.1); 1 is perfect."""
    return ideal / achieved if achieved > 0 else None


def efficiency_ratio(transmitted: float, retransmitted: float) -> float | None:
    """Share of what was transmitted that was no retransmission (section 4.2), in the same unit both."""
    return (transmitted - retransmitted) / transmitted if transmitted > 0 else None


def buffer_delay_ratio(mean_rtt: float, baseline_rtt: float) -> float | None:
    """The ratio by which a round trip under load is longer than the baseline (section 4.3); 0 is no queue."""
    return (mean_rtt - baseline_rtt) / baseline_rtt if baseline_rtt > 0 else None
