"""What operations on a page share: the target page, timeouts, dialog handling and hints."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, Field

from sandbox_server.core import Call, Model, NotFound, Reply
from sandbox_server.core.control import Reach
from sandbox_server.core.dispatch import Guard, InvalidFields, Proceed
from sandbox_server.core.operation import Operation
from sandbox_server.drivers.browser.dialogs import LOOKING, DialogAnswer
from sandbox_server.drivers.browser.script_results import MAX_FRAMES
from sandbox_server.drivers.browser.session import BrowserSession, Driven

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Frame, Locator

MAX_TIMEOUT = 600.0
ACT_SECONDS = 10.0
"""Default seconds that an action waits for its element to exist, visible and enabled."""
READ_SECONDS = 30.0
FIND_SECONDS = 2.0
"""Seconds that a reading operation waits for its element to appear."""
MAX_TEXT = 100_000

type Seconds = Annotated[float, Field(gt=0, le=MAX_TIMEOUT)]
type Selector = Annotated[str, Field(min_length=1, max_length=10_000)]
type Index = Annotated[int, Field(ge=0)]
type Element = Locator | ElementHandle


class Targeted(Model):
    """An operation on a page."""

    tab: Index | None = None
    """The tab, by its index in the list of tabs; null is the one in front."""
    frame: Selector | None = None
    """A frame in the page: its name, its URL, or a CSS selector of its element; null is the page itself."""

    @property
    def acts(self) -> tuple[Reach, ...]:
        """What the operation acts on.

        The page matches a selector for as long as it likes, so a selector needs the lease, too.
        """
        return ("cdp",) if self.frame is not None or getattr(self, "selector", None) is not None else ()


class Acting(Targeted):
    """An operation that may change the page."""

    timeout: Seconds = ACT_SECONDS
    """Seconds to wait until the element exists, visible and enabled."""
    dialog: Literal["accept", "dismiss"] | None = None
    """How to answer dialogs; null accepts alerts and leaving a page, and dismisses others."""
    dialog_text: Annotated[str, Field(max_length=MAX_TEXT)] | None = None
    """The text for a prompt that is accepted."""


def driving(
    session: BrowserSession, request: Targeted, doing: str, *, revive: bool = False, direct: bool = False
) -> AbstractAsyncContextManager[Driven]:
    """The page and frame of a request, with its timeout and dialog handling; see `BrowserSession.driving`."""
    answer = DialogAnswer(request.dialog, request.dialog_text) if isinstance(request, Acting) else LOOKING
    timeout = request.timeout if isinstance(request, Acting) else READ_SECONDS
    return session.driving(doing, tab=request.tab, frame=request.frame, answer=answer, timeout=timeout, revive=revive, direct=direct)


def hints_for_each_caller(session: BrowserSession) -> Guard:
    """Guard: every caller gets the hints about the browser once, whatever other callers got."""

    async def guard(called: Operation, _: BaseModel | None, call: Call, proceed: Proceed) -> object:
        if called.spec.scope == "browser":
            session.listen(call.caller.name)
        return await proceed()

    return guard


async def with_hint[T](session: BrowserSession, data: T) -> Reply[T]:
    """Return a result with the pending hint."""
    return Reply(data, hint=await session.hint())


def milliseconds(seconds: float) -> float:
    """Convert to milliseconds, Playwright's unit."""
    return seconds * 1000


def shown_frames(driven: Driven) -> "list[Frame]":
    """Return the target frame and the frames in it, at most MAX_FRAMES."""
    inside = [driven.frame]
    for frame in inside:
        inside += frame.child_frames[: MAX_FRAMES - len(inside)]
    return inside


@asynccontextmanager
async def looking_for(driven: Driven, selector: str | None) -> AsyncIterator[None]:
    """Raise NotFound instead of a timeout if the element never existed."""
    from playwright.async_api import TimeoutError as OutOfTime

    try:
        yield
    except OutOfTime:
        if selector is not None and not await driven.frame.locator(selector).count():
            raise NotFound(f"nothing in the page matches {selector!r}", selector=selector) from None
        raise


async def found_in(driven: Driven, selector: str) -> "Locator":
    """Return the first element that matches a selector; raises NotFound if none appears in `FIND_SECONDS`."""
    element = driven.frame.locator(selector).first
    async with looking_for(driven, selector):
        await element.wait_for(state="attached", timeout=milliseconds(FIND_SECONDS))
    return element


def invalid(field: str, problem: str) -> InvalidFields:
    """Return a 422 error that names the field."""
    return InvalidFields([{"loc": (field,), "msg": problem, "type": "value_error"}])
