"""What a window leaves of a line: a sender that waits for acknowledgments, frame by frame.

Not modeled: loss, and timers. An acknowledgment that the receiver would hold back (TCP's delayed ACK, NetBIOS below
`maxin`) leaves at once when the sender's window is closed, because LLC type 2 polls then and TCP's receiver reads.
Where a measurement is slower than this, a timer is what it waits for.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import lcm

#: The pattern of frames and acknowledgments repeats after a window's worth, or settles sooner. That many frames and
#: windows pass before the rate is taken, and as many again while it is.
_FRAMES = 1_000
_WINDOWS = 10
_MOST_FRAMES = 200_000


@dataclass(frozen=True)
class Window:
    """How much may be under way before the sender waits."""

    limit: int
    """Bytes of user data, or frames (NetBIOS maxout, packets of a burst)."""
    counts_frames: bool
    acknowledged_every: int
    """Frames between two acknowledgments: TCP's second segment, NetBIOS maxin, the last packet of a burst."""
    latency_s: float
    """From the end of a frame at one host to its arrival at the other, one way, hosts included."""


@dataclass(frozen=True)
class Sent:
    """A frame: its user data in bytes, and for how long it occupies the line, or the host that makes it, in s."""

    user_bytes: int
    seconds: float


@dataclass
class _Sender:
    """A sender, its line, and the acknowledgments on their way to it."""

    window: Window
    acknowledgment_s: float
    shared: bool
    limit: int
    free_s: float = 0.0
    outstanding: int = 0
    unacknowledged: int = 0
    frames_unacknowledged: int = 0
    acknowledgments: deque[tuple[float, int]] = field(default_factory=deque)

    def send(self, weight: int, seconds: float) -> float:
        """Sends a frame as soon as line and window allow; returns when it began, in s."""
        begin_s = self.free_s
        while self.outstanding + weight > self.limit:
            if not self.acknowledgments:
                self._acknowledge()
            arrival_s, opened = self.acknowledgments.popleft()
            self.outstanding -= opened
            begin_s = max(begin_s, arrival_s, self.free_s)
        self.free_s = begin_s + seconds
        self.outstanding += weight
        self.unacknowledged += weight
        self.frames_unacknowledged += 1
        if self.frames_unacknowledged >= self.window.acknowledged_every:
            self._acknowledge()
        return begin_s

    def _acknowledge(self) -> None:
        """The receiver has the frame that ended last and answers. On a shared line the answer takes its turn."""
        arrived_s = self.free_s + self.window.latency_s
        self.acknowledgments.append((arrived_s + self.acknowledgment_s + self.window.latency_s, self.unacknowledged))
        if self.shared:
            self.free_s += self.acknowledgment_s
        self.unacknowledged = self.frames_unacknowledged = 0


def windowed_rate(frames: Sequence[Sent], acknowledgment_s: float, window: Window, *, shared: bool) -> float:
    """User data a second, in bytes, of a sender that repeats `frames` for ever.

    `acknowledgment_s` is how long an acknowledgment occupies the line. A window smaller than a frame lets one frame
    through, as a sender would cut it to the window before it stopped for ever.
    """
    weights = [1 if window.counts_frames else frame.user_bytes for frame in frames]
    limit = max(window.limit, *weights)
    rounds_in_a_window = max(1, limit // sum(weights))
    # Whole windows and whole acknowledgments: the rate is taken from one place of the pattern to the same place later.
    pattern = lcm(rounds_in_a_window, window.acknowledged_every)
    least = -(-max(_FRAMES, _WINDOWS * rounds_in_a_window * len(frames)) // len(frames))
    rounds = min(_MOST_FRAMES // len(frames) + 1, -(-least // pattern) * pattern)
    sender = _Sender(window, acknowledgment_s, shared, limit)
    begins_s = []
    for _ in range(2 * rounds + 1):
        sent = [sender.send(weight, frame.seconds) for weight, frame in zip(weights, frames, strict=True)]
        begins_s.append(sent[0])
    return rounds * sum(frame.user_bytes for frame in frames) / (begins_s[2 * rounds] - begins_s[rounds])
