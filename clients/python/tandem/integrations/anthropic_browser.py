"""A sandbox's browser as the browser toolset of Anthropic's SDK, of August 2026.

```python
runner = Anthropic().beta.messages.tool_runner(tools=[BrowserToolset(sandbox)], ...)
```
"""

import base64
import time
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from anthropic.tools import ToolError
from anthropic.tools.browser import (
    BetaAbstractBrowserToolset20260801,
    BetaBrowserNavigateResult,
    BetaBrowserState,
    BetaScreenshotResult,
)

from tandem.errors import TandemError
from tandem.integrations import person
from tandem.wire import UNSET

if TYPE_CHECKING:
    from tandem import Sandbox
    from tandem.api.browser_page import InteractiveElement

NOTCH = 100
"""Pixels of a notch of the wheel."""
MOST_SECONDS = 30.0
MOST_ELEMENTS = 500
MOST_REQUESTS = 100


def _told(member: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """A member of the toolset whose failures the model reads."""

    @wraps(member)
    def called(self: Any, context: Any, input: Any) -> Any:  # noqa: A002 # the SDK names it
        try:
            return member(self, input)
        except TandemError as error:
            raise ToolError(person.failure_text(error)) from error

    return called


def _clicks(button: str, count: int) -> Callable[[Any, Any, Any], Any]:
    """A member that clicks."""

    @_told
    def click(self: Any, given: Any) -> None:
        if given.modifiers:
            raise ToolError("this browser holds no modifiers during a click")
        self._page.click(**self._place(given.target), button=button, click_count=count, tab=_tab(given))

    return click


class BrowserToolset(BetaAbstractBrowserToolset20260801):
    """The pages of the browser. A tab's id is its place in the strip, from 0, as each result lists them.

    `configs`, `confirm` and what else the SDK's own class takes are in `options`. `javascript_exec` is off unless `configs` has it on, and
    needs `confirm`. A failed call raises ToolError, which the model reads.
    """

    def __init__(self, sandbox: "Sandbox", **options: Any) -> None:
        super().__init__(**options)
        self._sandbox = sandbox
        self._page = sandbox.api.browser_page
        self._tabs = sandbox.api.browser_tabs
        self._seen: dict[str, InteractiveElement] = {}
        """What `read_page` last listed, by reference."""
        self._heard = ""
        """When the latest request that was told began."""

    left_click = _clicks("left", 1)
    right_click = _clicks("right", 1)
    middle_click = _clicks("middle", 1)
    double_click = _clicks("left", 2)
    triple_click = _clicks("left", 3)

    def _browser_state(self, context: Any) -> BetaBrowserState:
        try:
            return BetaBrowserState(tabs=[_entry(tab) for tab in self._tabs.list()])
        except TandemError:  # the browser is not there: it has no tabs
            return BetaBrowserState(tabs=[])

    @_told
    def list_tabs(self, _: Any) -> list[Any]:
        return [_entry(tab) for tab in self._tabs.list()]

    @_told
    def new_tab(self, _: Any) -> Any:
        return _entry(self._tabs.create())

    @_told
    def switch_tab(self, given: Any) -> Any:
        return _entry(self._tabs.activate(_tab(given)))

    @_told
    def close_tab(self, given: Any) -> None:
        self._tabs.close(_tab(given))

    @_told
    def navigate(self, given: Any) -> BetaBrowserNavigateResult:
        if given.url in ("back", "forward", "reload"):
            landed = getattr(self._page, given.url)(tab=_tab(given))
        else:
            url = given.url if ":" in given.url.partition("/")[0] else f"https://{given.url}"
            landed = self._page.navigate(url=url, tab=_tab(given))
        return BetaBrowserNavigateResult(url=landed.url, title=landed.title, status=landed.status)

    @_told
    def screenshot(self, given: Any) -> BetaScreenshotResult:
        picture = self._page.screenshot(tab=_tab(given), format="png")
        return BetaScreenshotResult(data=base64.b64encode(picture).decode(), media_type="image/png")

    @_told
    def hover(self, given: Any) -> None:
        self._page.hover(**self._place(given.target), tab=_tab(given))

    @_told
    def scroll(self, given: Any) -> None:
        self._page.hover(x=given.target.x, y=given.target.y, tab=_tab(given))
        notches = given.scroll_amount if given.scroll_amount is not None else 3
        self._page.scroll(direction=given.scroll_direction, amount=NOTCH * max(0, min(notches, 10)), tab=_tab(given))

    @_told
    def scroll_to(self, given: Any) -> None:
        self._page.scroll_to_element(index=self._element(given.target.ref).index, tab=_tab(given))

    @_told
    def type(self, given: Any) -> None:
        self._page.type_text(text=given.text, tab=_tab(given))

    @_told
    def key(self, given: Any) -> None:
        for _ in range(max(1, min(given.repeat or 1, 100))):
            for chord in given.text.split():
                self._page.press_key(key=chord, tab=_tab(given))

    @_told
    def form_input(self, given: Any) -> str | None:
        element, value = self._element(given.target.ref), given.value
        if element.type in ("checkbox", "radio"):
            if not isinstance(value, bool):
                raise ToolError("a checkbox takes true or false")
            if bool(element.checked) is value:
                return "It was so before."
            self._page.click(index=element.index, tab=_tab(given))
            element.checked = value
        elif element.options:
            self._sandbox.api.browser_tools.tool_select(index=element.index, value=str(value), tab=_tab(given))
        else:
            self._page.fill(index=element.index, text=str(value), tab=_tab(given))
        return None

    @_told
    def read_page(self, given: Any) -> str:
        if given.ref is not None:
            raise ToolError("this browser reads whole pages: leave out `ref`")
        found = self._page.get_elements(tab=_tab(given))
        self._seen = {f"ref_{element.index}": element for element in found}
        shown = [element for element in found if given.filter == "all" or element.in_viewport]
        more = f"\n{len(shown) - MOST_ELEMENTS} more elements are left out." if len(shown) > MOST_ELEMENTS else ""
        return "\n".join(_line(element) for element in shown[:MOST_ELEMENTS]) + more or "There are no elements to act on."

    @_told
    def get_page_text(self, given: Any) -> str:
        return person.shortened(self._page.get_text(tab=_tab(given)))

    @_told
    def wait(self, given: Any) -> None:
        time.sleep(max(0.0, min(given.duration, MOST_SECONDS)))

    @_told
    def read_console(self, _: Any) -> str:
        return person.shortened("\n".join(f"{said.type}: {said.text}" for said in self._page.get_console(clear=True)))

    @_told
    def read_network(self, _: Any) -> str:
        latest = [each for each in self._sandbox.api.browser_network.get_requests(limit=MOST_REQUESTS) if each.started > self._heard]
        self._heard = max((each.started for each in latest), default=self._heard)
        lines = (f"{each.method} {each.url} {each.status or each.failure or 'open'} {each.mime_type} {each.duration} s" for each in latest)
        return person.shortened("\n".join(lines))

    @_told
    def javascript_exec(self, given: Any) -> str:
        return person.shortened(str(self._page.evaluate(expression=given.text, tab=_tab(given))))

    def _place(self, target: Any) -> dict[str, Any]:
        return {"index": self._element(target.ref).index} if target.type == "ref" else {"x": target.x, "y": target.y}

    def _element(self, ref: str) -> "InteractiveElement":
        if ref not in self._seen:
            raise ToolError(f"there is no {ref[:40]!r}: read the page first")
        return self._seen[ref]


def _tab(given: Any) -> Any:
    if given.tab_id is None:
        return UNSET
    if not given.tab_id.isdecimal() or len(given.tab_id) > 6:
        raise ToolError(f"there is no tab {given.tab_id[:40]!r}")
    return int(given.tab_id)


def _entry(tab: Any) -> Any:
    return {"tab_id": str(tab.index), "title": tab.title, "url": tab.url, "active": tab.active}


def _line(element: "InteractiveElement") -> str:
    about = {"value": element.value, "placeholder": element.placeholder, "href": element.href, "options": element.options}
    told = [f"{name}={value!r}" for name, value in about.items() if value]
    told += [name for name in ("checked", "disabled") if getattr(element, name)]
    kind = element.role or element.type or element.tag
    return person.shortened(" ".join([f"[ref_{element.index}] {kind} {element.name!r}", *told]))[:500]
