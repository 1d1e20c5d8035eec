from tests.image.sdk.calls import Calls, drives


@drives("browser_tabs.list", "browser_tabs.create", "browser_tabs.close", "browser_tabs.activate")
async def tabs(calls: Calls) -> None:
    before = (await calls("browser_tabs.list")).data
    opened = (await calls("browser_tabs.create", url="data:text/html,<title>Tab</title>")).data
    await calls("browser_tabs.activate", index=0)
    active = [tab["index"] for tab in (await calls("browser_tabs.list")).data if tab["active"]]
    await calls("browser_tabs.close", index=opened["index"])

    assert opened["index"] == len(before)
    assert active == [0]
    assert len((await calls("browser_tabs.list")).data) == len(before)
    assert (await calls.fails("browser_tabs.close", index=99)).status_code == 404
