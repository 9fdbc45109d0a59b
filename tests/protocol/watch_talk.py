"""A conversation with an agent that watches connections of other programs."""

import io
import time

import polars as pl

from tests.protocol.pipe_talk import PATIENCE_S, Body, Talk


def await_connections(agent: Talk, count: int, least_bytes: int = 0) -> Body:
    """Reads reports until so many connections are watched, each of which has moved that much in one direction."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        _, body = agent.read()
        if body.get("reply") == "watched" and len(body["connections"]) == count:
            moved = [max(row["acked_bytes"], row["received_bytes"]) for row in body["connections"]]
            if all(moved_bytes >= least_bytes for moved_bytes in moved):
                return body
    raise AssertionError(body)


def finished(agent: Talk) -> tuple[Body, dict[str, pl.DataFrame]]:
    """Ends the watch: its result and its tables."""
    ended = agent.send("end_watch")
    result: Body = {}
    tables: dict[str, bytes] = {}
    name, done = "", 0
    while done < 2:
        identifier, body = agent.read()
        match body.get("reply"):
            case None:
                tables[name] += body["piece"]
            case "table":
                name = body["name"]
                tables[name] = b""
            case "finished":
                result = body
            case "done":
                done += 1
            case "error":
                raise AssertionError((identifier, ended, body))
    return result, {name: pl.read_parquet(io.BytesIO(table)) for name, table in tables.items() if table}
