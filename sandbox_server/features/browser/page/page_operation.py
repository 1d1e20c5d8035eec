"""What operations on a page share: the page they name, their timeout, their answer to dialogs, and their hint."""

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
"""How long an action waits for its element to be there, visible and enabled, unless it is told otherwise."""
READ_SECONDS = 30.0
FIND_SECONDS = 2.0
"""For an element that is to be read to appear, as while the page is still being made."""
MAX_TEXT = 100_000

type Seconds = Annotated[float, Field(gt=0, le=MAX_TIMEOUT)]
type Selector = Annotated[str, Field(min_length=1, max_length=10_000)]
type Index = Annotated[int, Field(ge=0)]
type Element = Locator | ElementHandle


class Targeted(Model):
    """An operation on a page."""

    tab: Index | None = None
    """The tab, as the list of tabs counts them; null is the one in front."""
    frame: Selector | None = None
    """A frame in the page: its name, its address, or a CSS selector of its element; null is the page itself."""

    @property
    def acts(self) -> tuple[Reach, ...]:
        """A selector of the caller's is matched by the page, however long that takes: a page that a person has is not asked to."""
        return ("cdp",) if self.frame is not None or getattr(self, "selector", None) is not None else ()


class Acting(Targeted):
    """An operation that may change the page."""

    timeout: Seconds = ACT_SECONDS
    """Seconds to wait for the element to be there, visible and enabled."""
    dialog: Literal["accept", "dismiss"] | None = None
    """What to say to dialogs that open meanwhile; null accepts alerts and leaving a page, and dismisses the others."""
    dialog_text: Annotated[str, Field(max_length=MAX_TEXT)] | None = None
    """What to write into a prompt that is accepted."""


def driving(
    session: BrowserSession, request: Targeted, doing: str, *, revive: bool = False, direct: bool = False
) -> AbstractAsyncContextManager[Driven]:
    """The page and frame of a request, with its timeout and what it says to dialogs; see `BrowserSession.driving`."""
    answer = DialogAnswer(request.dialog, request.dialog_text) if isinstance(request, Acting) else LOOKING
    timeout = request.timeout if isinstance(request, Acting) else READ_SECONDS
    return session.driving(doing, tab=request.tab, frame=request.frame, answer=answer, timeout=timeout, revive=revive, direct=direct)


def hints_for_each_caller(session: BrowserSession) -> Guard:
    """Guard: what happens in the browser is told to every caller, whoever else was told of it."""

    async def guard(called: Operation, _: BaseModel | None, call: Call, proceed: Proceed) -> object:
        if called.spec.scope == "browser":
            session.listen(call.caller.name)
        return await proceed()

    return guard


async def with_hint[T](session: BrowserSession, data: T) -> Reply[T]:
    """A result, with what else happened as its hint."""
    return Reply(data, hint=await session.hint())


def milliseconds(seconds: float) -> float:
    """As Playwright takes times."""
    return seconds * 1000


def shown_frames(driven: Driven) -> "list[Frame]":
    """The frame that a call is about and those in it, at most MAX_FRAMES together."""
    inside = [driven.frame]
    for frame in inside:
        inside += frame.child_frames[: MAX_FRAMES - len(inside)]
    return inside


@asynccontextmanager
async def looking_for(driven: Driven, selector: str | None) -> AsyncIterator[None]:
    """Tell an element that never was there from one that cannot be acted on: raises NotFound instead of a time that ran out."""
    from playwright.async_api import TimeoutError as OutOfTime

    try:
        yield
    except OutOfTime:
        if selector is not None and not await driven.frame.locator(selector).count():
            raise NotFound(f"nothing in the page matches {selector!r}", selector=selector) from None
        raise


async def found_in(driven: Driven, selector: str) -> "Locator":
    """The first element that a selector finds; raises NotFound when none appears in `FIND_SECONDS`."""
    element = driven.frame.locator(selector).first
    async with looking_for(driven, selector):
        await element.wait_for(state="attached", timeout=milliseconds(FIND_SECONDS))
    return element


def invalid(field: str, problem: str) -> InvalidFields:
    """A field that does not fit, as a 422 that names it."""
    return InvalidFields([{"loc": (field,), "msg": problem, "type": "value_error"}])
