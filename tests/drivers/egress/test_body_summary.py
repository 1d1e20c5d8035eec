import hashlib

import pytest

from sandbox_server.drivers.egress.body_summary import MAX_TEXT, UNKNOWN_BODY, body_detail, body_summary


@pytest.mark.parametrize("body", [b"to=alice", "\u4e2d".encode(), b"x" * MAX_TEXT])
def test_a_text_is_shown_whole(body: bytes) -> None:
    assert body_detail(body_summary(body)) == body.decode()


@pytest.mark.parametrize("body", [b"", b"\xff", b"x" * (MAX_TEXT + 1)])
def test_what_is_long_or_no_text_is_shown_by_what_identifies_it(body: bytes) -> None:
    assert body_detail(body_summary(body)) == f"({len(body)} bytes, SHA-256 {hashlib.sha256(body).hexdigest()})"


def test_an_unknown_body_is_said_to_be_one() -> None:
    assert body_detail(UNKNOWN_BODY) == "(a body that the browser does not tell)"
