"""Forms: fill fields, choose options, tick boxes, upload files."""

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, model_validator

from sandbox_server.core import Conflict, Failure, Model, NotFound, Reply, operation
from sandbox_server.drivers.browser import script_results
from sandbox_server.drivers.browser.elements import ElementIndex
from sandbox_server.drivers.browser.playwright_errors import translated
from sandbox_server.drivers.browser.session import BrowserSession, Driven
from sandbox_server.drivers.browser.uploads import PageUploads
from sandbox_server.features.browser.page.input import OneElement, element_of
from sandbox_server.features.browser.page.page_operation import (
    MAX_TEXT,
    Acting,
    Index,
    Selector,
    driving,
    looking_for,
    milliseconds,
    with_hint,
)

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle

MAX_FIELDS = 200
MAX_FILES = 100

_VALUE = "element => element.type === 'password' && element.value ? '(hidden)' : `${element.value ?? element.textContent ?? ''}`"
_OPTIONS = "element => [...element.options].map(option => [option.value, option.label.trim()])"
_KIND = "element => [element.tagName.toLowerCase(), (element.type ?? '').toLowerCase()]"

type FieldText = Annotated[str, Field(max_length=MAX_TEXT)]


class FillRequest(OneElement):
    text: Annotated[str, Field(max_length=10_000_000)]


class SelectOptionRequest(Acting):
    selector: Selector
    """The list: a CSS selector, or one of Playwright's."""
    value: str | None = None
    """The option's value."""
    label: str | None = None
    """The option's text."""
    index: Index | None = None
    """The option's position in the list, from 0."""

    @model_validator(mode="after")
    def _check_exactly_one(self) -> "SelectOptionRequest":
        if [self.value, self.label, self.index].count(None) != 2:
            raise ValueError("give one of value, label and index")
        return self


class CheckRequest(Acting):
    selector: Selector
    """The box or radio button: a CSS selector, or one of Playwright's."""


class UploadFileRequest(Acting):
    selector: Selector
    """The file input: a CSS selector, or one of Playwright's."""
    files: Annotated[list[Annotated[str, Field(min_length=1)]], Field(max_length=MAX_FILES)]
    """Files of the agent: absolute paths, or ones that begin with `~/`. An empty list clears the input."""


class PageField(Model):
    """One field and its value."""

    selector: Selector | None = None
    """A CSS selector, or one of Playwright's."""
    index: Index | None = None
    """An index of `get_elements`."""
    value: bool | int | float | FieldText | list[FieldText]
    """Text of a field, text or value of an option, whether a box is ticked, or paths of files."""

    @model_validator(mode="after")
    def _check_exactly_one(self) -> "PageField":
        if (self.selector is None) == (self.index is None):
            raise ValueError("give either selector or index")
        return self


class FormFillRequest(Acting):
    items: Annotated[list[PageField], Field(min_length=1, max_length=MAX_FIELDS)]
    """The fields, filled in this order."""


class FormFilled(Model):
    """The result of filling a form."""

    filled: int
    """The number of filled fields, which is all of them."""


