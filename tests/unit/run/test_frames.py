"""The controller's half of the frames."""

import io

import pytest

from whyperf.run import PipeClosedError, RunError
from whyperf.run.agents.frames import KIND_MESSAGE, MAX_PAYLOAD_BYTES, Frame, encode, read


def _stream(data: bytes) -> io.BufferedReader:
    return io.BufferedReader(io.BytesIO(data))


def test_a_frame_comes_out_as_it_went_in() -> None:
    stream = _stream(encode(b'{"id": 1}') + encode(b""))
    assert read(stream) == Frame(KIND_MESSAGE, b'{"id": 1}')
    assert read(stream) == Frame(KIND_MESSAGE, b"")
    assert read(stream) is None


@pytest.mark.parametrize("greeting", [b"Welcome to host7\n", b"!", b"Last login: today"])
def test_a_greeting_is_shown(greeting: bytes) -> None:
    with pytest.raises(RunError, match="greeting") as error:
        read(_stream(greeting))
    assert greeting.decode().strip() in str(error.value)


def test_another_version_says_what_to_do() -> None:
    data = bytearray(encode(b"{}"))
    data[2] = 99
    with pytest.raises(RunError, match=r"protocol version 99.*install the same whyperf on both hosts"):
        read(_stream(bytes(data)))


@pytest.mark.parametrize("kept", [1, 7, 9])
def test_half_a_frame_is_a_pipe_that_closed(kept: int) -> None:
    with pytest.raises(PipeClosedError):
        read(_stream(encode(b"{}")[:kept]))


def test_a_length_over_the_limit_is_refused_before_it_is_read() -> None:
    data = bytearray(encode(b"{}"))
    data[4:8] = (MAX_PAYLOAD_BYTES + 1).to_bytes(4, "big")
    with pytest.raises(RunError, match="no version of whyperf"):
        read(_stream(bytes(data)))
    with pytest.raises(RunError, match="over the pipe's limit"):
        encode(bytes(MAX_PAYLOAD_BYTES + 1))
