"""Screens of every size, exactly, to several viewers at once, while the size changes and when the X server is another."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from PIL import Image

from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.x11.connection import X11Connection
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.screen import MAX_SIZE
from sandbox_server.stream import wire
from sandbox_server.stream.input.injector import InputInjector
from sandbox_server.stream.viewer.stream_viewer import StreamViewer
from tests.drivers.x11.conftest import XServer
from tests.patience import eventually
from tests.stream.conftest import SIZE, Painter, shot
from tests.stream.screens import page, photograph
from tests.stream.viewers import GUEST, PERSON, FakeClient, FakeLease, sharing

pytestmark = [
    pytest.mark.anyio,
    # Xlib leaves the socket to the garbage collector where it could not connect.
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
]


@asynccontextmanager
async def two(desktop: Desktop, name: str) -> AsyncIterator[tuple[FakeClient, FakeClient]]:
    """Who drives, and who watches the same screen."""
    clients = FakeClient(), FakeClient()
    async with sharing(name) as sources, X11Connection(name) as connection, Tasks() as tasks:
        for number, (client, caller) in enumerate(zip(clients, (PERSON, GUEST), strict=True)):
            lease, injector = FakeLease(drives=caller is PERSON), InputInjector(desktop, connection)
            tasks.start(StreamViewer(client, sources, injector, caller, lease, number).run())
            client.say(wire.Hello(wire.VERSION, videos=False))
            await client.begins()
        yield clients


def size_of(client: FakeClient) -> tuple[int, int]:
    return client.picture.canvas.width, client.picture.canvas.height


async def both_show(clients: tuple[FakeClient, FakeClient], pixels: bytes) -> None:
    for client in clients:
        await client.shows(pixels)


async def test_the_largest_screen_is_shown_bit_for_bit_up_to_its_last_corner(desktop: Desktop, painter: Painter, xserver: XServer) -> None:
    await desktop.screen.resize(MAX_SIZE)
    async with two(desktop, xserver.name) as clients:
        painter.paint(page(SIZE))
        painter.paint(photograph((300, 200)), (MAX_SIZE[0] - 300, MAX_SIZE[1] - 200))
        await both_show(clients, await shot(desktop.screen))
        assert size_of(clients[0]) == MAX_SIZE


async def test_a_screen_that_changes_its_size_again_and_again_is_followed_by_all(
    desktop: Desktop, painter: Painter, xserver: XServer
) -> None:
    async with two(desktop, xserver.name) as clients:
        for number, size in enumerate([(1921, 1081), (333, 257), (64, 64), (1280, 1024)]):
            painter.paint(photograph((64, 64), number))
            await desktop.screen.resize(size)
            painter.paint(page((400, 300), seed=number), (20, 10))
            await both_show(clients, await shot(desktop.screen))
            assert [size_of(client) for client in clients] == [size, size]


async def test_who_drives_fits_the_screen_to_a_window_and_who_watches_does_not(
    desktop: Desktop, painter: Painter, xserver: XServer
) -> None:
    async with two(desktop, xserver.name) as (driver, watcher):
        watcher.say(wire.Fit(500, 400))
        watcher.say(wire.Ping(1))
        await eventually(lambda: watcher.pongs)
        driver.say(wire.Fit(1001, 701))
        for client in (driver, watcher):
            await eventually(lambda client=client: size_of(client) == (1000, 700))  # type: ignore[misc, arg-type] # one for each
        await both_show((driver, watcher), await shot(desktop.screen))


async def test_an_x_server_that_dies_under_two_viewers_comes_back_to_both(desktop: Desktop, xserver: XServer) -> None:
    await desktop.screen.resize((801, 603))
    async with two(desktop, xserver.name) as clients:
        xserver.kill()
        for client in clients:
            await eventually(lambda client=client: not client.picture.running)  # type: ignore[misc, arg-type] # one for each
        xserver.start(xserver.name)
        for client in clients:
            await eventually(lambda client=client: client.picture.running)  # type: ignore[misc] # one for each
        other = Painter(xserver.name)
        other.paint(Image.new("RGB", (90, 60), (7, 8, 9)), (100, 100))
        await both_show(clients, await shot(desktop.screen))
        assert [size_of(client) for client in clients] == [(801, 603)] * 2
        other.close()
