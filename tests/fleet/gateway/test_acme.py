"""Certificates by ACME: the authority is another Caddy, which looks names up in the hosts file and connects to port 443."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tandem_fleet.api.listeners import listen
from tandem_fleet.gateway.caddy import Caddy

from tests.fleet.engines import MemoryBackend
from tests.fleet.gateway.conftest import DOMAIN, fronted
from tests.fleet.gateway.sandbox import EchoSandbox

pytestmark = pytest.mark.anyio
NOBODY = "abcdefghij234567"
HOSTS = Path("/etc/hosts")


@pytest.fixture
def hosts() -> Iterator[None]:
    """A hosts file that a test may add to, on a machine of its own whose port 443 is free: a container's."""
    if not Path("/.dockerenv").exists():
        pytest.skip("this machine's hosts file is not the test's")
    before = HOSTS.read_text()
    try:
        socket.create_server(("127.0.0.1", 443)).close()
        HOSTS.write_text(before)
    except OSError as error:
        pytest.skip(f"authorities look names up and connect to port 443: {error}")
    yield
    HOSTS.write_text(before)


@contextlib.asynccontextmanager
async def authority(program: str, folder: Path) -> AsyncIterator[dict[str, str]]:
    """Settings for an authority that is there until the block ends."""
    folder.mkdir()
    with listen("127.0.0.1", 0) as listener:
        server = {
            "listen": [f"fd/{listener.fileno()}"],
            "automatic_https": {"disable": True},
            "protocols": ["h1", "h2"],
            "tls_connection_policies": [{}],
            "routes": [{"handle": [{"handler": "acme_server", "ca": "local"}]}],
        }
        tls = {"certificates": {"automate": ["localhost"]}, "automation": {"policies": [{"issuers": [{"module": "internal"}]}]}}
        config = {
            "admin": {"disabled": True},
            "storage": {"module": "file_system", "root": str(folder)},
            "apps": {
                "pki": {"certificate_authorities": {"local": {"install_trust": False}}},
                "tls": tls,
                "http": {"servers": {"authority": server}},
            },
        }
        async with Caddy(program, config, folder, (listener.fileno(),)).running():
            yield {
                "TANDEM_GATEWAY_ACME": "operator@boxes.test",
                "TANDEM_GATEWAY_ACME_URL": f"https://localhost:{listener.getsockname()[1]}/acme/local/directory",
                "TANDEM_GATEWAY_ACME_ROOT": str(folder / "pki/authorities/local/root.crt"),
            }


def _add(line: str) -> None:
    HOSTS.write_text(HOSTS.read_text() + line)


async def test_a_sandbox_that_exists_gets_a_certificate_when_it_is_first_called(
    hosts: None, engine: MemoryBackend, echo: EchoSandbox, program: str, tmp_path: Path
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        variables = await stack.enter_async_context(authority(program, tmp_path / "authority"))
        settings = variables | {"TANDEM_GATEWAY_DOMAIN": DOMAIN}
        front = await stack.enter_async_context(fronted(engine, tmp_path, settings, "127.0.0.1:443"))
        one = await front.sandbox()
        _add(f"127.0.0.1 {one.id}.{DOMAIN}\n")
        trusted = ssl.create_default_context(cafile=variables["TANDEM_GATEWAY_ACME_ROOT"])
        async with asyncio.timeout(120):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", 443, ssl=trusted, server_hostname=f"{one.id}.{DOMAIN}", ssl_handshake_timeout=100
            )
            writer.write(
                f"GET /x HTTP/1.1\r\nHost: {one.id}.{DOMAIN}\r\n"
                f"Authorization: {front.token(one)['Authorization']}\r\nConnection: close\r\n\r\n".encode()
            )
            answer = await reader.read()
            writer.close()
            await writer.wait_closed()
        assert b'"x-forwarded-proto", "https"' in answer
        assert front.addresses.url(one.id) == f"https://{one.id}.{DOMAIN}"
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.open_connection("127.0.0.1", 443, ssl=trusted, server_hostname=f"{NOBODY}.{DOMAIN}")
