"""The socket by which programs in the box get tokens."""

import asyncio
import os
import stat
import subprocess
from collections.abc import AsyncIterator
from operator import not_
from pathlib import Path

import pytest

from sandbox_server.core.errors import PermissionDenied, ResourceExhausted
from sandbox_server.drivers.workload_identity import token_socket
from sandbox_server.drivers.workload_identity.token_socket import MAX_CONNECTIONS, SocketAnswer, SocketRequest, TokenSocket
from tests.patience import eventually

pytestmark = pytest.mark.anyio


async def answer(request: SocketRequest) -> SocketAnswer | None:
    if request.path == "/denied":
        raise PermissionDenied("not for you")
    if request.path == "/often":
        raise ResourceExhausted("too often")
    if request.path != "/token":
        return None
    return SocketAnswer("plain" if request.accepts_text else {"token": request.query.get("audience", [])})


@pytest.fixture
async def path(tmp_path: Path) -> AsyncIterator[str]:
    where = str(tmp_path / "identity.sock")
    async with TokenSocket(where, {os.getuid()}, answer):
        yield where


async def sent(path: str, request: bytes) -> bytes:
    async with asyncio.timeout(30):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(request)
        found = await reader.read()
        writer.close()
    return found


async def got(path: str, target: str, *more: str) -> tuple[int, bytes]:
    head = "\r\n".join((f"GET {target} HTTP/1.1", "Host: localhost", *more))
    status, _, rest = (await sent(path, f"{head}\r\n\r\n".encode())).partition(b"\r\n")
    return int(status.split()[1]), rest.partition(b"\r\n\r\n")[2]


async def test_a_token_is_got_with_a_get(path: str) -> None:
    assert await got(path, "/token?audience=vault&audience=a%20b") == (200, b'{"token": ["vault", "a b"]}\n')
    assert await got(path, "/token?audience=vault", "Accept: text/plain") == (200, b"plain")


async def test_curl_gets_one(path: str) -> None:
    command = ["curl", "-sS", "--max-time", "20", "--unix-socket", path, "http://localhost/token?audience=vault"]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b'{"token": ["vault"]}\n', b"")


async def test_refusals_are_said_with_their_status(path: str) -> None:
    assert (await got(path, "/denied"))[0] == 403
    assert (await got(path, "/often"))[0] == 429
    assert (await got(path, "/elsewhere"))[0] == 404


@pytest.mark.parametrize(
    "request_",
    [
        b"POST /token HTTP/1.1\r\n\r\n",
        b"GET http://other/token HTTP/1.1\r\n\r\n",
        b"GET /token HTTP/2\r\n\r\n",
        b"GET /token\r\n\r\n",
        b"GET  /token HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\r\n\r\n",
        b"GET /token?a HTTP/1.1\r\n\r\n",
        b"GET /token?audience=%ff HTTP/1.1\r\n\r\n",
        b"GET /token?" + b"&".join(b"audience=x" for _ in range(50)) + b" HTTP/1.1\r\n\r\n",
        b"GET /token?audience=" + b"x" * 10_000 + b" HTTP/1.1\r\n\r\n",
        b"x" * 20_000,
    ],
)
async def test_what_is_no_such_request_is_refused(path: str, request_: bytes) -> None:
    assert (await sent(path, request_)).startswith(b"HTTP/1.1 400 ")


async def test_a_client_that_leaves_in_the_middle_harms_nobody(path: str) -> None:
    _, writer = await asyncio.open_unix_connection(path)
    writer.write(b"GET /tok")
    writer.close()
    assert (await got(path, "/token"))[0] == 200


async def test_another_user_is_refused(tmp_path: Path) -> None:
    where = str(tmp_path / "identity.sock")
    async with TokenSocket(where, {os.getuid() + 1}, answer):
        assert (await got(where, "/token"))[0] == 403


async def test_everybody_in_the_box_can_connect_and_the_kernel_says_who_it_is(path: str) -> None:
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o666


async def is_served(path: str) -> bool:
    try:
        return (await got(path, "/token"))[0] == 200
    except (ConnectionError, IndexError):  # closed without an answer
        return False


async def test_more_connections_than_the_limit_are_closed_at_once(path: str) -> None:
    idle = [await asyncio.open_unix_connection(path) for _ in range(MAX_CONNECTIONS)]
    await eventually(lambda: is_served(path), not_)  # the last of them may not be accepted yet
    for _, writer in idle:
        writer.close()
    await eventually(lambda: is_served(path))


async def test_who_says_nothing_is_shown_out(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_socket, "REQUEST_SECONDS", 0.05)
    reader, writer = await asyncio.open_unix_connection(path)
    async with asyncio.timeout(20):
        assert await reader.read() == b""
    writer.close()


async def test_a_stale_socket_makes_way(path: str, tmp_path: Path) -> None:
    async with TokenSocket(path, {os.getuid()}, answer):
        assert (await got(path, "/token"))[0] == 200


async def test_a_link_in_the_place_of_the_socket_is_replaced_and_not_followed(tmp_path: Path) -> None:
    where, target = tmp_path / "identity.sock", tmp_path / "precious"
    target.write_text("kept")
    where.symlink_to(target)
    (tmp_path / "identity.sock.new").symlink_to(target)
    async with TokenSocket(str(where), {os.getuid()}, answer):
        assert (await got(str(where), "/token"))[0] == 200
    assert target.read_text() == "kept"


async def test_without_its_directory_the_rest_goes_on(tmp_path: Path) -> None:
    async with TokenSocket(str(tmp_path / "none" / "identity.sock"), {os.getuid()}, answer):
        pass
