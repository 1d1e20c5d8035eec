import pytest
from pydantic import ValidationError

from sandbox_server.core.identity import Caller
from sandbox_server.core.results import Call, Model


class Point(Model):
    x: int


def test_a_request_cannot_be_changed_by_what_it_is_given_to() -> None:
    point = Point(x=1)

    with pytest.raises(ValidationError, match="frozen"):
        point.x = 2


def test_a_call_comes_over_http_unless_it_says_otherwise() -> None:
    call = Call(Caller("ann"), "1")

    assert (call.surface, dict(call.headers), call.last_event_id) == ("http", {}, None)
