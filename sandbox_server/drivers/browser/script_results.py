"""What scripts give that ran among a page's own: the page may have changed every function that they call, so nothing of it is believed."""

import asyncio
from collections.abc import Hashable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import Field

from sandbox_server.core.errors import Conflict, InvalidArgument, TooLarge

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Frame, JSHandle, Page

    type ScriptTarget = Frame | Page | JSHandle | ElementHandle

MAX_VALUES = 1_000_000
"""Values in one answer, each as often as it would be written."""
MAX_DEPTH = 200
"""Lists and objects within each other."""
MAX_FRAMES = 200
"""Frames of one page that are looked into."""

Number = Annotated[float, Field(allow_inf_nan=False, ge=-1e12, le=1e12)]
"""A measure of a page."""
_MEASURES: Any = list[Number]


async def answer[T](where: "ScriptTarget", source: str, given: object, shape: type[T]) -> T:
    """Run a script of ours and give what it answers; raises Conflict for a page that makes something else of it, TooLarge."""
    from pydantic import ValidationError

    found = await evaluated(where, source, given)
    try:
        checked: T = await asyncio.to_thread(_adapter(cast(Hashable, shape)).validate_python, found)
        return checked
    except ValidationError:
        raise Conflict("the page changes what is read of it: its scripts replace the browser's own functions", reason="page") from None


async def measures(where: "ScriptTarget", source: str, count: int) -> list[float]:
    """So many measures of a page; raises Conflict as `answer` does."""
    found: list[float] = await answer(where, source, None, _MEASURES)
    if len(found) != count:
        raise Conflict("the page does not tell its measures", reason="page")
    return found


async def evaluated(where: "ScriptTarget", source: str, given: object = None) -> Any:
    """The value of a script; raises InvalidArgument for one that JSON has no form for, TooLarge."""
    try:
        found = await where.evaluate(source, given)
    except (ValueError, OverflowError, RecursionError):
        raise InvalidArgument("the script gave what JSON has no form for") from None
    await asyncio.to_thread(check, found)
    return found


def check(value: object) -> None:
    """Raise TooLarge for what would be written as more than MAX_VALUES, InvalidArgument for what is too deep, or holds itself."""
    above: list[Iterator[object]] = [iter([value])]
    count = 0
    while above:
        for each in above[-1]:
            count += 1
            if count > MAX_VALUES:
                raise TooLarge(f"the script gave more than {MAX_VALUES} values")
            if inside := _inside(each):
                above.append(inside)
                break
        else:
            above.pop()
        if len(above) > MAX_DEPTH:
            raise InvalidArgument(f"the script gave lists and objects that are more than {MAX_DEPTH} deep, or hold themselves")


def _inside(value: object) -> Iterator[object] | None:
    if isinstance(value, dict):
        _expect_text(value)
        return iter(value.values())
    if isinstance(value, list):
        return iter(value)
    if isinstance(value, Exception):
        raise InvalidArgument("the script gave an error in place of a value")
    return None


def _expect_text(names: dict[str, object]) -> None:
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        raise InvalidArgument("the script gave an object with a name that is no Unicode: half a surrogate pair") from None


@cache
def _adapter(shape: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(shape)
