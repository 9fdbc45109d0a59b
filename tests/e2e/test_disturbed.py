"""A trial whose connections others kept from opening is void, says what the far side saw, and is run again."""

import json
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.experiments import measure
from whyperf.run import Kind
from whyperf.run.agents.agent import Agent
from whyperf.run.errors import AgentError, Fault


@pytest.mark.usefixtures("ours")
def test_it_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really_call = Agent.call
    kept_out: list[dict[str, Any]] = []

    def call(agent: Agent, body: Any, *others: Any, **named: Any) -> Any:
        if body["request"] == "connect" and not kept_out:
            kept_out.append(body)
            with socket.create_connection((body["address"], body["port"])) as peer:
                peer.sendall(b"no preamble of any trial" * 2)
                peer.settimeout(30)
                with suppress(ConnectionResetError):
                    assert peer.recv(1) == b""
            raise AgentError("the token was not welcomed", Fault.PEER)
        return really_call(agent, body, *others, **named)

    monkeypatch.setattr(Agent, "call", call)
    record = measure(tmp_path, kind=Kind.LOOPBACK, transfer_bytes=100_000)
    assert record.only.status == "complete"
    (aside,) = (record.experiment.folder / "set-aside").glob("*/manifest.json")
    manifest = json.loads(aside.read_text(encoding="utf-8"))
    assert manifest["status"] == "void"
    assert manifest["reason"] == (
        "the token was not welcomed; the far agent: 0 connections had arrived; "
        "connections without the trial's token that came to its port: 1"
    )
