"""CAPTCHAs: detect them, and wait until someone has solved them. Nothing here solves any."""

import asyncio
import time
from typing import Annotated, Literal

from pydantic import Field

from sandbox_server.core import Conflict, Model, Reply, operation
from sandbox_server.drivers.browser import script_results
from sandbox_server.drivers.browser.scripts import script
from sandbox_server.drivers.browser.session import BrowserSession
from sandbox_server.features.browser.page.page_operation import Seconds, Targeted, driving, shown_frames, with_hint

WAIT_SECONDS = 60.0


class Captcha(Model):
    """One CAPTCHA. The position is in pixels of the page's window, or of its frame."""

    kind: Literal["recaptcha", "hcaptcha", "turnstile", "cloudflare", "geetest", "funcaptcha", "aws", "tencent", "image"]
    """Its vendor; `cloudflare` is the page shown before the site, `image` one that a site made itself."""
    solved: bool
    """Whether it has given the page its token."""
    visible: bool
    frame: str | None
    """URL of its frame; null in the page itself."""
    x: float
    y: float
    width: float
    height: float


class CaptchaReport(Model):
    detected: bool
    """Whether there is an unsolved one."""
    captchas: list[Captcha]
    """All CAPTCHAs, solved ones included."""
    url: str
    """URL of the page."""


class CaptchaWaitRequest(Targeted):
    timeout: Seconds = WAIT_SECONDS
    """Seconds to wait."""
    poll_interval: Annotated[float, Field(ge=0.1, le=60)] = 2
    """Seconds between two checks of the page."""


class CaptchaWaitResult(Model):
    resolved: bool
    """Whether no unsolved CAPTCHA is left."""


class Captchas:
    """Finds CAPTCHAs by the elements that the vendors' widgets add to a page."""

    tag = "browser-captcha"

    def __init__(self, session: BrowserSession) -> None:
        self._session = session

    @operation("GET /v1/browser/captcha/detect", operation_id="detect", scope="browser")
    async def detect_captcha(self, request: Targeted) -> Reply[CaptchaReport]:
        """Report whether the page shows a CAPTCHA, and which."""
        return await with_hint(self._session, await self._look(request))

    @operation("POST /v1/browser/captcha/wait", operation_id="wait", scope="browser", read_only=True)
    async def wait_for_captcha(self, request: CaptchaWaitRequest) -> Reply[CaptchaWaitResult]:
        """Wait until the page shows no unsolved CAPTCHA. A person, or another program, solves it."""
        deadline = time.monotonic() + request.timeout
        while True:
            resolved = await self._resolved(request)
            left = deadline - time.monotonic()
            if resolved or left <= 0:
                return await with_hint(self._session, CaptchaWaitResult(resolved=resolved))
            await asyncio.sleep(min(request.poll_interval, left))

    async def _resolved(self, request: CaptchaWaitRequest) -> bool:
        try:
            return not (await self._look(request)).detected
        except Conflict as conflict:  # solving one often leads to another page
            if conflict.details.get("reason") == "navigated":
                return False
            raise

    async def _look(self, request: Targeted) -> CaptchaReport:
        captchas: list[Captcha] = []
        async with driving(self._session, request, "looking for a CAPTCHA") as driven:
            for frame in shown_frames(driven):
                inside = frame.url if frame.parent_frame else None
                found = await script_results.answer(frame, script("captcha"), None, list[Captcha])
                captchas += [captcha.model_copy(update={"frame": inside}) for captcha in found]
            url = driven.frame.url
        return CaptchaReport(detected=any(captcha.visible and not captcha.solved for captcha in captchas), captchas=captchas, url=url)
