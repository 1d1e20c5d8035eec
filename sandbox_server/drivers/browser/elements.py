"""The elements of a page that can be acted on, by numbers that stay theirs for as long as the page lives."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypedDict
from weakref import WeakKeyDictionary

from pydantic import Field

from sandbox_server.core.errors import Conflict, NotFound
from sandbox_server.drivers.browser.script_results import MAX_FRAMES, Number, answer, measures
from sandbox_server.drivers.browser.scripts import script

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Frame, JSHandle, Page

MAX_ELEMENTS = 1000

_STORE = "() => ({numbers: new WeakMap(), elements: []})"
_BORDER = "element => [element.clientLeft, element.clientTop]"
_ELEMENT = "(store, number) => { const element = store.elements[number]?.deref(); return element?.isConnected ? element : null; }"


@dataclass(frozen=True, slots=True)
class ElementListing:
    """What one look at a page found: elements as `scripts/elements.js` describes them, and with them `index` and `frame`."""

    items: list[dict[str, Any]]
    left: int
    """How many more there are than were listed."""


@dataclass(slots=True, eq=False)
class _Store:
    """The elements of one document: their numbers there, and the index that each has for callers."""

    handle: "JSHandle"
    indices: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _Numbers:
    """The indices of one page. No index is given twice before the page goes to another document."""

    stores: "WeakKeyDictionary[Frame, _Store]" = field(default_factory=WeakKeyDictionary)
    places: list[tuple[_Store, int]] = field(default_factory=list)

    def index(self, store: _Store, number: int) -> int:
        """The index of an element, given at its first sight."""
        if number not in store.indices:
            store.indices[number] = len(self.places)
            self.places.append((store, number))
        return store.indices[number]


class _Text(TypedDict):
    text: str


class _Item(TypedDict):
    number: Annotated[int, Field(ge=0, le=1 << 31)]
    tag: str
    role: str | None
    type: str | None
    name: str
    value: str | None
    href: str | None
    placeholder: str | None
    checked: bool | None
    disabled: bool
    options: list[str] | None
    x: Number
    y: Number
    width: Number
    height: Number
    in_viewport: bool


class _Found(TypedDict):
    """What `scripts/elements.js` answers."""

    found: Annotated[list[_Item | _Text], Field(max_length=MAX_ELEMENTS)]
    left: Annotated[int, Field(ge=0)]


class ElementIndex:
    """Lists elements, and finds them again by their index."""

    def __init__(self) -> None:
        self._pages: WeakKeyDictionary[Page, _Numbers] = WeakKeyDictionary()

    async def list(self, page: "Page", frame: "Frame", *, texts: bool = False) -> ElementListing:
        """Look at a frame and the frames in it. With `texts`, plain text between the elements is listed too, as `{text}`."""
        items: list[dict[str, Any]] = []
        left = 0
        for each in _within(frame):
            options = {"texts": texts, "limit": MAX_ELEMENTS - len(items)}
            store, found = await self._look(page, each, options)
            left += found["left"]
            offset = await _offset(each) if found["found"] else (0.0, 0.0)
            items += [_placed(item, self._pages[page], store, each, offset) for item in found["found"]]
        return ElementListing(items, left)

    async def find(self, page: "Page", index: int) -> "ElementHandle":
        """The element of an index; raises Conflict for one that is no longer there, NotFound for one that was never given."""
        numbers = self._pages.get(page)
        if numbers is None or (index >= len(numbers.places) and not await _alive(numbers.places)):
            raise _stale(index)
        if index >= len(numbers.places):
            raise NotFound(f"there is no element {index}; {len(numbers.places)} were listed", index=index)
        store, number = numbers.places[index]
        from playwright.async_api import Error

        try:
            element = (await store.handle.evaluate_handle(_ELEMENT, number)).as_element()
        except Error:
            element = None
        if element is None:
            raise _stale(index)
        return element

    async def _look(self, page: "Page", frame: "Frame", options: dict[str, Any]) -> tuple[_Store, dict[str, Any]]:
        from playwright.async_api import Error

        numbers = self._pages.setdefault(page, _Numbers())
        if store := numbers.stores.get(frame):
            try:
                return store, await _listed(store, options)
            except Error:  # its document is gone
                if frame is page.main_frame:
                    numbers = self._pages[page] = _Numbers()
        store = numbers.stores[frame] = _Store(await frame.evaluate_handle(_STORE))
        return store, await _listed(store, options)


async def _listed(store: _Store, options: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {**await answer(store.handle, script("elements"), options, _Found)}
    if len(found["found"]) > options["limit"]:
        raise Conflict("the page changes what is read of it", reason="page")
    return found


def _placed(item: dict[str, Any], numbers: _Numbers, store: _Store, frame: "Frame", offset: tuple[float, float]) -> dict[str, Any]:
    if "text" in item:
        return item
    index = numbers.index(store, item.pop("number"))
    inside = frame.url if frame.parent_frame else None
    return {**item, "index": index, "frame": inside, "x": item["x"] + offset[0], "y": item["y"] + offset[1]}


async def _offset(frame: "Frame") -> tuple[float, float]:
    """Where a frame's own corner is in the page's window."""
    if frame.parent_frame is None:
        return 0.0, 0.0
    element = await frame.frame_element()
    box, border = await element.bounding_box(), await measures(element, _BORDER, 2)
    return (box["x"] + border[0], box["y"] + border[1]) if box else (0.0, 0.0)


def _within(frame: "Frame") -> "list[Frame]":
    found: list[Frame] = []
    waiting = [frame]
    while waiting and len(found) < MAX_FRAMES:
        found.append(waiting.pop())
        waiting += reversed(found[-1].child_frames)
    return found


async def _alive(places: list[tuple[_Store, int]]) -> bool:
    from playwright.async_api import Error

    try:
        return bool(places) and bool(await places[0][0].handle.evaluate("() => true"))
    except Error:
        return False


def _stale(index: int) -> Conflict:
    return Conflict(
        f"the element {index} is stale: it is no longer in the page, or the page is another since it was listed",
        hint="List the elements again.",
        reason="stale",
        index=index,
    )
