from tests.image.sdk.calls import Calls, drives

PAGE = "data:text/html,<div class=h-captcha style='height: 60px'>I am no robot</div>"


@drives("browser_captcha.detect", "browser_captcha.wait")
async def captcha(calls: Calls) -> None:
    await calls("browser_page.navigate", url=PAGE)
    found = (await calls("browser_captcha.detect")).data
    gave_up = (await calls("browser_captcha.wait", timeout=0.2, poll_interval=0.1)).data
    await calls("browser_page.navigate", url="about:blank")

    assert (found["detected"], found["captchas"][0]["kind"], gave_up.resolved) == (True, "hcaptcha", False)
    assert (await calls("browser_captcha.wait")).data.resolved
