"""Requests that come in pieces, in either byte order, and without a length."""

import struct
from random import Random

import pytest

from sandbox_server.drivers.x11.untrusted_requests import MAX_CURSOR, MAX_TRACKED, ForbiddenRequestError, UntrustedRequests, own_numbers

BASE, MASK = 0x400000, 0x1FFFFF
NO_OPERATION = 127


def request(order: str, kind: int, body: bytes = b"") -> bytes:
    """A request as it is sent."""
    return struct.pack(f"{order}BBH", kind, 0, 1 + len(body) // 4) + body


@pytest.mark.parametrize("order", ["<", ">"])
def test_what_is_void_keeps_its_place_and_length(order: str) -> None:
    sent = request(order, 43) + request(order, 41, bytes(20)) + request(order, 43)
    assert UntrustedRequests(order, BASE, MASK).take(sent) == request(order, 43) + request(order, NO_OPERATION, bytes(20)) + request(
        order, 43
    )


def test_a_request_goes_on_when_it_is_whole() -> None:
    requests, sent = UntrustedRequests("<", BASE, MASK), request("<", 36) + request("<", 1, bytes(28))
    passed = [requests.take(sent[place : place + 1]) for place in range(len(sent))]
    assert [part for part in passed if part] == [request("<", NO_OPERATION), request("<", 1, bytes(28))]


def test_a_request_without_a_length_is_the_last() -> None:
    with pytest.raises(ForbiddenRequestError):
        UntrustedRequests("<", BASE, MASK).take(bytes(8))


@pytest.mark.parametrize("kind", [26, 31])
def test_a_grab_that_is_cut_short_goes_on_for_the_server_to_refuse(kind: int) -> None:
    assert UntrustedRequests("<", BASE, MASK).take(request("<", kind, bytes(4))) == request("<", kind, bytes(4))


@pytest.mark.parametrize("order", ["<", ">"])
def test_properties_are_those_of_its_own_windows_and_the_root(order: str) -> None:
    requests, rest = UntrustedRequests(order, BASE, MASK), bytes(12)
    for window, asked in ((0x42, 39), (BASE | 7, 39), (0x200007, 1)):
        sent = request(order, 20, struct.pack(f"{order}II", window, 39) + rest)
        assert requests.take(sent) == request(order, 20, struct.pack(f"{order}II", window, asked) + rest)


@pytest.mark.parametrize("order", ["<", ">"])
def test_numbers_are_read_from_the_first_answer(order: str) -> None:
    assert own_numbers(order, struct.pack(f"{order}BxHHHIII", 1, 11, 0, 100, 0, BASE, MASK)) == (BASE, MASK)


def pixmap(number: int, side: int, depth: int = 1) -> bytes:
    return struct.pack("<BBHIIHH", 53, depth, 4, number, 0, side, side)


def cursor(source: int) -> bytes:
    return request("<", 93, struct.pack("<III", BASE | 99, source, source) + bytes(16))


def font(number: int, name: bytes) -> bytes:
    return request("<", 45, struct.pack("<IHH", number, len(name), 0) + name + bytes(-len(name) % 4))


def glyph(source: int, mask: int) -> bytes:
    return request("<", 94, struct.pack("<III", BASE | 98, source, mask) + bytes(16))


def is_void(requests: UntrustedRequests, sent: bytes) -> bool:
    return requests.take(sent)[0] == NO_OPERATION


def test_of_a_bitmap_that_is_large_no_pointer_is_made() -> None:
    requests = UntrustedRequests("<", BASE, MASK)
    for number, side in ((1, MAX_CURSOR), (2, MAX_CURSOR + 1), (2, 1)):  # the last is refused: the number is taken
        assert not is_void(requests, pixmap(number, side))
    assert [is_void(requests, cursor(number)) for number in (1, 2)] == [False, True]
    assert not is_void(requests, request("<", 54, struct.pack("<I", 2)))
    assert not is_void(requests, pixmap(2, 1) + cursor(2))


def test_pointers_are_made_of_the_letters_of_their_own_font_alone() -> None:
    requests = UntrustedRequests("<", BASE, MASK)
    for number, name in ((1, b"cursor"), (2, b"-misc-fixed-*-9000-*"), (2, b"cursor")):
        assert not is_void(requests, font(number, name))
    assert [is_void(requests, glyph(*pair)) for pair in ((1, 1), (1, 0), (1, 2), (2, 1), (3, 0))] == [False, False, True, True, True]


def test_what_is_remembered_of_a_client_has_an_end() -> None:
    requests = UntrustedRequests("<", BASE, MASK)
    for number in range(MAX_TRACKED):
        requests.take(pixmap(number, 9999) + font(number, b"x"))
    assert is_void(requests, pixmap(MAX_TRACKED, 9999))
    assert is_void(requests, font(MAX_TRACKED, b"cursor"))


def test_requests_that_are_cut_short_or_made_up_go_on_for_the_server_to_refuse() -> None:
    """Whatever the bytes are, what comes out has the same length, so that server and door agree where each request begins."""
    random = Random(1)
    for _ in range(2000):
        requests = UntrustedRequests(random.choice("<>"), BASE, MASK)
        order = requests._short.format[0]
        sent = b"".join(
            request(order, random.randrange(256), random.randbytes(4 * random.randrange(12))) for _ in range(random.randrange(9))
        )
        passed = requests.take(sent)
        assert len(passed) == len(sent)
        assert [passed[at + 2 : at + 4] for at in starts(order, sent)] == [sent[at + 2 : at + 4] for at in starts(order, sent)]


def starts(order: str, sent: bytes) -> list[int]:
    """Where the requests begin."""
    found, at = [], 0
    while at < len(sent):
        found.append(at)
        at += 4 * struct.unpack_from(f"{order}H", sent, at + 2)[0]
    return found
