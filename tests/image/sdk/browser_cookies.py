from tests.image.sdk.calls import Calls, drives

COOKIE = {"name": "sdk", "value": "1", "domain": "sdk.example", "path": "/", "secure": True, "httpOnly": True, "sameSite": "Strict"}


@drives("browser_cookies.get_cookies", "browser_cookies.set_cookies", "browser_cookies.clear_cookies")
async def cookies(calls: Calls) -> None:
    await calls("browser_cookies.set_cookies", cookies=[COOKIE])
    found = (await calls("browser_cookies.get_cookies", urls="https://sdk.example/x")).data
    elsewhere = (await calls("browser_cookies.get_cookies", urls="https://other.example/")).data
    await calls("browser_cookies.clear_cookies")

    assert found == [{**COOKIE, "expires": -1}]
    assert elsewhere == []
    assert (await calls("browser_cookies.get_cookies")).data == []
