import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest

from sandbox_server.core.errors import PermissionDenied
from sandbox_server.drivers.clients.agent_network import AgentNetwork, EgressRefused, is_loopback, proxy_line
from sandbox_server.drivers.ports.listening_ports import PortPlace
from sandbox_server.settings.network import ALLOWED, Allowed
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"


@dataclass
class Lab:
    """The sockets of the egress process and of the gateway's part in the box, and a program in the container."""

    folder: Path
    answer: bytes = b"{}\n"
    internal: tuple[Allowed, ...] | None = None
    heard: list[bytes] = field(default_factory=list)
    places: dict[int, PortPlace] = field(default_factory=dict)

    async def place(self, port: int) -> PortPlace:
        if port not in self.places:
            raise PermissionDenied(f"port {port} belongs to the sandbox itself")
        return self.places[port]

    async def fetches(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard.append(await reader.readline())
        writer.write(self.answer)
        if self.answer == b"{}\n":
            await self.web(reader, writer)
        writer.close()

    async def dial(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard.append(await reader.readline())
        await self.web(reader, writer)

    async def web(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readline():
            await reader.readuntil(b"\r\n\r\n")
            writer.write(ANSWER)
        writer.close()

    async def get(self, url: str) -> httpx2.Response:
        network = AgentNetwork(str(self.folder / "fetches"), str(self.folder / "dial"), self, self.internal)
        async with httpx2.AsyncClient(
            transport=network.transport(ssl.create_default_context()), trust_env=False, timeout=PATIENCE_SECONDS
        ) as client:
            return await client.get(url)


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    made = Lab(tmp_path)
    async with (
        await asyncio.start_unix_server(made.fetches, tmp_path / "fetches"),
        await asyncio.start_unix_server(made.dial, tmp_path / "dial"),
    ):
        yield made


async def test_a_name_is_left_to_the_egress_process(lab: Lab) -> None:
    assert (await lab.get("http://a.example/")).text == "hi"
    assert (await lab.get("http://[2001:db8::1]:81/")).text == "hi"
    assert [json.loads(line) for line in lab.heard] == [
        {"host": "a.example", "port": 80, "internal": None},
        {"host": "[2001:db8::1]", "port": 81, "internal": None},
    ]


async def test_what_is_not_public_has_to_be_named(lab: Lab) -> None:
    lab.internal = ALLOWED.parse("wiki.corp:81, 10.0.0.0/8, [fd00::1]:81")
    for url in ("http://a.example/", "http://a.example:81/", "http://Wiki.Corp:81/", "http://wiki.corp/"):
        assert (await lab.get(url)).text == "hi"
    networks = [json.loads(line)["internal"] for line in lab.heard]
    assert networks == [["10.0.0.0/8"], ["10.0.0.0/8", "fd00::1/128"], None, ["10.0.0.0/8"]]


async def test_what_cannot_be_reached_is_no_refusal(lab: Lab) -> None:
    lab.answer = b'{"reason": "a.example has no address", "rule": "unreachable"}\n'
    with pytest.raises(httpx2.ConnectError, match="has no address") as raised:
        await lab.get("http://a.example/")
    assert not isinstance(raised.value.__cause__, EgressRefused)


async def test_a_refusal_names_the_rule(lab: Lab) -> None:
    lab.answer = b'{"reason": "b.example:80 is not allowed (default)", "rule": "default"}\n'
    with pytest.raises(httpx2.ConnectError, match=r"b.example:80 is not allowed \(default\)") as raised:
        await lab.get("http://b.example/")
    assert isinstance(raised.value.__cause__, EgressRefused)


@pytest.mark.parametrize("answer", [b"", b"\n", b"ok\n", b"[]\n", b'{"reason": "no"}\n', b"x" * 10_000])
async def test_an_answer_that_is_none_is_a_refusal(lab: Lab, answer: bytes) -> None:
    lab.answer = answer
    with pytest.raises(httpx2.ConnectError):
        await lab.get("http://a.example/")


async def test_a_program_in_the_box_is_dialled_there_on_its_family(lab: Lab) -> None:
    lab.places = {3000: PortPlace("127.0.0.1:3000", in_box=True), 3001: PortPlace("[::1]:3001", in_box=True)}
    for port in (3000, 3001):
        assert (await lab.get(f"http://localhost:{port}/")).text == "hi"
    assert lab.heard == [b"PROXY TCP4 127.0.0.1 127.0.0.1 1 3000\r\n", b"PROXY TCP6 ::1 ::1 1 3001\r\n"]


async def test_an_added_service_is_in_the_container(lab: Lab) -> None:
    async with await asyncio.start_server(lab.web, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        lab.places = {port: PortPlace(f"127.0.0.1:{port}")}
        assert (await lab.get(f"http://127.0.0.1:{port}/")).text == "hi"
    assert lab.heard == []


async def test_a_port_of_the_sandbox_itself_is_not_dialled(lab: Lab) -> None:
    with pytest.raises(httpx2.ConnectError, match="belongs to the sandbox itself") as raised:
        await lab.get("http://127.0.0.1:8080/")
    assert isinstance(raised.value.__cause__, EgressRefused)
    assert lab.heard == []


async def test_without_the_egress_process_nothing_is_reached(tmp_path: Path) -> None:
    with pytest.raises(httpx2.ConnectError):
        await Lab(tmp_path).get("http://a.example/")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.9.9.9", "::1"])
def test_loopback_has_many_names(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["localhost.example", "8.8.8.8", "0x7f000001", "2001:db8::1", ""])
def test_other_names_are_the_egress_process_s(host: str) -> None:
    assert not is_loopback(host)


def test_the_line_of_the_proxy_protocol_has_the_family() -> None:
    assert proxy_line("127.0.0.2", 80) == b"PROXY TCP4 127.0.0.2 127.0.0.2 1 80\r\n"
