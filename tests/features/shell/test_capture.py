import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.features.shell import capture as module
from sandbox_server.features.shell.capture import FOLDED, HEAD, TAIL, OutputCapture, OutputRing

PIECES = st.lists(st.binary(min_size=1, max_size=40), max_size=20)


@given(PIECES, st.integers(1, 50), st.integers(0, 1000), st.integers(0, 900), st.integers(1, 60))
def test_a_ring_gives_the_latest_bytes_by_their_offset(pieces: list[bytes], limit: int, start: int, offset: int, most: int) -> None:
    ring = OutputRing(limit, start)
    for piece in pieces:
        ring.add(piece)
    whole = b"".join(pieces)
    begin, read = ring.read(offset, most)
    assert ring.end == start + len(whole)
    assert min(limit, len(whole)) <= ring.end - ring.start <= limit + 40
    assert begin == max(offset, ring.start)
    assert read == whole[begin - start :][:most]


@given(PIECES, st.integers(0, 900), st.integers(1, 60))
def test_a_capture_keeps_the_beginning_and_the_end_and_counts_what_is_between(pieces: list[bytes], offset: int, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "HEAD", 60)
        patch.setattr(module, "TAIL", 60)
        capture = OutputCapture()
        for piece in pieces:
            capture.add(piece)
        whole = b"".join(pieces)
        head, tail = capture.parts()
    assert capture.size == len(whole)
    assert (head, capture.omitted) == (whole[:60], len(whole) - len(head) - len(tail))
    assert tail == whole[60 + capture.omitted :]
    assert len(tail) >= min(60, len(whole) - len(head))
    begin, read = capture.read(offset, most)
    assert begin >= offset
    assert read == whole[begin : begin + len(read)]
    assert read or begin >= len(whole)


@given(PIECES)
def test_a_folded_capture_still_knows_its_size_and_its_ends(pieces: list[bytes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "HEAD", 60)
        patch.setattr(module, "TAIL", 60)
        patch.setattr(module, "FOLDED", 20)
        capture = OutputCapture()
        for piece in pieces:
            capture.add(piece)
        capture.fold()
        head, tail = capture.parts()
    whole = b"".join(pieces)
    assert capture.size == len(whole)
    assert head == whole[:20]
    assert tail == whole[20:][-20:]
    assert capture.omitted == len(whole) - len(head) - len(tail)


def test_output_that_fits_is_whole() -> None:
    capture = OutputCapture()
    whole = bytes(range(256)) * 4096
    for start in range(0, len(whole), 1000):
        capture.add(whole[start : start + 1000])
    assert len(whole) == HEAD + TAIL
    assert (b"".join(capture.parts()), capture.omitted) == (whole, 0)


def test_memory_stays_the_same_however_much_is_written() -> None:
    capture = OutputCapture()
    for _ in range(1000):
        capture.add(b"x" * 64_000)
    head, tail = capture.parts()
    assert capture.size == 64_000_000
    assert len(head) + len(tail) <= HEAD + TAIL + 64_000
    capture.fold()
    assert sum(map(len, capture.parts())) == 2 * FOLDED
    assert (capture.size, capture.omitted) == (64_000_000, 64_000_000 - 2 * FOLDED)
