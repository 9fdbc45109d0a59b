"""Reads files and texts that somebody else may have made: no links, no FIFOs, and bounds on size and depth."""

from whyperf.foreign.documents import parse_json, parse_toml
from whyperf.foreign.files import (
    MAX_DOCUMENT_BYTES,
    MAX_LARGE_DOCUMENT_BYTES,
    open_file,
    read_bytes,
    read_text,
    refuse_link,
)
from whyperf.foreign.texts import quoted, visible

__all__ = [
    "MAX_DOCUMENT_BYTES",
    "MAX_LARGE_DOCUMENT_BYTES",
    "open_file",
    "parse_json",
    "parse_toml",
    "quoted",
    "read_bytes",
    "read_text",
    "refuse_link",
    "visible",
]
