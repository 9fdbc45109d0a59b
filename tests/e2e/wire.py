"""What really went over the testbed's link: tcpdump records it, tshark reads it."""

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

#: tshark's field, the column here, its type. Flags and lengths are those of single captured packets.
FIELDS = (
    ("tcp.stream", "stream", pl.Int64),
    ("tcp.srcport", "from_port", pl.Int64),
    ("tcp.dstport", "to_port", pl.Int64),
    ("tcp.seq_raw", "sequence", pl.Int64),
    ("tcp.len", "payload_bytes", pl.Int64),
    ("tcp.flags.syn", "syn", pl.Int64),
    ("tcp.flags.fin", "fin", pl.Int64),
    ("tcp.flags.reset", "reset", pl.Int64),
    ("tcp.window_size_value", "window_field", pl.Int64),
    ("tcp.options.wscale.shift", "scale_offered", pl.Int64),
    ("frame.len", "frame_bytes", pl.Int64),
    ("ip.dsfield.dscp", "dscp", pl.Int64),
)
ETHERNET_HEADER_BYTES = 14


@contextmanager
def capture(netns: str, device: str, path: Path, most_bytes: int = 160, chosen: str = "tcp") -> Iterator[None]:
    """Captures packets of a device inside a network namespace, so much of each one; fails if one was missed."""
    argv = [
        "nsenter",
        f"--net={netns}",
        "tcpdump",
        "-i",
        device,
        "-n",
        "-s",
        str(most_bytes),
        "-B",
        "65536",
        "-Z",
        "root",
    ]
    argv += ["--immediate-mode", "-U", "-w", str(path), chosen]
    tcpdump = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
    assert tcpdump.stderr is not None
    try:
        while "listening on" not in (line := tcpdump.stderr.readline()):
            assert line, "tcpdump did not start"
        yield
    finally:
        _await_quiet(path)
        tcpdump.send_signal(signal.SIGINT)
        said = tcpdump.communicate(timeout=20)[1]
    assert "\n0 packets dropped by kernel" in said, said


def _await_quiet(path: Path) -> None:
    """Waits until the file no longer grows: what tcpdump has not read when it is stopped is lost."""
    before = -1
    while (now := path.stat().st_size) != before:
        before = now
        time.sleep(0.1)


def segments(path: Path) -> pl.DataFrame:
    """A row a captured packet, in order, with the window it announces in bytes."""
    argv = ["tshark", "-n", "-r", str(path), "-T", "fields", "-E", "occurrence=f", "-Y", "tcp"]
    for option in ("tcp.desegment_tcp_streams", "tcp.analyze_sequence_numbers"):
        argv += ["-o", f"{option}:{str(option.endswith('numbers')).upper()}"]
    for field, _, _ in FIELDS:
        argv += ["-e", field]
    text = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120).stdout
    rows = [[_number(cell) for cell in line.split("\t")] for line in text.splitlines()]
    frame = pl.DataFrame(rows, schema={column: kind for _, column, kind in FIELDS}, orient="row")
    return _with_windows(frame)


def _number(cell: str) -> int | None:
    """A field of tshark's, which writes truth as a number or as a word by its version."""
    return {"": None, "True": 1, "False": 0}.get(cell) if not cell.isdigit() else int(cell)


def _with_windows(frame: pl.DataFrame) -> pl.DataFrame:
    """The announced windows: scaled by what the announcing end offered, except in its SYN (RFC 7323 2.2)."""
    ends = frame.filter(pl.col("syn") == 1).group_by("stream", "from_port")
    offers = ends.agg(pl.col("scale_offered").max(), pl.col("sequence").first().alias("first_sequence"))
    both = offers.group_by("stream").agg(pl.col("scale_offered").is_not_null().all().alias("scaled"))
    joined = frame.drop("scale_offered").join(offers, on=["stream", "from_port"]).join(both, on="stream")
    offset = (pl.col("sequence") - pl.col("first_sequence") - 1) % 2**32
    scale = pl.when(pl.col("scaled") & (pl.col("syn") == 0)).then(pl.col("scale_offered")).otherwise(0)
    return joined.with_columns(
        window_bytes=pl.col("window_field") * (pl.lit(2).cast(pl.Int64) ** scale.fill_null(0)),
        # Bytes of the stream up to this segment's end; the SYN counts as one (RFC 9293 3.4).
        stream_end=pl.when(pl.col("payload_bytes") > 0).then(offset + pl.col("payload_bytes")).otherwise(0),
    )
