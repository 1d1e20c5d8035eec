import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
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


def place(host: str, port: int, internal: list[str] | None = None) -> bytes:
    """The line that names a place."""
    return json.dumps({"host": host, "port": port, "internal": internal}).encode() + b"\n"


async def asked(path: str, line: bytes, sent: bytes = b"", count: int = -1) -> tuple[dict[str, str], bytes]:
    """What answers a line, and what comes back for some bytes."""
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(line)
        answer: dict[str, str] = json.loads(await reader.readline())
        writer.write(sent)
        came = b"" if answer else await (reader.read(-1) if count < 0 else reader.readexactly(count))
        writer.close()
        return answer, came


async def test_an_allowed_name_is_reached_and_told_of(lab: EgressLab, path: str) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(80)
    assert await asked(path, place("a.example", 80), REQUEST, 5) == ({}, b"hello")
    assert (await lab.event("open"))["address"] == OUTSIDE


async def test_a_denied_place_is_refused_with_the_rule(lab: EgressLab, path: str) -> None:
    lab.rules(lab.allow("a.example"))
    for host, port in (("b.example", 443), ("169.254.169.254", 80), ("[::1]", 8080)):
        answer, _ = await asked(path, place(host, port))
        assert "is not allowed" in answer["reason"]
    assert "is not allowed" in str((await lab.event("refused"))["reason"])


async def test_a_name_that_the_policy_denies_is_asked_of_no_resolver(lab: EgressLab, path: str) -> None:
    lab.rules(lab.allow("a.example"), {"action": "ask", "hosts": ["c.example"], "name": "people"})
    lab.hosts["b.example"] = ["127.0.0.1"]
    answer, _ = await asked(path, place("b.example", 80, []))
    assert answer["rule"] == "default"
    asking = asyncio.ensure_future(asked(path, place("c.example", 80, []), REQUEST.replace(b"a.example", b"c.example")))
    question = await lab.event("ask")
    assert lab.asked == []
    lab.server.approvals.answer(question["ask"], allowed=False)
    assert b"needs an approval" in (await asking)[1]
    assert lab.asked == []


async def test_a_name_that_resolves_to_this_machine_is_refused_whenever_it_does(lab: EgressLab, path: str) -> None:
    lab.rules(lab.allow("a.example"), outside=False)
    lab.hosts["a.example"] = ["127.0.0.1"]
    answer, _ = await asked(path, place("a.example", 80), REQUEST)
    assert answer == {"reason": "a.example:80 resolves to the machine itself, which is not allowed (protected)", "rule": "protected"}


async def test_an_internal_address_is_refused_unless_the_server_names_its_network(lab: EgressLab, path: str) -> None:
    lab.rules(lab.allow("a.example"))
    await lab.serve(80)
    inside, other = [f"{OUTSIDE}/32"], ["10.0.0.0/8"]
    assert await asked(path, place("a.example", 80, inside), REQUEST, 5) == ({}, b"hello")
    lab.rules(lab.allow("a.example"), {"action": "allow", "cidrs": [f"{OUTSIDE}/32"], "ports": [80]}, outside=False)  # HTTP alone
    assert await asked(path, place("a.example", 80, inside), REQUEST, 5) == ({}, b"hello")
    for host, internal in (("a.example", []), ("a.example", other), (OUTSIDE, [])):
        answer, _ = await asked(path, place(host, 80, internal), REQUEST)
        assert answer["rule"] == "FETCH_ALLOW"
        assert OUTSIDE not in answer["reason"].removeprefix(f"{host}:80")


async def test_a_name_that_moves_to_an_internal_address_after_it_was_looked_at_is_not_connected_to(
    lab: EgressLab, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.rules(lab.allow("a.example"))
    port = await lab.serve()
    found = iter([(ip_address("8.8.8.8"),), (ip_address(OUTSIDE),)])

    async def moves(_: str) -> tuple[object, ...]:
        return next(found)

    monkeypatch.setattr(lab.server._resolver, "resolve", moves)
    answer, came = await asked(path, place("a.example", port, []), REQUEST.replace(b"a.example", f"a.example:{port}".encode()))
    assert answer == {}
    assert b"which is not allowed (FETCH_ALLOW)" in came
    assert port not in lab.heard


async def test_a_name_without_an_address_is_said_to_have_none(lab: EgressLab, path: str) -> None:
    lab.rules(lab.allow("a.example"))
    del lab.hosts["a.example"]
    answer, _ = await asked(path, place("a.example", 80, []))
    assert answer == {"reason": "a.example:80: a.example has no address", "rule": "unreachable"}


async def test_what_is_said_is_held_against_the_place(lab: EgressLab, path: str) -> None:
    lab.rules(lab.allow("a.example", "c.example"))
    await lab.serve(80)
    _, came = await asked(path, place("c.example", 80), REQUEST)
    assert b"403" in came


@pytest.mark.parametrize(
    "line",
    [
        b"a.example:80\n",
        b"[]\n",
        b'{"host": "a.example", "port": 80}\n',
        place("a.example", 0),
        place("", 80),
        place("a b", 80),
        place("a.example", 80, ["everywhere"]),
        b"\xff\n",
        b"x" * (MAX_PLACE + 2),
        b"[" * MAX_PLACE + b"\n",
        place("a.example", 80)[:-1],
    ],
)
async def test_what_is_no_place_is_hung_up_on(lab: EgressLab, path: str, line: bytes) -> None:
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(line)
        writer.write_eof()
        with suppress(ConnectionResetError):  # what was too long is not read to its end
            assert await reader.read(-1) == b""
        writer.close()


def test_places_are_names_and_addresses_of_both_families() -> None:
    assert str(read_place(place("A.Example", 80).decode()).name) == "a.example"
    assert str(read_place(place("[2001:db8::1]", 80).decode()).address) == "2001:db8::1"
    assert str(read_place(place("[::ffff:1.2.3.4]", 80).decode()).address) == "1.2.3.4"
    with pytest.raises(ValueError, match="host name"):
        read_place(place("[1.2.3.4]", 80).decode())


def test_a_socket_of_an_earlier_process_is_replaced(tmp_path: Path) -> None:
    path = str(tmp_path / "fetches.sock")
    with listen(path), listen(path) as second, socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        accepted, _ = second.accept()
        accepted.close()
