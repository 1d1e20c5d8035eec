from tests.image.sdk.browser_cookies import COOKIE
from tests.image.sdk.calls import Calls, a_path, drives


@drives("browser_state.save", "browser_state.load")
async def state(calls: Calls) -> None:
    path = a_path("state.json")
    await calls("browser_cookies.set_cookies", cookies=[COOKIE])
    assert (await calls("browser_state.save", path=path)).success
    await calls("browser_cookies.clear_cookies")
    assert (await calls("browser_state.load", path=path)).success
    assert [cookie["name"] for cookie in (await calls("browser_cookies.get_cookies")).data] == ["sdk"]
    await calls("browser_cookies.clear_cookies")
    assert (await calls.fails("browser_state.load", path=a_path())).status_code == 404