class Forms:
    """Fills forms. Each change fires the same events as a person's input."""

    tag = "browser-page"

    def __init__(self, session: BrowserSession, elements: ElementIndex, uploads: PageUploads) -> None:
        self._session = session
        self._elements = elements
        self._uploads = uploads

    @operation("POST /v1/browser/page/fill", scope="browser", acts="cdp")
    async def fill(self, request: FillRequest) -> Reply[None]:
        """Replace the text of a field."""
        async with driving(self._session, request, "filling the field") as driven, looking_for(driven, request.selector):
            element = await element_of(self._elements, driven, request)
            await element.fill(request.text, timeout=milliseconds(request.timeout))
        return await with_hint(self._session, None)

    @operation("POST /v1/browser/page/select_option", scope="browser", acts="cdp")
    async def select_option(self, request: SelectOptionRequest) -> Reply[list[str]]:
        """Choose an option of a list. Returns the values that are now chosen."""
        async with driving(self._session, request, "choosing the option") as driven, looking_for(driven, request.selector):
            element = driven.frame.locator(request.selector).first
            chosen = await element.select_option(
                value=request.value, label=request.label, index=request.index, timeout=milliseconds(request.timeout)
            )
        return await with_hint(self._session, chosen)

    @operation("POST /v1/browser/page/check", scope="browser", acts="cdp")
    async def check(self, request: CheckRequest) -> Reply[None]:
        """Tick a box, or choose a radio button. Does nothing if it is ticked."""
        return await self._set_checked(request, checked=True)

    @operation("POST /v1/browser/page/uncheck", scope="browser", acts="cdp")
    async def uncheck(self, request: CheckRequest) -> Reply[None]:
        """Untick a box. Does nothing if it is not ticked."""
        return await self._set_checked(request, checked=False)

    @operation("POST /v1/browser/page/upload_file", scope="browser", acts="cdp")
    async def upload_file(self, request: UploadFileRequest) -> Reply[None]:
        """Choose files of the agent in a file input, at most 1 GiB together.

        The page gets copies of the files as they are now.
        """
        copies = await self._uploads.copy(request.files) if request.files else []
        async with driving(self._session, request, "choosing the files") as driven, looking_for(driven, request.selector):
            element = driven.frame.locator(request.selector).first
            await element.set_input_files(copies, timeout=milliseconds(request.timeout))
        return await with_hint(self._session, None)

    @operation("POST /v1/browser/page/fill_form", scope="browser", acts="cdp")
    async def fill_form(self, request: FormFillRequest) -> Reply[FormFilled]:
        """Fill several fields of any kind. If one fails, those before it are filled."""
        async with driving(self._session, request, "filling the form") as driven:
            for number, item in enumerate(request.items):
                await self._fill_item(driven, request, number, item)
        return await with_hint(self._session, FormFilled(filled=len(request.items)))

    async def value_of(self, request: OneElement) -> str:
        """Return the text of a field."""
        async with driving(self._session, request, "reading the field") as driven, looking_for(driven, request.selector):
            element = await self._element_handle(driven, request, request)
            return await script_results.answer(element, _VALUE, None, str)

    async def _set_checked(self, request: CheckRequest, *, checked: bool) -> Reply[None]:
        async with driving(self._session, request, "ticking the box") as driven, looking_for(driven, request.selector):
            await driven.frame.locator(request.selector).first.set_checked(checked, timeout=milliseconds(request.timeout))
        return await with_hint(self._session, None)

    async def _fill_item(self, driven: Driven, request: FormFillRequest, number: int, item: PageField) -> None:
        one = OneElement(selector=item.selector, index=item.index)
        try:
            with translated("filling it"):
                async with looking_for(driven, item.selector):
                    element = await self._element_handle(driven, one, request)
                    await self._set_value(element, item.value, milliseconds(request.timeout))
        except Failure as failure:
            failure.message = f"items.{number}: {failure.message}"
            failure.details["filled"] = number
            raise

    async def _element_handle(self, driven: Driven, one: OneElement, request: Acting) -> "ElementHandle":
        """Return the element handle, as it is now."""
        if one.index is not None:
            return await self._elements.find(driven.page, one.index)
        timeout = milliseconds(request.timeout)
        found = await driven.frame.wait_for_selector(one.selector or "", state="attached", timeout=timeout)
        if found is None:
            raise NotFound(f"nothing in the page matches {one.selector!r}", selector=one.selector)
        return found

    async def _set_value(self, element: "ElementHandle", value: Any, timeout: float) -> None:
        """Set the value of an element of any kind of field."""
        tag, kind = await script_results.answer(element, _KIND, None, tuple[str, str])
        if kind in ("checkbox", "radio"):
            if not isinstance(value, bool):
                raise Conflict(f"this is a {kind}, which takes true or false", reason="kind")
            await element.set_checked(value, timeout=timeout)
        elif tag == "select":
            await _choose_options(element, _texts(value), timeout)
        elif kind == "file":
            await element.set_input_files(await self._uploads.copy(_texts(value)), timeout=timeout)
        else:
            await element.fill("".join(_texts(value)[:1]), timeout=timeout)


async def _choose_options(element: "ElementHandle", texts: list[str], timeout: float) -> None:
    """Choose the options with these values or texts."""
    known = await script_results.answer(element, _OPTIONS, None, list[tuple[str, str]])
    unknown = [text for text in texts if not any(text in option for option in known)]
    if unknown:
        raise NotFound(f"the list has no option {unknown[0]!r}", option=unknown[0])
    values = {value for value, _ in known}
    await element.select_option(
        value=[text for text in texts if text in values], label=[text for text in texts if text not in values], timeout=timeout
    )


def _texts(value: Any) -> list[str]:
    """Return a value as a list of texts."""
    if isinstance(value, list):
        return value
    return [str(value).lower() if isinstance(value, bool) else str(value)]
