from agent_sandbox import Resolution, RestartRequest
from agent_sandbox.browser import Action_MoveTo

from tests.image.sdk.calls import Calls, drives


@drives(
    "browser.execute_action", "browser.get_info", "browser.get_proxy_pac", "browser.restart", "browser.screenshot", "browser.set_config"
)
async def browser(calls: Calls) -> None:
    info = (await calls("browser.get_info")).data
    moved = await calls("browser.execute_action", request=Action_MoveTo(x=10, y=10))
    picture = await calls("browser.screenshot")
    set_up = await calls("browser.set_config", resolution=Resolution(width=info.viewport.width, height=info.viewport.height))
    restarted = await calls("browser.restart", request=RestartRequest(mode="soft"))
    await calls("browser.get_proxy_pac")

    assert info.cdp_url.startswith("ws://")
    assert (moved.status, moved.action_performed) == ("success", "MOVE_TO")
    assert picture.startswith(b"\x89PNG")
    assert (set_up.success, restarted.success) == (True, True)
