"""Secret fill: puts a person's secret into a page's field, only if selector and origin match."""

from collections.abc import Iterator

from pydantic import Field, SecretStr

from sandbox_server.cdp.browser_connection import BrowserLink, CommandRefused
from sandbox_server.cdp.messages import Object
from sandbox_server.cdp.redaction import MAX_LENGTH
from sandbox_server.cdp.tab_strip import InternalClient, TabStrip
from sandbox_server.core.errors import Conflict
from sandbox_server.core.results import Model
from sandbox_server.drivers.browser.browser_client import SecretSource

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
"""Checks the origin and fills in one step, so that no navigation comes between. Plain text fields show dots too."""


class SecretFill(Model):
    """A secret and the field that it is for."""

    origin: str = Field(max_length=300)
    """The origin of the field's document: scheme, host and port."""
    selector: str = Field(max_length=1000)
    """CSS selector of the field."""
    secret: SecretStr = Field(min_length=1, max_length=MAX_LENGTH)
    source: SecretSource = "person"
    """Who has it filled in."""


async def put(link: BrowserLink, strip: TabStrip, drop: SecretFill) -> None:
    """Fill the field in the page in front, or in one of its frames in the same process.

    Raises Conflict if the page, origin or field does not exist or the field does not take the whole value; Unavailable.
    """
    page = next((tab.page for tab in await strip.tabs(link) if tab.active), None)
    if page is None:
        raise Conflict("the browser has no open page", reason="no_page")
    insider = await InternalClient.of(link)
    try:
        session = (await insider.command("Target.attachToTarget", targetId=page, flatten=True))["sessionId"]
        await _fill(insider, session, drop)
    except CommandRefused as refused:
        raise Conflict("the page navigated away: nothing was filled in", reason="gone") from refused
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
        raise Conflict("no field that can be filled in matches the selector", reason="no_field", selector=drop.selector)
    raise Conflict(
        f"the origin of the page in front is not {drop.origin}: nothing was filled in", reason="other_origin", origin=drop.origin
    )


async def _found(insider: InternalClient, session: str, frame: str, drop: SecretFill) -> Object:
    """Return the field as a remote object of an isolated world: without id if none matches, `False` for another origin."""
    context = (await insider.command("Page.createIsolatedWorld", session, frameId=frame, worldName=WORLD))["executionContextId"]
    given = [{"value": drop.origin}, {"value": drop.selector}]
    answer = await insider.command(
        "Runtime.callFunctionOn", session, functionDeclaration=_FIND, executionContextId=context, arguments=given
    )
    if "exceptionDetails" in answer:
        raise Conflict(f"{drop.selector!r} is not a valid CSS selector", reason="no_field", selector=drop.selector)
    found: Object = answer["result"]
    return found


async def _put(insider: InternalClient, session: str, field: str, drop: SecretFill) -> None:
    secret = drop.secret.get_secret_value()
    given = [{"value": drop.origin}, {"value": secret}]
    answer = await insider.command("Runtime.callFunctionOn", session, functionDeclaration=_FILL, objectId=field, arguments=given)
    length = answer["result"].get("value")
    if length == -1 or length is None:
        raise Conflict("the page navigated away: nothing was filled in", reason="gone")
    if length != len(secret.encode("utf-16-le")) // 2:
        raise Conflict("the field did not accept the whole value", reason="length")


def _frames(tree: Object) -> Iterator[Object]:
    yield tree["frame"]
    for child in tree.get("childFrames", ()):
        yield from _frames(child)
