"""Which segments of a trial have stage times."""

from collections.abc import Mapping
from typing import Any

from whyperf.plan import PlannedStages, PlannedWorkload
from whyperf.wire import StagesSpec

#: Of so many blocks one is sampled at first where nothing was asked.
ONE_IN = 4
ONE_IN_OF_MESSAGES = 2
#: Share of the CPUs' time that the programs may take then, in millionths; with more, fewer blocks are sampled.
OVERHEAD_PPM = 20_000
#: For so long the programs are attached in each second of a stream: hooks that run programs cost it most.
WINDOW_MS = 30
#: A shorter trial would have hardly a window.
MIN_WINDOWED_S = 2.0
#: The largest super-segment that most devices take, which streams are sent in.
SUPER_SEGMENT_BYTES = 65_536
#: Segments or calls in a block: the first in a block may lack its first stages.
BLOCK_PARTS = 8
#: Factors that are the sizes of a workload's messages.
MESSAGE_SIZES = ("request_size_bytes", "response_size_bytes")
MIN_BLOCK_BYTES, MAX_BLOCK_BYTES = 2**7, 2**23


def stages_spec(planned: PlannedStages, levels: Mapping[str, Any], workload: PlannedWorkload | None) -> StagesSpec:
    """The request to both hosts.

    Of a stream a block holds some super-segments and some calls; of single messages, or of a workload, some messages.
    A load of messages moves so few bytes that more of its blocks are sampled, and all the time.
    """
    has_messages = workload is not None or levels["reply_size_bytes"] > 0
    # A segment on an emulated path would leave in one window and arrive after it.
    is_short = levels.get("duration_s", 0.0) < MIN_WINDOWED_S
    has_windows = not (planned.one_in or has_messages or is_short) and levels.get("path_rtt_ms", "none") == "none"
    parts = [SUPER_SEGMENT_BYTES, levels["write_size_bytes"], levels["read_size_bytes"]]
    if workload is None and levels["reply_size_bytes"]:
        parts = [levels["write_size_bytes"], levels["reply_size_bytes"]]
    elif workload is not None:
        asked = [levels[name] for name in MESSAGE_SIZES if isinstance(levels.get(name), int)]
        # Without them it is one of writes.
        parts = asked or [levels["write_size_bytes"]]
    wanted = BLOCK_PARTS * max(parts)
    block_bytes = min(max(1 << (wanted - 1).bit_length(), MIN_BLOCK_BYTES), MAX_BLOCK_BYTES)
    return {
        "block_bytes": block_bytes,
        "one_in_count": planned.one_in or (ONE_IN_OF_MESSAGES if has_messages else ONE_IN),
        "overhead_ppm": 0 if planned.one_in else OVERHEAD_PPM,
        "window_ms": WINDOW_MS if has_windows else 0,
    }
