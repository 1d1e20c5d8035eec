import asyncio
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox_server.egress.server_fetches import MAX_PLACE, listen, read_place
from tests.egress.conftest import OUTSIDE, EgressLab

pytestmark = pytest.mark.anyio
REQUEST = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    """The socket, which outlives the process that serves it."""
    with listen(str(tmp_path / "fetches.sock")) as sock:
        yield sock


@pytest.fixture
async def path(listener: socket.socket, lab: EgressLab) -> str:
    lab.server.serve_fetches(listener)
    return str(listener.getsockname())


async def asked(path: str, place: bytes, sent: bytes = b"", count: int = -1) -> tuple[bytes, bytes]:
    """The line that answers a place, and what comes back for some bytes."""
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(place)
        line = await reader.readline()
        writer.write(sent)
        came = await (reader.read(-1) if count < 0 else reader.readexactly(count)) if line == b"ok\n" else b""
        writer.close()
        return line, came


async def test_an_allowed_name_is_reached_and_told_of(lab: EgressLab, path: str) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(80)
    assert await asked(path, b"a.example:80\n", REQUEST, 5) == (b"ok\n", b"hello")
    assert (await lab.event("open"))["address"] == OUTSIDE


async def test_a_denied_place_is_refused_with_the_rule(lab: EgressLab, path: str) -> None:
    lab.rules(lab.allow("a.example"))
    for place in ("b.example:443", "169.254.169.254:80", "[::1]:8080"):
        line, _ = await asked(path, f"{place}\n".encode())
        assert b"is not allowed" in line
    assert "is not allowed" in str((await lab.event("refused"))["reason"])


async def test_a_name_that_resolves_to_this_machine_is_refused_whenever_it_does(lab: EgressLab, path: str) -> None:
    lab.rules(lab.allow("a.example"), outside=False)
    lab.hosts["a.example"] = ["127.0.0.1"]
    line, came = await asked(path, b"a.example:80\n", REQUEST)
    assert line == b"ok\n"
    assert b"403" in came
    assert b"resolves to 127.0.0.1, which is not allowed" in came


async def test_what_is_said_is_held_against_the_place(lab: EgressLab, path: str) -> None:
    lab.rules(lab.allow("a.example", "c.example"))
    await lab.serve(80)
    _, came = await asked(path, b"c.example:80\n", REQUEST)
    assert b"403" in came


@pytest.mark.parametrize("place", [b"a.example\n", b"a.example:0\n", b":80\n", b"a b:80\n", b"\xff:80\n", b"x" * (MAX_PLACE + 2), b"a:1"])
async def test_what_is_no_place_is_hung_up_on(lab: EgressLab, path: str, place: bytes) -> None:
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(place)
        writer.write_eof()
        with suppress(ConnectionResetError):  # what was too long is not read to its end
            assert await reader.read(-1) == b""
        writer.close()


def test_places_are_names_and_addresses_of_both_families() -> None:
    assert str(read_place("A.Example:80").name) == "a.example"
    assert str(read_place("[2001:db8::1]:80").address) == "2001:db8::1"
    assert str(read_place("[::ffff:1.2.3.4]:80").address) == "1.2.3.4"
    with pytest.raises(ValueError, match="host name"):
        read_place("[1.2.3.4]:80")


def test_a_socket_of_an_earlier_process_is_replaced(tmp_path: Path) -> None:
    path = str(tmp_path / "fetches.sock")
    with listen(path), listen(path) as second, socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        accepted, _ = second.accept()
        accepted.close()
