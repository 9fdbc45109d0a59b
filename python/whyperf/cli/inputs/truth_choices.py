"""What `whyperf truth` measures."""

from enum import StrEnum


class CatalogName(StrEnum):
    """The catalogs of truth experiments."""

    CAUSES = "causes"
    FIELD = "field"
    FURTHER = "further"
    UNSEEN = "unseen"


class HalfName(StrEnum):
    """The halves of the field catalog, and of the unseen one."""

    TUNING = "tuning"
    HELD_OUT = "held_out"
