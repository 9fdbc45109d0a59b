"""Goodput and CPU per KByte of whyperf beside iperf3 and nuttcp, interleaved in one run."""
