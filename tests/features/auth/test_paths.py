"""Which paths need what."""

import pytest

from sandbox_server.features.auth.paths import OPEN, is_probe, scope_for
from tests.features.auth.conftest import KEY, Gate
from tests.tables import table_test


@table_test(
    [
        ("/", "view"),
        ("/index.html", "view"),
        ("/terminal", "shell"),
        ("/files", "files"),
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
        ("/filesystem", "admin"),
    ]
)
def test_each_path_needs_its_scope(path: str, scope: str | None) -> None:
    assert scope_for(path) == scope


def test_what_is_open_tells_no_secret() -> None:
    files = {path for path in OPEN if path.startswith("/static/")}
    well_known = {"/.well-known/openid-configuration", "/.well-known/jwks.json"}
    assert OPEN - files == {"/favicon.ico", "/healthz", "/readyz", "/join"} | well_known
    assert {path.split("/")[2] for path in files} <= {"style.css", "strings.js", "theme.js", "home", "bar", "login", "join", "error"}


@pytest.mark.parametrize(
    ("path", "is_one"), [("/healthz", True), ("/tickets", True), ("/static/x.js", True), ("/v1/shell/exec", False), ("/mcp", False)]
)
def test_a_probe_says_nothing_about_an_agent(path: str, is_one: bool) -> None:
    assert is_probe(path) is is_one


@pytest.mark.parametrize(
    ("uri", "headers", "told"),
    [
        ("/v1/shell/exec", {"x_aio_api_key": KEY}, 1),
        ("/mcp", {"authorization": f"Bearer {KEY}"}, 1),
        ("/devtools/browser/1", {"x_aio_api_key": KEY, "x_original_upgrade": "websocket"}, 1),
        ("/", {"x_aio_api_key": KEY, "accept": "text/html"}, 0),
        ("/healthz", {"x_aio_api_key": KEY}, 0),
        ("/readyz", {}, 0),
        ("/tickets", {"x_aio_api_key": KEY}, 0),
        ("/v1/shell/exec", {}, 0),
    ],
)
@pytest.mark.anyio
async def test_a_call_of_a_program_is_told_but_not_a_page_a_probe_or_a_refusal(
    gate: Gate, uri: str, headers: dict[str, str], told: int
) -> None:
    await gate.ask(uri, **headers)
    assert gate.programs == told


@pytest.mark.anyio
async def test_what_a_signed_in_browser_asks_is_no_call_of_a_program(gate: Gate) -> None:
    cookie, before = await gate.cookie(), gate.programs
    await gate.ask("/v1/control", cookie=cookie)
    assert gate.programs == before
