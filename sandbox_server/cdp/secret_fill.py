"""A secret put into a field of a page, for a person: into the element and at the origin that it is meant for, or nowhere."""

from collections.abc import Iterator

from pydantic import Field, SecretStr

from sandbox_server.cdp.browser_connection import BrowserLink, CommandRefused
from sandbox_server.cdp.messages import Object
from sandbox_server.cdp.tab_strip import InternalClient, TabStrip
from sandbox_server.core.errors import Conflict
from sandbox_server.core.results import Model

MAX_LENGTH = 4096
WORLD = "tandem-drop"
_FIND = """(origin, selector) => { if (self.origin !== origin) return false;
  const found = document.querySelector(selector);
  return found && found.matches('input, textarea') && !found.disabled && !found.readOnly ? found : null }"""
_FILL = """function (origin, value) {
  if (self.origin !== origin || !this.isConnected) return -1;
  const own = this instanceof HTMLInputElement ? HTMLInputElement : HTMLTextAreaElement;
  this.style.setProperty("-webkit-text-security", "disc", "important");
  this.focus();
  Object.getOwnPropertyDescriptor(own.prototype, "value").set.call(this, value);
  this.dispatchEvent(new InputEvent("input", { bubbles: true, composed: true, inputType: "insertFromPaste" }));
  this.dispatchEvent(new Event("change", { bubbles: true }));
  return this.value.length;
}"""
"""Looks where it is and fills in one step, so that no navigation comes between; what is no password field shows dots too."""


class SecretFill(Model):
    """What is put where."""

    origin: str = Field(max_length=300)
    """Of the document that the field is in: scheme, host and port."""
    selector: str = Field(max_length=1000)
    """CSS selector of the field."""
    secret: SecretStr = Field(min_length=1, max_length=MAX_LENGTH)


async def put(link: BrowserLink, strip: TabStrip, drop: SecretFill) -> None:
    """Fill the field in the page in front, or in a frame of it that is in the same process.

    Raises Conflict where no such page, origin or field is there, or where the field did not take all of it; Unavailable.
    """
    page = next((tab.page for tab in await strip.tabs(link) if tab.active), None)
    if page is None:
        raise Conflict("there is no page", reason="no_page")
    insider = await InternalClient.of(link)
    try:
        session = (await insider.command("Target.attachToTarget", targetId=page, flatten=True))["sessionId"]
        await _fill(insider, session, drop)
    except CommandRefused as refused:
        raise Conflict("the page went elsewhere: nothing was filled in", reason="gone") from refused
    finally:
        insider.leave()


async def _fill(insider: InternalClient, session: str, drop: SecretFill) -> None:
    tree = (await insider.command("Page.getFrameTree", session))["frameTree"]
    there = False
    for frame in _frames(tree):
        found = await _found(insider, session, frame["id"], drop)
        if field := found.get("objectId"):
            return await _put(insider, session, field, drop)
        there = there or found.get("value") is not False
    if there:
        raise Conflict("there is no field of that selector that can be filled in", reason="no_field", selector=drop.selector)
    raise Conflict(f"the page in front is not of {drop.origin}: nothing was filled in", reason="other_origin", origin=drop.origin)


async def _found(insider: InternalClient, session: str, frame: str, drop: SecretFill) -> Object:
    """The field, as an object of a world that the page has no part in;
    without an id where there is none, false where it is another origin."""
    context = (await insider.command("Page.createIsolatedWorld", session, frameId=frame, worldName=WORLD))["executionContextId"]
    given = [{"value": drop.origin}, {"value": drop.selector}]
    answer = await insider.command(
        "Runtime.callFunctionOn", session, functionDeclaration=_FIND, executionContextId=context, arguments=given
    )
    if "exceptionDetails" in answer:
        raise Conflict(f"{drop.selector!r} is no CSS selector", reason="no_field", selector=drop.selector)
    found: Object = answer["result"]
    return found


async def _put(insider: InternalClient, session: str, field: str, drop: SecretFill) -> None:
    secret = drop.secret.get_secret_value()
    given = [{"value": drop.origin}, {"value": secret}]
    answer = await insider.command("Runtime.callFunctionOn", session, functionDeclaration=_FILL, objectId=field, arguments=given)
    length = answer["result"].get("value")
    if length == -1 or length is None:
        raise Conflict("the page went elsewhere: nothing was filled in", reason="gone")
    if length != len(secret.encode("utf-16-le")) // 2:
        raise Conflict("the field did not take all of it", reason="length")


def _frames(tree: Object) -> Iterator[Object]:
    yield tree["frame"]
    for child in tree.get("childFrames", ()):
        yield from _frames(child)
