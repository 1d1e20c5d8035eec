"""By which names everybody may come in where nobody has to sign in."""

from pathlib import Path

import pytest

from sandbox_server.core import PermissionDenied
from sandbox_server.features.auth.allowed_hosts import AllowedHosts
from sandbox_server.features.auth.original import Original
from sandbox_server.settings import AuthSettings as AuthSettings
from tests.features.auth.conftest import Gate

pytestmark = pytest.mark.anyio


async def beside(name: str) -> bool:
    """What the engine's resolver says."""
    return name == "tandem-1"


HOSTS = AllowedHosts(["sandbox", "*.lab.example"], "7f3a9c", "preview.example.org", beside)
REBOUND = "rebound.evil.example:8080"


async def takes(host: str, **headers: str) -> bool:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        await HOSTS.check(Original.of({"x-original-uri": "/v1/x", "host": host, **named}))
    except PermissionDenied:
        return False
    return True


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:8080",
        "localhost.:8080",
        "3000-preview.localhost:8080",
        "127.0.0.1:8080",
        "10.0.0.7",
        "[::1]:8080",
        "[fe80::1]",
        "7f3a9c:8080",
        "sandbox:8080",
        "tandem-1:8080",
        "a.b.lab.example",
        "3000-preview.example.org:8080",
        "_",
    ],
)
async def test_addresses_and_names_of_ours_are_taken(host: str) -> None:
    assert await takes(host)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8080",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "evil.example@127.0.0.1",
        "localhost.evil.example",
        "evillocalhost",
        "3000-evil.example:8080",
        "preview.example.org",
        "3000-x.preview.example.org",
        "3000-preview.example.org.evil.example",
        "lab.example",
        "xlab.example",
        "2130706433",
        "0x7f.1",
        "127.1",
        "[::1",
        "::1",
        "[evil.example]",
        "",
        ":8080",
        "localhost:x",
        "localhost,evil.example",
        "localhost evil.example",
        "a" * 300,
    ],
)
async def test_no_other_name_is(host: str) -> None:
    assert not await takes(host)


async def test_what_a_proxy_says_it_was_reached_by_counts_too() -> None:
    assert await takes("127.0.0.1", x_forwarded_host="sandbox")
    assert not await takes("127.0.0.1", x_forwarded_host="evil.example")
    assert not await takes("evil.example", x_forwarded_host="localhost")


@pytest.mark.parametrize(
    ("uri", "method", "headers"),
    [
        ("/v1/shell/exec", "POST", {"origin": f"http://{REBOUND}"}),
        ("/v1/sandbox", "GET", {}),
        ("/view", "GET", {"accept": "text/html"}),
        ("/mcp", "POST", {"origin": f"http://{REBOUND}"}),
        ("/cdp/json/version", "GET", {}),
        ("/devtools/browser", "GET", {"x_original_upgrade": "websocket", "origin": f"http://{REBOUND}"}),
        ("/v1/shell/ws", "GET", {"x_original_upgrade": "websocket", "origin": f"http://{REBOUND}"}),
        ("/proxy/3000/", "GET", {}),
        ("/", "GET", {"x_original_port": "3000", "accept": "text/html"}),
        ("/healthz", "GET", {}),
        ("/v1/shell/exec", "POST", {"x_aio_api_key": "anything"}),
    ],
)
async def test_without_a_sign_in_a_rebound_name_opens_nothing(open_gate: Gate, uri: str, method: str, headers: dict[str, str]) -> None:
    refused = await open_gate.ask(uri, method, **headers, host=REBOUND)
    assert (refused.status, "ALLOWED_HOSTS" in refused.headers["X-Sandbox-Reason"]) == (403, True)
    for host in ("box:8080", "127.0.0.1:8080"):
        own = headers | ({"origin": f"http://{host}"} if "origin" in headers else {})
        assert (await open_gate.ask(uri, method, **own, host=host)).status == 200


async def test_a_name_of_the_settings_opens(tmp_path: Path) -> None:
    gate = Gate(tmp_path, AuthSettings(mode="off", hosts=("rebound.evil.example",)))
    assert (await gate.ask("/v1/shell/exec", "POST", host=REBOUND, origin=f"http://{REBOUND}")).status == 200


async def test_with_a_sign_in_any_name_does_because_no_cookie_of_ours_goes_there(gate: Gate) -> None:
    assert (await gate.ask("/v1/shell/exec", "POST", host=REBOUND, origin=f"http://{REBOUND}")).status == 401
    key = {"x_aio_api_key": "correct horse battery staple"}
    assert (await gate.ask("/v1/x", host="box.example.org", **key)).status == 200
