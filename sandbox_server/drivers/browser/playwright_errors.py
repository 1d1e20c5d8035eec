"""From Playwright's errors to our kinds.

None is a 5xx: client libraries send a request again upon one, and what failed may have been done in part. What depends on the state of a
page is a Conflict with a `reason`: `timeout`, `crashed`, `closed`, `navigated`, `not_responding`, `network` or `page`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from sandbox_server import patterns
from sandbox_server.core.errors import Conflict, Failure, InvalidArgument, TooLarge

MAX_MESSAGE = 500
GONE = "Target closed"
"""What the process that owns the browser answers to all that waits for a page or browser that ended; clients call it that themselves."""

_PREFIX = patterns.compile(r"^[A-Za-z]+\.[a-z_A-Z]+: ")
_SELECTOR = patterns.compile(
    r"is not a valid selector|Unexpected token .* while parsing|Unknown engine|Unsupported token|Malformed selector|parsing .*selector"
)
_SCRIPT = patterns.compile(r"^([A-Z][A-Za-z]*Error|Uncaught)\b")
_TELLING = patterns.compile(r"intercepts pointer events|is not (visible|enabled|stable|editable)|outside of the viewport|did not find")
_COLOURS = patterns.compile(r"\x1b\[[0-9;]*m")
_NETWORK = patterns.compile(r"net::(ERR_[A-Z_0-9]+)")


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Raise Playwright's errors, and a time that ran out, as failures; `doing` names the work in the message."""
    from playwright.async_api import Error
    from playwright.async_api import TimeoutError as OutOfTime

    try:
        yield
    except OutOfTime as error:
        raise Conflict(f"{doing} did not end in time{_last_step(error.message)}", reason="timeout") from None
    except TimeoutError:
        raise Conflict(f"{doing} did not end in time", reason="timeout") from None
    except Error as error:
        raise failure_of(error.message, doing) from None


def failure_of(message: str, doing: str) -> Failure:
    """The failure that an error's message tells of."""
    text = _PREFIX.sub("", message)
    first = text.split("\nCall log:")[0].strip()[:MAX_MESSAGE]
    if "The result is over" in first:
        return TooLarge(f"{doing} gave too much: {first[first.find('The result') :]}")
    if "crashed" in first:
        return Conflict(f"the page crashed during {doing}", hint="Navigate or reload it.", reason="crashed")
    if "has been closed" in first or "Connection closed" in first or GONE in first:
        return Conflict(f"the tab was closed during {doing}", reason="closed")
    if "context was destroyed" in first or "Frame was detached" in first or "frame got detached" in first:
        return Conflict(f"the page navigated away during {doing}", reason="navigated")
    if found := _NETWORK.search(first):
        return Conflict(f"the page could not be loaded: {found[1]}", reason="network", error=found[1])
    if "invalid URL" in first:
        return InvalidArgument("this is no address that a page can have")
    if _SELECTOR.search(text):
        return InvalidArgument(f"the selector cannot be read: {first}")
    if _SCRIPT.match(first):
        return InvalidArgument(f"the script failed: {first}")
    return Conflict(f"{doing} failed: {first}", reason="page")


def _last_step(message: str) -> str:
    """What Playwright's log says it was waiting for last."""
    steps = [line.strip(" -") for line in message.partition("Call log:")[2].splitlines() if line.strip(" -")]
    telling = [step for step in steps if _TELLING.search(step)] or steps
    return f": {_plain(telling[-1])}" if telling else ""


def _plain(step: str) -> str:
    return _COLOURS.sub("", step)[:MAX_MESSAGE]
