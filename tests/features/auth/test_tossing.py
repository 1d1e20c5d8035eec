"""A previewed page, or whoever has the agent's token, puts a cookie of its own into a person's browser (cookie tossing, login CSRF)."""

from pathlib import Path

import pytest

from sandbox_server.settings import AuthSettings as AuthSettings
from tests.features.auth.conftest import Gate, set_by

pytestmark = pytest.mark.anyio

HTML = "text/html,*/*"
TLS = {"x_forwarded_proto": "https", "host": "box.example.org"}
PLAIN = {"host": "box.example.org:8080"}


@pytest.fixture
def below(tmp_path: Path) -> Gate:
    """A gateway whose previews are on a sibling of its own name."""
    return Gate(tmp_path, AuthSettings(preview_domain="preview.example.org"))


async def tossed(gate: Gate, **headers: str) -> str:
    """The cookie of a session that the agent made, as a page can set it: without a name that only the host itself may use."""
    ticket = await gate.bought(await gate.ask("/v1/x", authorization=f"Bearer {gate.agent_token}"))
    return set_by(await gate.ask(f"/?ticket={ticket}", accept=HTML, **headers)).removeprefix("__Host-")


async def test_over_tls_a_tossed_cookie_signs_nobody_in_and_nobody_out(below: Gate) -> None:
    cookie, theirs = await tossed(below, **TLS), await below.secure_cookie()
    assert (await below.ask("/view", cookie=cookie, **TLS)).status == 401
    for header in (f"{cookie}; {theirs}", f"{theirs}; {cookie}", f"{cookie}; {cookie}x; {theirs}"):
        answer = await below.ask("/view", cookie=header, **TLS)
        assert (answer.status, answer.headers["X-Sandbox-Caller"].partition("#")[0]) == (200, "key")


async def test_without_tls_a_tossed_cookie_signs_nobody_in_and_nobody_out(below: Gate) -> None:
    cookie, theirs = await tossed(below, **PLAIN), await below.cookie()
    assert (await below.ask("/view", cookie=cookie, **PLAIN)).status == 401
    for header in (f"{cookie}; {theirs}", f"{theirs}; {cookie}"):
        answer = await below.ask("/view", cookie=header, **PLAIN)
        assert (answer.status, answer.headers["X-Sandbox-Actor"]) == (200, "person")


async def test_where_no_preview_can_set_it_a_programs_cookie_works(gate: Gate) -> None:
    cookie = await tossed(gate)
    assert (await gate.ask("/v1/x", cookie=cookie)).headers["X-Sandbox-Actor"] == "agent"
    both = await gate.ask("/v1/x", cookie=f"{cookie}; {await gate.cookie()}")
    assert both.headers["X-Sandbox-Actor"] == "person"


async def test_signing_out_over_tls_removes_the_cookie_that_signing_in_set(below: Gate) -> None:
    name = (await below.secure_cookie()).partition("=")[0]
    answer = await below.ask("/v1/x", **TLS)
    assert answer.status == 401
    assert name == "__Host-sandbox_session_8080"
