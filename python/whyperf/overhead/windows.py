"""The part of a line that a window leaves: a sender that waits for acknowledgments, frame by frame.

Not modeled: loss, and timers. An acknowledgment that the receiver would hold back (TCP's delayed ACK, NetBIOS below
`maxin`) leaves at once when the sender's window is closed, because LLC type 2 polls then and TCP's receiver reads.
Where a measurement is slower than this, a timer is what it waits for.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

#: Frames after which the rate is taken although nothing has repeated.
_MAX_FRAMES = 200_000
#: Two instants are the same if they differ by less than this share of the shortest frame: sums of floats.
_SAME = 1e-6


@dataclass(frozen=True)
class Window:
    """The amount that may be under way before the sender waits."""

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


@dataclass(frozen=True)
class _Standing:
    """Where a sender is in its pattern: data under way, and what each acknowledgment opens how soon, in s."""

    counts: tuple[int, int, int]
    opened: tuple[int, ...]
    waits_s: tuple[float, ...]


@dataclass
class _Sender:
    """A sender, its line, and the acknowledgments in flight to it."""

    window: Window
    acknowledgment_s: float
    shared: bool
    limit: int
    free_s: float = 0.0
    outstanding: int = 0
    unacknowledged: int = 0
    frames_unacknowledged: int = 0
    acknowledgments: deque[tuple[float, int]] = field(default_factory=deque)

    def send(self, weight: int, seconds: float) -> None:
        """Sends a frame as soon as line and window allow."""
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

    def stands(self) -> _Standing:
        """The state that decides all that comes."""
        waits_s = tuple(max(0.0, arrival_s - self.free_s) for arrival_s, _ in self.acknowledgments)
        opened = tuple(opened for _, opened in self.acknowledgments)
        return _Standing((self.outstanding, self.unacknowledged, self.frames_unacknowledged), opened, waits_s)

    def stands_as(self, before: _Standing, tolerance_s: float) -> bool:
        """True where all that comes is what came after `before`."""
        counts = (self.outstanding, self.unacknowledged, self.frames_unacknowledged)
        if counts != before.counts or len(self.acknowledgments) != len(before.opened):
            return False
        return all(
            opened == opened_before and abs(max(0.0, arrival_s - self.free_s) - wait_s) <= tolerance_s
            for (arrival_s, opened), opened_before, wait_s in zip(
                self.acknowledgments, before.opened, before.waits_s, strict=True
            )
        )

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
    sender = _Sender(window, acknowledgment_s, shared, max(window.limit, *weights))
    user_bytes = sum(frame.user_bytes for frame in frames)
    tolerance_s = _SAME * min(frame.seconds for frame in frames)
    # Rounds of the frames repeat in a pattern of unknown length, after a start of unknown length: each round is held
    # against the one at the last power of two (R. P. Brent, "An improved Monte Carlo factorization algorithm", BIT 20,
    # 1980, section 2).
    anchor, anchor_round, anchor_s = None, 0, 0.0
    for number in count(1):
        for weight, frame in zip(weights, frames, strict=True):
            sender.send(weight, frame.seconds)
        repeats = anchor is not None and sender.stands_as(anchor, tolerance_s)
        if repeats or number * len(frames) > _MAX_FRAMES:
            return (number - anchor_round) * user_bytes / (sender.free_s - anchor_s)
        if number == 2 * anchor_round or anchor is None:
            anchor, anchor_round, anchor_s = sender.stands(), number, sender.free_s
    raise AssertionError("count() ends")
