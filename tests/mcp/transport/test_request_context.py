from starlette.requests import Request

from sandbox_server.mcp.transport.request_context import identity_headers


def request(**headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "POST", "headers": raw, "query_string": b"", "path": "/mcp"})


def test_the_callers_identity_is_passed_on_and_no_credential_is() -> None:
    headers = identity_headers(
        request(x_sandbox_caller="a", x_sandbox_scopes="view", x_sandbox_tools="t", authorization="Bearer s", cookie="c")
    )

    assert headers == {"x-sandbox-caller": "a", "x-sandbox-scopes": "view", "x-sandbox-tools": "t", "x-sandbox-surface": "mcp"}
