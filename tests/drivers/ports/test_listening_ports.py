"""Who listens where."""

import asyncio
import os
import socket
from pathlib import Path

import pytest

from sandbox_server.core.errors import InvalidArgument, PermissionDenied
from sandbox_server.drivers.ports import listening_ports as module
from sandbox_server.drivers.ports.listening_ports import PortPlace, Ports, box_table, listeners
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio

HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def table(tmp_path: Path, *rows: tuple[str, str, int], name: str = "tcp") -> str:
    lines = [
        f"   {i}: {address} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  {uid}        0 1\n"
        for i, (address, state, uid) in enumerate(rows)
    ]
    (tmp_path / name).write_text(HEADER + "".join(lines))
    return str(tmp_path)


async def test_a_real_listener_is_found_with_its_owner() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (found,) = [listener for listener in listeners() if listener.port == port]
        assert (str(found.address), found.uid) == ("127.0.0.1", os.geteuid())
        assert await Ports((), ()).upstream(port) == f"127.0.0.1:{port}"


async def test_a_server_on_ipv6_only_is_reached_there() -> None:
    try:
        server = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("no IPv6 here")
    with server:
        port = server.getsockname()[1]
        assert await Ports((), ()).upstream(port) == f"[::1]:{port}"


async def test_an_unspecified_address_is_reached_at_the_loopback(tmp_path: Path) -> None:
    proc = table(tmp_path, ("00000000000000000000000000000000:0BB8", "0A", 1000), name="tcp6")
    assert await Ports((), (), proc).upstream(3000) == "[::1]:3000"


async def test_a_connection_is_not_a_listener(tmp_path: Path) -> None:
    proc = table(tmp_path, ("0100007F:0BB8", "01", 990))
    assert await Ports((), {990}, proc).upstream(3000) == "127.0.0.1:3000"


async def test_a_port_of_one_of_our_users_is_refused(tmp_path: Path) -> None:
    proc = table(tmp_path, ("0100007F:2406", "0A", 991))
    with pytest.raises(PermissionDenied, match="port 9222 belongs to the sandbox itself"):
        await Ports((), {990, 991}, proc).upstream(9222)


async def test_a_port_that_we_share_with_the_agent_is_refused(tmp_path: Path) -> None:
    proc = table(tmp_path, ("0200007F:2406", "0A", 1000), ("0100007F:2406", "0A", 991))
    with pytest.raises(PermissionDenied):
        await Ports((), {991}, proc).upstream(9222)


async def test_a_listed_port_is_refused_even_if_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(PermissionDenied):
        await Ports({8080}, (), str(tmp_path)).upstream(8080)


@pytest.mark.parametrize("port", [0, 65536, 99999])
async def test_what_is_no_port_is_refused(port: int) -> None:
    with pytest.raises(InvalidArgument):
        await Ports((), ()).upstream(port)


async def test_what_may_be_previewed_is_listed_without_our_own(tmp_path: Path) -> None:
    proc = table(
        tmp_path,
        ("0100007F:0BB8", "0A", 1000),
        ("0100007F:1F90", "0A", 990),
        ("00000000:0050", "0A", 0),
        ("0B00007F:998F", "0A", 0),
        ("0100007F:2328", "0A", 1000),
    )

    found = await Ports({9000}, {990}, proc).open()
    others = await Ports({9000}, {990}, proc, editors={3000}).open()

    assert [(listener.port, listener.inode) for listener in found] == [(3000, 1), (80, 1)]
    assert [listener.port for listener in others] == [80]


async def test_an_editors_port_is_previewed_and_not_shared() -> None:
    ports = Ports({8080}, (), editors={8888})
    assert await ports.upstream(8888)
    ports.check_shareable(3000)
    for port, why in ((8888, "an editor's"), (8080, "belongs to the sandbox itself")):
        with pytest.raises(PermissionDenied, match=why):
            ports.check_shareable(port)


async def test_waiting_ends_when_somebody_listens() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        waiting = asyncio.create_task(Ports((), ()).wait(port, PATIENCE_SECONDS))
        assert not await Ports((), ()).wait(port, 0)
        assert not waiting.done()
        server.listen()
        assert await waiting


