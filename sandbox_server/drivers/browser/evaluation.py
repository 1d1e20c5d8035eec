"""Scripts of a caller's, run in a page over DevTools and given back as JSON has it: one trip for a number or a text, two for an object."""

import asyncio
import json
import math
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sandbox_server.core.errors import Conflict, InvalidArgument, TooLarge, Unavailable
from sandbox_server.drivers.browser.playwright_errors import failure_of
from sandbox_server.drivers.browser.script_results import MAX_DEPTH, MAX_VALUES, check
from sandbox_server.drivers.browser.scripts import script
from sandbox_server.drivers.devtools.connection import DevtoolsRefused, Object
from sandbox_server.drivers.devtools.page_commands import PageCommands

if TYPE_CHECKING:
    from playwright.async_api import Frame

_RUN = {"awaitPromise": True, "userGesture": True}
_GONE = ("Inspected target navigated or closed", "Cannot find context", "Cannot find default execution context")
_CLOSED = ("Session with given id not found", "No such target id")
_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0": -0.0}
_PROBLEMS: dict[str, Callable[[], Exception]] = {
    "deep": lambda: InvalidArgument(f"the script gave lists and objects that are more than {MAX_DEPTH} deep, or hold themselves"),
    "many": lambda: TooLarge(f"the script gave more than {MAX_VALUES} values"),
    "error": lambda: InvalidArgument("the script gave an error in place of a value"),
}
_LIMITS = [MAX_DEPTH, MAX_VALUES]
_CALLED = "function () { return this() }"


class Evaluation:
    """One script in the main frame of one page, for at most so many seconds."""

    def __init__(self, commands: PageCommands, page: str, doing: str, seconds: float) -> None:
        self._commands = commands
        self._page = page
        self._doing = doing
        self._seconds = seconds
        self._group = secrets.token_hex(8)
        """Name under which the page keeps what the script gives, until it was read."""
        self._kept = False
        """Whether the page may keep anything under that name."""

    async def value(self, expression: str) -> Any:
        """What a script gives: an expression, a function that is called, or, where it compiles as neither, the body of a function.

        Raises Conflict, InvalidArgument and TooLarge.
        """
        try:
            given = await self._run(f"(\n{_source(expression)}\n)")
            if _compiles_not(given):
                given = await self._run(f"(async () => {{\n{expression}\n}})()")
            elif self._result(given).get("type") == "function":
                given = await self._call(_CALLED, given, objectGroup=self._group, **_RUN)
            return await self._read(given)
        finally:
            if self._kept:
                self._commands.post(self._page, "Runtime.releaseObjectGroup", {"objectGroup": self._group})

    async def _read(self, given: Object) -> Any:
        result = self._result(given)
        if "objectId" not in result or result["type"] in ("symbol", "function"):
            return _plain(result)
        arguments = [{"objectId": result["objectId"]}, {"value": _LIMITS}]
        written = await self._call(script("json"), given, arguments=arguments, returnByValue=True)
        return await asyncio.to_thread(_parsed, self._result(written).get("value"))

    async def _run(self, expression: str) -> Object:
        return await self._send("Runtime.evaluate", expression=expression, objectGroup=self._group, **_RUN)

    async def _call(self, function: str, given: Object, **params: object) -> Object:
        return await self._send("Runtime.callFunctionOn", functionDeclaration=function, objectId=given["result"]["objectId"], **params)

    def _result(self, given: Object) -> Object:
        """The value that the page tells of; raises what the script threw."""
        if details := given.get("exceptionDetails"):
            raise failure_of(_thrown(details), self._doing)
        result: Object = given["result"]
        return result

    async def _send(self, method: str, **params: object) -> Object:
        kept, self._kept = self._kept, True  # whatever becomes of a command that is not waited for to its end
        try:
            given = await self._commands.send(self._page, method, params, self._seconds)
            self._kept = kept or "exceptionDetails" in given or "objectId" in given["result"]
            return given
        except DevtoolsRefused as error:
            raise self._refused(str(error)) from None
        except Unavailable:  # not to be tried again by itself: the script may have run
            raise failure_of("Target closed", self._doing) from None

    def _refused(self, reason: str) -> Exception:
        if reason.startswith(_GONE):
            return failure_of("Execution context was destroyed", self._doing)
        return failure_of("Target closed" if reason.startswith(_CLOSED) else reason, self._doing)


async def compiles(commands: PageCommands, page: str, expression: str, seconds: float) -> bool:
    """Whether a script is an expression: a function that returns it could be made, which runs nothing of it."""
    made = f"void new Function({json.dumps(f'return (\n{_source(expression)}\n)')})"
    with suppress(DevtoolsRefused, Unavailable):
        return "exceptionDetails" not in await commands.send(page, "Runtime.evaluate", {"expression": made, "silent": True}, seconds)
    return True


async def in_frame(frame: "Frame", expression: str, *, compiles: bool) -> Any:
    """What a script gives in a frame, which may be of another process, by way of Playwright."""
    source = f"(\n{_source(expression)}\n)" if compiles else f"async () => {{\n{expression}\n}}"
    handle = await frame.evaluate_handle(source)
    try:
        return await asyncio.to_thread(_parsed, await handle.evaluate(script("json"), _LIMITS))
    finally:
        await handle.dispose()


def _source(expression: str) -> str:
    return expression.strip().rstrip(";")


def _compiles_not(given: Object) -> bool:
    """Whether a script was never run: what throws a SyntaxError while it runs has a place in a stack."""
    details = given.get("exceptionDetails", {})
    return details.get("exception", {}).get("className") == "SyntaxError" and "stackTrace" not in details and details["text"] == "Uncaught"


def _thrown(details: Object) -> str:
    """What a script threw: as the browser describes it, or as JavaScript writes a value that is no object."""
    exception = details.get("exception", {})
    if described := exception.get("description") or exception.get("unserializableValue"):
        return str(described)
    if "value" not in exception:
        return str(exception.get("type") or details["text"])
    return exception["value"] if isinstance(exception["value"], str) else json.dumps(exception["value"])


def _plain(result: Object) -> Any:
    """A value that the protocol itself writes; None for a symbol, a function and what is undefined."""
    special = result.get("unserializableValue")
    if special is None:
        return result.get("value")
    try:
        return _NUMBERS[special] if special in _NUMBERS else int(special.rstrip("n"))
    except ValueError:
        raise InvalidArgument("the script gave a number of more digits than are read") from None


def _parsed(written: object) -> Any:
    if problem := _PROBLEMS.get(str(written)):
        raise problem()
    try:
        found = json.loads(str(written))
    except (ValueError, RecursionError):
        raise Conflict("the page changes what is read of it: its scripts replace the browser's own functions", reason="page") from None
    check(found)
    return found
