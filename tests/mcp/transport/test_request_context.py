import pytest
from mcp.shared.exceptions import MCPError
from starlette.requests import Request

from sandbox_server.mcp.transport.request_context import identity_headers


def request(query: bytes = b"", **headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "POST", "headers": raw, "query_string": query, "path": "/mcp"})


def test_the_callers_identity_is_passed_on_and_no_credential_is() -> None:
    headers = identity_headers(
        request(x_sandbox_caller="a", x_sandbox_scopes="view", x_sandbox_tools="t", authorization="Bearer s", cookie="c")
    )

    assert headers == {"x-sandbox-caller": "a", "x-sandbox-scopes": "view", "x-sandbox-tools": "t", "x-sandbox-surface": "mcp"}


def test_a_lane_is_passed_on_and_what_is_no_name_of_one_is_refused() -> None:
    named = (request(b"lane=ann"), request(x_lane="ann"), request(b"lane=main"), request())
    assert [identity_headers(each).get("x-lane") for each in named] == ["ann", "ann", None, None]
    for query in (b"lane=a%0ab", b"lane=A", b"lane=../x"):
        with pytest.raises(MCPError, match="no name of a lane"):
            identity_headers(request(query))
