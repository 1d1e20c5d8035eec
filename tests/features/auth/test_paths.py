"""Which paths need what."""

import pytest

from sandbox_server.features.auth.paths import OPEN, scope_for


@pytest.mark.parametrize(
    ("path", "scope"),
    [
        ("/", "view"),
        ("/index.html", "view"),
        ("/terminal", "shell"),
        ("/vnc/index.html", "view"),
        ("/websockify", "view"),
        ("/devtools/browser/x", "browser"),
        ("/json/version", "browser"),
        ("/cdp/json/list", "browser"),
        ("/jsonp", "admin"),
        ("/v1/shell/exec", None),
        ("/mcp", None),
        ("/static/home/home.js", None),
        ("/tickets", None),
        ("/v10/x", "admin"),
        ("/mcpx", "admin"),
        ("/added-by-a-drop-in/", "admin"),
        ("/terminals", "admin"),
    ],
)
def test_each_path_needs_its_scope(path: str, scope: str | None) -> None:
    assert scope_for(path) == scope


def test_what_is_open_tells_no_secret() -> None:
    assert {"/healthz", "/readyz", "/static/style.css", "/static/login/sign-in.js"} == OPEN
