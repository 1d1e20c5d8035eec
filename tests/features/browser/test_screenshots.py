"""Pictures have the contract's headers, and tell agents what is on them."""

import io
import json

import pytest
from PIL import Image
from Xlib import X
from Xlib import display as xlib

from sandbox_server.core import Blob, Call, Caller, Reply
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.features.browser.screenshots import LookRequest, Pictures, ScreenshotRequest, WatchRequest
from tests.drivers.x11.conftest import Program, XServer
from tests.patience import eventually

pytestmark = pytest.mark.anyio


async def test_a_screenshot_says_how_large_it_is(desktop: Desktop) -> None:
    await desktop.screen.resize((800, 600))
    shot = await Pictures(desktop).screenshot(ScreenshotRequest(format="jpg", x=400, scale=0.5))
    picture = Image.open(io.BytesIO(shot.body))
    assert (shot.media_type, picture.format, picture.size) == ("image/jpeg", "JPEG", (200, 300))
    assert shot.headers == {"x-screen-width": "800", "x-screen-height": "600", "x-image-width": "200", "x-image-height": "300"}


@pytest.mark.parametrize(("field", "region"), [("x", {"x": 800}), ("x", {"x": 1, "width": 800}), ("y", {"y": 500, "height": 101})])
async def test_a_region_outside_the_screen_names_its_field(desktop: Desktop, field: str, region: dict[str, int]) -> None:
    await desktop.screen.resize((800, 600))
    with pytest.raises(InvalidFields) as refused:
        await Pictures(desktop).screenshot(ScreenshotRequest.model_validate(region))
    assert refused.value.problems[0]["loc"] == (field,)


async def test_a_look_is_a_jpeg_and_says_what_is_on_it(desktop: Desktop, window_manager: None, program: Program) -> None:
    await desktop.screen.resize((800, 600))
    await desktop.pointer.move(30, 40)
    await eventually(desktop.windows.all, lambda windows: any(window.focused for window in windows))
    shot = await Pictures(desktop).look(LookRequest(scale=0.5))
    assert Image.open(io.BytesIO(shot.body)).format == "JPEG"
    assert json.loads(shot.headers["x-about"]) == {
        "screen": {"width": 800, "height": 600},
        "image": {"width": 400, "height": 300},
        "cursor": {"x": 30, "y": 40},
        "active_window": {"title": "", "program": "Program"},
    }


async def test_a_look_at_an_empty_screen_names_no_window(desktop: Desktop) -> None:
    shot = await Pictures(desktop).look(LookRequest())
    assert json.loads(shot.headers["x-about"])["active_window"] is None


async def watched(desktop: Desktop, request: WatchRequest, known: str = "") -> Blob | Reply[None]:
    """The picture for who has one with a tag."""
    call = Call(Caller("ann"), "request", headers={"if-none-match": known} if known else {})
    picture: Blob | Reply[None] = await Pictures(desktop).watch(request, call)
    return picture


async def test_who_watches_by_pictures_gets_the_whole_screen_as_a_jpeg(desktop: Desktop) -> None:
    await desktop.screen.resize((800, 600))
    for request, size in ((WatchRequest(), (800, 600)), (WatchRequest(scale=0.25, quality=60), (200, 150))):
        shot = await watched(desktop, request)
        assert isinstance(shot, Blob)
        assert shot.media_type == "image/jpeg"
        assert Image.open(io.BytesIO(shot.body)).size == size


async def test_a_screen_that_did_not_change_is_not_captured_again(desktop: Desktop, xserver: XServer) -> None:
    await desktop.screen.resize((800, 600))
    await desktop.pointer.move(30, 40)
    small = WatchRequest(scale=0.25)
    first = await watched(desktop, small)
    again = await watched(desktop, small, first.headers["ETag"])
    assert (isinstance(again, Reply), again.headers["ETag"]) == (True, first.headers["ETag"])
    assert isinstance(await watched(desktop, WatchRequest(), first.headers["ETag"]), Blob)
    await desktop.pointer.move(50, 40)
    moved = await watched(desktop, small, first.headers["ETag"])
    assert isinstance(moved, Blob)
    draw(xserver.name)
    drawn = await watched(desktop, small, moved.headers["ETag"])
    assert isinstance(drawn, Blob)
    await desktop.screen.resize((640, 480))
    assert isinstance(await watched(desktop, small, drawn.headers["ETag"]), Blob)


def draw(name: str) -> None:
    """Draw on the screen as a program does."""
    display = xlib.Display(name)
    root = display.screen().root
    root.fill_rectangle(root.create_gc(foreground=0xFF0000, subwindow_mode=X.IncludeInferiors), 10, 10, 100, 100)
    display.sync()
    display.close()
