"""Goodput and CPU per KByte of whyperf next to iperf3 and nuttcp, interleaved in one run."""
