"""Pictures have the contract's headers, actions its answers, and nothing stays pressed."""

import asyncio
import io

import pytest
from PIL import Image

from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.features.browser import screen as feature
from sandbox_server.features.browser.actions import Action
from sandbox_server.features.browser.screen import BatchRequest, BrowserConfigRequest, BrowserScreen, Resolution, ScreenshotRequest
from tests.conftest import until
from tests.drivers.x11.conftest import Program

pytestmark = pytest.mark.anyio


async def resize(screen: BrowserScreen, width: int, height: int) -> None:
    await screen.set_config(BrowserConfigRequest(resolution=Resolution(width=width, height=height)))


async def test_a_screenshot_says_how_large_it_is(desktop: Desktop) -> None:
    screen = BrowserScreen(desktop)
    await resize(screen, 800, 600)
    shot = await screen.screenshot(ScreenshotRequest(format="jpg", x=400, scale=0.5))
    picture = Image.open(io.BytesIO(shot.body))
    assert (shot.media_type, picture.format, picture.size) == ("image/jpeg", "JPEG", (200, 300))
    assert shot.headers == {"x-screen-width": "800", "x-screen-height": "600", "x-image-width": "200", "x-image-height": "300"}


@pytest.mark.parametrize(("field", "region"), [("x", {"x": 800}), ("x", {"x": 1, "width": 800}), ("y", {"y": 500, "height": 101})])
async def test_a_region_outside_the_screen_names_its_field(desktop: Desktop, field: str, region: dict[str, int]) -> None:
    screen = BrowserScreen(desktop)
    await resize(screen, 800, 600)
    with pytest.raises(InvalidFields) as refused:
        await screen.screenshot(ScreenshotRequest.model_validate(region))
    assert refused.value.problems[0]["loc"] == (field,)


async def test_a_size_that_no_screen_has_is_refused(desktop: Desktop) -> None:
    with pytest.raises(InvalidFields, match="3841x100"):
        await resize(BrowserScreen(desktop), 3841, 100)


async def test_an_action_is_answered_as_the_contract_says(desktop: Desktop) -> None:
    answer = await BrowserScreen(desktop).execute_action(Action.model_validate({"action_type": "MOVE_TO", "x": 1, "y": 1}))
    assert answer.model_dump(exclude={"message", "hint"}) == {
        "success": True,
        "data": {"status": "success", "action_performed": "MOVE_TO"},
        "status": "success",
        "action_performed": "MOVE_TO",
    }


async def test_a_batch_is_done_in_order_and_leaves_nothing_pressed(desktop: Desktop, program: Program) -> None:
    request = BatchRequest.model_validate(
        {"actions": [{"action_type": "KEY_DOWN", "key": "shift"}, {"action_type": "PRESS", "key": "a"}], "until": "settle"}
    )
    done = await BrowserScreen(desktop).execute_actions(request)
    assert (done.actions_performed, done.settled, desktop.holds) == (["KEY_DOWN", "PRESS"], True, False)
    until(lambda: program.text == "A")


async def test_a_batch_that_fails_names_the_action_and_lets_go(desktop: Desktop) -> None:
    request = BatchRequest.model_validate({"actions": [{"action_type": "MOUSE_DOWN"}, {"action_type": "PRESS", "key": "nonsense"}]})
    with pytest.raises(InvalidFields) as refused:
        await BrowserScreen(desktop).execute_actions(request)
    assert refused.value.problems[0]["loc"] == ("actions", 1, "key")
    assert not desktop.holds


async def test_a_key_that_nobody_releases_is_released(desktop: Desktop, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature, "HOLD_SECONDS", 0.05)
    async with BrowserScreen(desktop) as screen:
        await screen.execute_action(Action.model_validate({"action_type": "KEY_DOWN", "key": "ctrl"}))
        async with asyncio.timeout(5):
            while desktop.holds:  # noqa: ASYNC110 - nobody tells when it is
                await asyncio.sleep(0.01)
    until(lambda: program.kinds() == ["down", "up"])