async def test_a_look_that_is_over_says_that_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_LOOK_SECONDS", 0.001)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        assert await Ports((), ()).wait(server.getsockname()[1], 0.01) is False


async def test_nobody_waits_for_a_port_of_ours() -> None:
    with pytest.raises(PermissionDenied):
        await Ports({8080}, ()).wait(8080, PATIENCE_SECONDS)


def boxed(tmp_path: Path, box: tuple[tuple[str, str, int], ...], outside: tuple[tuple[str, str, int], ...]) -> Ports:
    """Ports of a box with a network of its own, in which 3001 is published."""
    for name, rows in (("box", box), ("outside", outside)):
        (tmp_path / name).mkdir()
        table(tmp_path / name, *rows)
    return Ports({8080}, {990}, str(tmp_path / "outside"), box=lambda: str(tmp_path / "box"), published=[3001])


PORT_3000, PORT_3001, PORT_9100 = "0100007F:0BB8", "0100007F:0BB9", "0100007F:238C"


async def test_a_program_in_the_box_is_reached_there_and_an_added_service_in_the_container(tmp_path: Path) -> None:
    ports = boxed(tmp_path, ((PORT_3000, "0A", 1000),), ((PORT_9100, "0A", 1000),))

    assert await ports.place(3000) == PortPlace("127.0.0.1:3000", in_box=True)
    assert await ports.place(9100) == PortPlace("127.0.0.1:9100")
    assert await ports.place(4000) == PortPlace("127.0.0.1:4000", in_box=True)
    assert [listener.port for listener in await ports.open()] == [3000, 9100]


async def test_a_port_of_both_is_the_boxes(tmp_path: Path) -> None:
    ports = boxed(tmp_path, ((PORT_9100, "0A", 0),), ((PORT_9100, "0A", 1000),))
    assert (await ports.place(9100)).in_box


async def test_what_the_container_listens_on_for_us_says_nothing_of_the_box(tmp_path: Path) -> None:
    ports = boxed(tmp_path, (), ((PORT_3000, "0A", 990), (PORT_3001, "0A", 0)))

    assert (await ports.place(3001)).in_box
    assert await ports.open() == []
    assert not await ports.wait(3001, 0)
    assert not await ports.listens(3000)
    with pytest.raises(PermissionDenied):
        await ports.place(3000)


async def test_a_program_in_the_box_may_have_a_port_that_is_ours_outside(tmp_path: Path) -> None:
    ports = boxed(tmp_path, ((PORT_3000, "0A", 1000),), ((PORT_3000, "0A", 990),))
    assert (await ports.place(3000)).in_box


async def test_a_program_of_ours_in_the_box_is_refused(tmp_path: Path) -> None:
    ports = boxed(tmp_path, ((PORT_3000, "0A", 990),), ())
    with pytest.raises(PermissionDenied):
        await ports.place(3000)


def test_the_boxes_table_is_that_of_a_program_in_it_while_there_is_one(tmp_path: Path) -> None:
    file = tmp_path / "box.pid"
    assert box_table(str(file)) is None
    file.write_text("")
    assert box_table(str(file)) is None
    file.write_text("42\n")
    assert box_table(str(file)) == "/proc/42/net"
    assert list(listeners(str(tmp_path / "gone"))) == []


async def test_a_listener_in_the_box_is_looked_for_once_a_second_and_one_that_is_missing_each_time(tmp_path: Path) -> None:
    ports = boxed(tmp_path, ((PORT_3000, "0A", 1000),), ())
    assert (await ports.place(4000)).in_box
    table(tmp_path / "box", ("00000000000000000000000001000000:0FA0", "0A", 1000), name="tcp6")
    assert await ports.place(4000) == PortPlace("[::1]:4000", in_box=True)
    (tmp_path / "box/tcp6").unlink()
    assert await ports.place(4000) == PortPlace("[::1]:4000", in_box=True)


async def test_what_is_known_of_ports_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_KNOWN", 2)
    rows = tuple((f"0100007F:{port:04X}", "0A", 1000) for port in range(3000, 3006))
    ports = boxed(tmp_path, rows, ())
    for port in range(3000, 3006):
        assert (await ports.place(port)).in_box
        assert len(ports._known) <= 2
