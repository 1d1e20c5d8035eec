"""Pictures show what is on the screen, and the screen takes the sizes that it is given."""

import asyncio
import io
import itertools
from functools import partial

import pytest
from PIL import Image
from Xlib import display as xlib

from sandbox_server.core.errors import Conflict
from sandbox_server.drivers.x11 import screen
from sandbox_server.drivers.x11.connection import X11Connection
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.screen import MAX_MODES, MAX_PICTURES, MAX_SIZE, MIN_SIZE, ScreenRegion, fit
from tests.drivers.x11.conftest import Program, XServer
from tests.threads import Held, cancelled_in_the_middle

pytestmark = pytest.mark.anyio


def opened(body: bytes) -> Image.Image:
    return Image.open(io.BytesIO(body))


@pytest.mark.parametrize("form", ["png", "jpeg", "webp"])
async def test_a_picture_shows_the_screen(desktop: Desktop, program: Program, form: str) -> None:
    await desktop.screen.resize((1280, 1024))
    shot = await desktop.screen.shoot(form, cursor=False)  # type: ignore[arg-type] # parametrized
    picture = opened(shot.body)
    assert (picture.format, picture.size, shot.screen) == (form.upper(), (1280, 1024), (1280, 1024))
    white, black = picture.convert("RGB").getpixel((300, 200)), picture.convert("RGB").getpixel((1000, 800))
    assert isinstance(white, tuple)
    assert isinstance(black, tuple)
    assert min(white) > 250
    assert max(black) < 5


async def test_a_region_is_cut_out_and_scaled(desktop: Desktop, program: Program) -> None:
    shot = await desktop.screen.shoot("png", region=ScreenRegion(550, 350, 100, 100), scale=0.5, cursor=False)
    picture = opened(shot.body)
    assert (picture.size, shot.screen) == ((50, 50), MAX_SIZE)
    assert (picture.getpixel((10, 10)), picture.getpixel((40, 40))) == ((255, 255, 255), (0, 0, 0))


async def test_the_cursor_is_in_the_picture_unless_it_is_not_wanted(desktop: Desktop, program: Program) -> None:
    await desktop.pointer.move(100, 100)
    at = ScreenRegion(90, 90, 20, 20)
    bare, _ = await desktop.screen.grab(at, cursor=False)
    drawn, _ = await desktop.screen.grab(at)
    assert bare.getcolors() == [(400, (255, 255, 255))]
    assert drawn.tobytes() != bare.tobytes()


async def test_a_screen_that_follows_a_window_does_not_remember_every_size(desktop: Desktop, xserver: XServer) -> None:
    async with X11Connection(xserver.name) as connection:
        for width in range(400, 400 + 4 * MAX_MODES, 2):
            await connection.call(partial(fit, size=(width, 300)))
        modes = await connection.call(lambda display: len(display.screen().root.xrandr_get_screen_resources().modes))
        assert modes <= MAX_MODES + 1
        assert await desktop.screen.size() == (398 + 4 * MAX_MODES, 300)


@pytest.mark.parametrize("size", [(640, 480), (1000, 701), MAX_SIZE, MIN_SIZE])
async def test_the_screen_takes_any_size_up_to_the_largest(desktop: Desktop, size: tuple[int, int]) -> None:
    await desktop.screen.resize(size)
    assert await desktop.screen.size() == size
    assert opened((await desktop.screen.shoot("png")).body).size == size


async def test_a_size_that_the_server_does_not_take_is_a_conflict_and_changes_nothing(desktop: Desktop) -> None:
    await desktop.screen.resize((800, 600))
    with pytest.raises(Conflict, match="3841x100"):
        await desktop.screen.resize((3841, 100))
    assert await desktop.screen.size() == (800, 600)


async def test_a_region_that_the_screen_has_no_more_is_a_conflict(desktop: Desktop) -> None:
    await desktop.screen.resize((800, 600))
    with pytest.raises(Conflict, match="800x600"):
        await desktop.screen.shoot("png", region=ScreenRegion(700, 0, 200, 10))


async def test_the_size_is_kept_when_the_server_is_restarted(desktop: Desktop, xserver: XServer) -> None:
    await desktop.screen.resize((800, 600))
    xserver.kill()
    xserver.start(xserver.name)
    assert await desktop.screen.size() == (800, 600)


async def test_a_still_screen_settles(desktop: Desktop, program: Program) -> None:
    assert await desktop.screen.settle(0.1, 2)


async def test_a_screen_that_changes_all_the_time_does_not_settle(
    desktop: Desktop, xserver: XServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    painter, look = xlib.Display(xserver.name), desktop.screen.pixels
    context, colours = painter.screen().root.create_gc(), itertools.count(1)

    async def changed() -> tuple[bytes, tuple[int, int]]:
        """What is seen after one more change: a painter beside it may stand still for a while on a busy machine."""
        context.change(foreground=next(colours))
        painter.screen().root.fill_rectangle(context, 0, 0, 50, 50)
        painter.sync()
        return await look()

    monkeypatch.setattr(desktop.screen, "pixels", changed)
    assert not await desktop.screen.settle(0.3, 0.6)
    painter.close()


async def test_pictures_that_nobody_waits_for_any_more_count_until_they_are_made(desktop: Desktop, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(screen._shot, lambda *_: desktop.screen._free._value)
    monkeypatch.setattr(screen, "_shot", held)
    await cancelled_in_the_middle(asyncio.create_task(desktop.screen.shoot("png")), held)
    assert held.notes == [MAX_PICTURES - 1]
