import os
import socket
import threading
from collections.abc import Iterator

import pytest

from sandbox_server.drivers.files import message_frames
from sandbox_server.drivers.files.message_frames import LENGTHS, BrokenFrame, WorkerFrame
from tests.patience import PATIENCE_SECONDS

type Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_a_frame_arrives_with_its_header_payload_and_descriptors(pair: Pair) -> None:
    readable, writable = os.pipe()
    message_frames.send(pair[0], WorkerFrame({"op": "x"}, b"\0raw\xff", [readable]))

    frame = message_frames.receive(pair[1])

    assert frame is not None
    assert (frame.header, frame.payload) == ({"op": "x"}, b"\0raw\xff")
    os.write(writable, b"!")
    assert os.read(frame.fds[0], 1) == b"!"
    frame.close()
    os.close(readable)
    os.close(writable)


def test_a_frame_larger_than_the_sockets_buffer_arrives_whole(pair: Pair) -> None:
    payload = os.urandom(3 << 20)
    sender = threading.Thread(target=message_frames.send, args=(pair[0], WorkerFrame({"n": 1}, payload)))
    sender.start()
    frame = message_frames.receive(pair[1])
    sender.join(PATIENCE_SECONDS)
    assert frame is not None
    assert frame.payload == payload


def test_two_frames_in_a_row_stay_two(pair: Pair) -> None:
    for number in (1, 2):
        message_frames.send(pair[0], WorkerFrame({"n": number}, b"x" * number))
    received = [message_frames.receive(pair[1]) for _ in range(2)]
    assert [(frame.header["n"], frame.payload) for frame in received if frame] == [(1, b"x"), (2, b"xx")]


def test_the_end_between_frames_is_no_frame(pair: Pair) -> None:
    pair[0].close()
    assert message_frames.receive(pair[1]) is None


@pytest.mark.parametrize("sent", [b"\0\0", LENGTHS.pack(10, 0) + b"{}"])
def test_the_end_inside_a_frame_is_an_error(pair: Pair, sent: bytes) -> None:
    pair[0].sendall(sent)
    pair[0].close()
    with pytest.raises(BrokenFrame):
        message_frames.receive(pair[1])


@pytest.mark.parametrize("lengths", [(2**32 - 1, 0), (2, 2**32 - 1)])
def test_a_frame_that_claims_to_be_too_long_is_an_error(pair: Pair, lengths: tuple[int, int]) -> None:
    pair[0].sendall(LENGTHS.pack(*lengths))
    with pytest.raises(BrokenFrame, match="too long"):
        message_frames.receive(pair[1])


def test_descriptors_of_an_unfinished_frame_are_closed(pair: Pair) -> None:
    readable, writable = os.pipe()
    socket.send_fds(pair[0], [LENGTHS.pack(10, 0)], [writable])
    os.close(writable)
    pair[0].close()
    with pytest.raises(BrokenFrame):
        message_frames.receive(pair[1])
    assert os.read(readable, 1) == b""  # nobody holds the other end
    os.close(readable)


@pytest.mark.parametrize("header", [b"[" * 100_000, b"{", b"\xff", b"[]", b"1e999999", b""])
def test_a_header_that_is_none_breaks_the_frame(header: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(message_frames.LENGTHS.pack(len(header), 0) + header)
        with pytest.raises(message_frames.BrokenFrame):
            message_frames.receive(ours)


@pytest.mark.parametrize("lengths", [(message_frames.MAX_HEADER + 1, 0), (0, message_frames.MAX_PAYLOAD + 1), (0xFFFFFFFF, 0xFFFFFFFF)])
def test_a_length_that_is_made_up_is_not_waited_for(lengths: tuple[int, int]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(message_frames.LENGTHS.pack(*lengths))
        with pytest.raises(message_frames.BrokenFrame, match="too long"):
            message_frames.receive(ours)
