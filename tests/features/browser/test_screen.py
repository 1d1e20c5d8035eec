"""Actions have the contract's answers, and nothing stays pressed."""

import base64
import io

import pytest
from PIL import Image

from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.input_turns import InputTurns
from sandbox_server.features.browser.gui_actions import Action
from sandbox_server.features.browser.screen import BatchRequest, BrowserConfigRequest, BrowserScreen, Resolution
from tests.drivers.x11.conftest import Program
from tests.patience import until

pytestmark = pytest.mark.anyio


async def resize(screen: BrowserScreen, width: int, height: int) -> None:
    await screen.set_config(BrowserConfigRequest(resolution=Resolution(width=width, height=height)))


async def test_a_size_that_no_screen_has_is_refused(desktop: Desktop) -> None:
    with pytest.raises(InvalidFields, match="3841x100"):
        await resize(BrowserScreen(desktop, InputTurns(desktop)), 3841, 100)


async def test_an_action_is_answered_as_the_contract_says(desktop: Desktop) -> None:
    answer = await BrowserScreen(desktop, InputTurns(desktop)).execute_action(
        Action.model_validate({"action_type": "MOVE_TO", "x": 1, "y": 1})
    )
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
    done = await BrowserScreen(desktop, InputTurns(desktop)).execute_actions(request)
    assert (done.actions_performed, done.settled, desktop.holds) == (["KEY_DOWN", "PRESS"], True, False)
    until(lambda: program.text == "A")


async def test_a_batch_that_fails_names_the_action_and_lets_go(desktop: Desktop) -> None:
    request = BatchRequest.model_validate({"actions": [{"action_type": "MOUSE_DOWN"}, {"action_type": "PRESS", "key": "nonsense"}]})
    with pytest.raises(InvalidFields) as refused:
        await BrowserScreen(desktop, InputTurns(desktop)).execute_actions(request)
    assert refused.value.problems[0]["loc"] == ("actions", 1, "key")
    assert not desktop.holds


async def test_a_batch_shows_the_screen_as_it_is_afterwards(desktop: Desktop) -> None:
    screen = BrowserScreen(desktop, InputTurns(desktop))
    await resize(screen, 400, 300)
    request = BatchRequest.model_validate(
        {"actions": [{"action_type": "MOVE_TO", "x": 9, "y": 9}], "screenshot": {"format": "png", "scale": 0.5}}
    )
    shown = (await screen.execute_actions(request)).screenshot
    assert shown is not None
    picture = Image.open(io.BytesIO(base64.b64decode(shown.data)))
    assert (shown.media_type, picture.format, picture.size) == ("image/png", "PNG", (200, 150))
    assert (shown.width, shown.height) == picture.size


async def test_a_picture_that_cannot_be_taken_is_refused_before_anything_is_done(desktop: Desktop) -> None:
    screen = BrowserScreen(desktop, InputTurns(desktop))
    await resize(screen, 400, 300)
    before = await desktop.pointer.position()
    request = BatchRequest.model_validate({"actions": [{"action_type": "MOVE_TO", "x": 9, "y": 9}], "screenshot": {"x": 400}})
    with pytest.raises(InvalidFields) as refused:
        await screen.execute_actions(request)
    assert refused.value.problems[0]["loc"] == ("screenshot", "x")
    assert await desktop.pointer.position() == before
