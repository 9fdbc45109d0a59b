"""The part of the proof of the watch that is measured, and the place of its files."""

from dataclasses import dataclass
from pathlib import Path

from whyperf.plan import Level


@dataclass(frozen=True)
class Setting:
    """The full proof, or a short try whose figures show only that it works."""

    is_quick: bool
    folder: Path
    pairs: int
    kills: int
    levels: tuple[Level, ...]
    seed: int

    def of(self, full: int, quick: int) -> int:
        """A number of something."""
        return quick if self.is_quick else full
