"""Pictures have the contract's headers, and tell agents what is on them."""

import io
import json

import pytest
from PIL import Image

from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.features.browser.screenshots import LookRequest, Pictures, ScreenshotRequest
from tests.drivers.x11.conftest import Program, eventually

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


async def test_who_watches_by_pictures_gets_the_whole_screen_as_a_jpeg(desktop: Desktop) -> None:
    await desktop.screen.resize((800, 600))
    shot = await Pictures(desktop).watch()
    assert shot.media_type == "image/jpeg"
    assert Image.open(io.BytesIO(shot.body)).size == (800, 600)
