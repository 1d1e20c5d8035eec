"""Requests that come in pieces, in either byte order, and without a length."""

import struct

import pytest

from sandbox_server.drivers.x11.guest_requests import ForbiddenRequestError, GuestRequests, own_numbers

BASE, MASK = 0x400000, 0x1FFFFF
NO_OPERATION = 127


def request(order: str, kind: int, body: bytes = b"") -> bytes:
    """A request as it is sent."""
    return struct.pack(f"{order}BBH", kind, 0, 1 + len(body) // 4) + body


@pytest.mark.parametrize("order", ["<", ">"])
def test_what_is_void_keeps_its_place_and_length(order: str) -> None:
    sent = request(order, 43) + request(order, 41, bytes(20)) + request(order, 43)
    assert GuestRequests(order, BASE, MASK).take(sent) == request(order, 43) + request(order, NO_OPERATION, bytes(20)) + request(order, 43)


def test_a_request_goes_on_when_it_is_whole() -> None:
    requests, sent = GuestRequests("<", BASE, MASK), request("<", 36) + request("<", 1, bytes(28))
    passed = [requests.take(sent[place : place + 1]) for place in range(len(sent))]
    assert [part for part in passed if part] == [request("<", NO_OPERATION), request("<", 1, bytes(28))]


def test_a_request_without_a_length_is_the_last() -> None:
    with pytest.raises(ForbiddenRequestError):
        GuestRequests("<", BASE, MASK).take(bytes(8))


@pytest.mark.parametrize("kind", [26, 31])
def test_a_grab_that_is_cut_short_goes_on_for_the_server_to_refuse(kind: int) -> None:
    assert GuestRequests("<", BASE, MASK).take(request("<", kind, bytes(4))) == request("<", kind, bytes(4))


@pytest.mark.parametrize("order", ["<", ">"])
def test_properties_are_those_of_its_own_windows_and_the_root(order: str) -> None:
    requests, rest = GuestRequests(order, BASE, MASK), bytes(12)
    for window, asked in ((0x42, 39), (BASE | 7, 39), (0x200007, 1)):
        sent = request(order, 20, struct.pack(f"{order}II", window, 39) + rest)
        assert requests.take(sent) == request(order, 20, struct.pack(f"{order}II", window, asked) + rest)


@pytest.mark.parametrize("order", ["<", ">"])
def test_numbers_are_read_from_the_first_answer(order: str) -> None:
    assert own_numbers(order, struct.pack(f"{order}BxHHHIII", 1, 11, 0, 100, 0, BASE, MASK)) == (BASE, MASK)
