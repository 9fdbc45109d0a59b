"""Reads files and texts that somebody else may have made: no links, no FIFOs, and bounds on size and depth.

`owners.py` says who else could exchange them.
"""

from whyperf.foreign.documents import parse_json, parse_model, parse_toml, refuse_many_values
from whyperf.foreign.files import (
    MAX_DOCUMENT_BYTES,
    MAX_LARGE_DOCUMENT_BYTES,
    is_meant,
    open_file,
    open_folder_without_links,
    plain_files,
    read_bytes,
    read_text,
    refuse_link,
)
from whyperf.foreign.owners import caller, exchangeable, foreign_owner, is_own
from whyperf.foreign.texts import json_in_script, quoted, shell_line, visible, visible_json

__all__ = [
    "MAX_DOCUMENT_BYTES",
    "MAX_LARGE_DOCUMENT_BYTES",
    "caller",
    "exchangeable",
    "foreign_owner",
    "is_meant",
    "is_own",
    "json_in_script",
    "open_file",
    "open_folder_without_links",
    "parse_json",
    "parse_model",
    "parse_toml",
    "plain_files",
    "quoted",
    "read_bytes",
    "read_text",
    "refuse_link",
    "refuse_many_values",
    "shell_line",
    "visible",
    "visible_json",
]
