"""A client of the browser's process. It does without Playwright, so it works whatever state a page is in."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote

import orjson

from sandbox_server.core.errors import Conflict, NotFound, ResourceExhausted, Unavailable
from sandbox_server.core.identity import SERVER, Caller
from sandbox_server.drivers.ipc.unix_http import exchange
from sandbox_server.timeouts import scaled

HEADERS = Caller("api", frozenset({"browser", SERVER})).headers()
"""Who asks. The gateway judged the caller's own scopes, and so did the dispatcher."""
ANSWER_SECONDS = scaled(25.0)
"""For one answer; a browser that is started lazily takes some of them."""
NEWS_SECONDS = 330.0
"""For an answer that comes when there is news."""
PROFILE_SECONDS = 620.0
"""For a browser that stops and another that starts."""
BLANK = "data:text/html,"
RETRY_AFTER = 1.0

type SecretSource = Literal["person", "shared", "program", "code"]
"""Who a secret in a page is from: a person who drives, or fills in a field of a request; whoever typed while control was shared; a program
that had a secret or a one-time code filled in."""


@dataclass(frozen=True, slots=True)
class BrowserTab:
    """One tab as a person sees it."""

    page: str
    """Target id of its page."""
    url: str
    title: str
    active: bool
    """Whether it is the one in front in its window."""
    tab: str = field(default="", compare=False)
    """Target id of the tab itself."""


class BrowserClient:
    """A client of the owning process's socket. Every call but `messages` and `pages` starts a browser that is not running yet."""

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self._forgetting: list[Callable[[], Awaitable[None]]] = []
        self._changing = 0

    def follow_profile(self, forget: Callable[[], Awaitable[None]]) -> None:
        """Have `forget` called before and after each change of the profile: what was kept of one is not for those who use another."""
        self._forgetting.append(forget)

    async def tabs(self) -> list[BrowserTab]:
        """The tabs in the order of the strip; raises Unavailable while there is no browser."""
        return [
            BrowserTab(each["page"], each["url"], each["title"], each["active"], each.get("tab", ""))
            for each in orjson.loads(await self._ask("GET", "/browser/tabs"))
        ]

    async def pages(self, state: str) -> tuple[str, dict[str, str]]:
        """Wait until the pages are not as in a state that was told before; the state they are in, and their addresses by id.

        Empty is no state. Waits for minutes, and then tells the same again. Starts no browser; raises Unavailable.
        """
        found = orjson.loads(await self._ask("GET", f"/browser/pages?state={state}", seconds=NEWS_SECONDS))
        return str(found["state"]), {str(page): str(url) for page, url in found["pages"].items()}

    async def open(self, url: str) -> str:
        """Open a tab on an address, in front, and return the target id of its page."""
        return str(orjson.loads(await self._ask("PUT", f"/json/new?{quote(url, safe='')}"))["id"])

    async def activate(self, page: str) -> None:
        """Bring the tab of a page to the front; raises NotFound."""
        await self._ask("GET", f"/json/activate/{page}")

    async def close(self, page: str) -> None:
        """Close the tab of a page; raises NotFound."""
        await self._ask("GET", f"/json/close/{page}")

    async def version(self) -> dict[str, Any]:
        """What Chromium's own server answers to /json/version; the address in it is of this socket."""
        found: dict[str, Any] = orjson.loads(await self._ask("GET", "/json/version"))
        return found

    async def messages(self) -> int:
        """How many messages DevTools clients have sent, those of the API apart; asking starts no browser. Raises Unavailable."""
        return int(orjson.loads(await self._ask("GET", "/browser"))["messages"])

    async def profile(self) -> str:
        """The name of the profile that the browser runs on; asking starts no browser. Raises Unavailable, and Conflict while it changes."""
        if self._changing:
            raise Conflict("the browser's profile is being changed", reason="profile_changing", retry_after=RETRY_AFTER)
        return str(orjson.loads(await self._ask("GET", "/browser"))["profile"])

    async def use_profile(self, name: str) -> None:
        """Start the browser anew on another profile, and return once it serves. Raises NotFound, Conflict and Unavailable."""
        self._changing += 1
        try:
            await self._forget()
            await self._ask("PUT", "/browser/profile", orjson.dumps(name), seconds=PROFILE_SECONDS)
        except NotFound:
            raise NotFound(f"there is no profile {name!r}", profile=name) from None
        finally:
            await self._forget()
            self._changing -= 1

    async def _forget(self) -> None:
        for forget in self._forgetting:
            await forget()

    @asynccontextmanager
    async def halted(self) -> AsyncIterator[str]:
        """Keep the browser stopped, its tabs kept, for the time of the block; the name of its profile. Raises Unavailable.

        It runs again if this process ends.
        """
        from websockets.asyncio.client import unix_connect
        from websockets.exceptions import WebSocketException

        try:
            client = await unix_connect(self.socket, "ws://browser/browser/halt", additional_headers=HEADERS, compression=None)
        except (OSError, TimeoutError, WebSocketException) as error:
            raise Unavailable(f"the browser is not there yet: {error}", retry_after=RETRY_AFTER) from None
        async with client:
            try:
                async with asyncio.timeout(PROFILE_SECONDS):
                    told = orjson.loads(await client.recv())
            except (TimeoutError, WebSocketException) as error:
                raise Unavailable(f"the browser does not stop: {error}", retry_after=RETRY_AFTER) from None
            if "halted" not in told:
                raise Unavailable(str(told["problem"]), retry_after=RETRY_AFTER)
            yield str(told["halted"])

    async def lanes(self) -> list[dict[str, Any]]:
        """The lanes, oldest first; asking starts no browser. Raises Unavailable."""
        found: list[dict[str, Any]] = orjson.loads(await self._ask("GET", "/browser/lanes"))
        return found

    async def create_lane(self, name: str, by: str) -> None:
        """Make a lane with a window. Raises Conflict for a name that is taken, ResourceExhausted and Unavailable."""
        await self._ask("PUT", f"/browser/lanes/{name}", orjson.dumps(by))

    async def delete_lane(self, name: str) -> None:
        """Close a lane's pages. Raises NotFound and Unavailable."""
        try:
            await self._ask("DELETE", f"/browser/lanes/{name}")
        except NotFound:
            raise NotFound(f"there is no lane {name!r}", lane=name) from None

    async def page_size(self) -> tuple[int, int]:
        """Width and height of the page in front, in CSS pixels; raises NotFound and Unavailable where it does not answer."""
        found = orjson.loads(await self._ask("GET", "/browser/page-size"))
        return int(found["width"]), int(found["height"])

    async def restart(self, policies: dict[str, Any]) -> None:
        """Start the browser anew, with its tabs and the policies that are given, and return once it serves."""
        await self._ask("POST", "/browser/restart", orjson.dumps(policies))

    async def use_proxy(self, address: str | None) -> None:
        """Have the browser go through a proxy from now on, or through none. It is neither restarted nor started for that."""
        await self._ask("PUT", "/browser/proxy", orjson.dumps(address))

    async def trust_authority(self) -> None:
        """Have the browser trust the sandbox's authority as its file says now. It is neither restarted nor started for that."""
        await self._ask("PUT", "/browser/authority")

    async def emulate(self, commands: dict[str, Any] | None) -> None:
        """Have DevTools commands given to every page of the browser, now and whenever one appears; None for no more."""
        await self._ask("PUT", "/browser/emulation", orjson.dumps(commands))

    async def control(self, holding: dict[str, Any]) -> None:
        """Tell who may act, to which clients of the browser's are held from now on; raises Unavailable."""
        await self._ask("PUT", "/browser/control", orjson.dumps(holding))

    async def open_fresh(self, person: str, url: str) -> None:
        """Open a window for a person who is private, in front, with nothing of anybody's in it.

        Raises Conflict for who is not private, and Unavailable. It is closed when that person is private no more.
        """
        await self._ask("PUT", "/browser/fresh", orjson.dumps({"person": person, "url": url}))

    async def close_fresh(self) -> None:
        """Close that window, where there is one; raises Unavailable."""
        await self._ask("DELETE", "/browser/fresh")

    async def drop(self, origin: str, selector: str, secret: str, source: SecretSource = "person") -> None:
        """Put a secret into a field of the page in front, and mask it from then on.

        Raises Conflict, with the reason, where that page, origin or field is not there or did not take all of it; Unavailable.
        """
        await self._ask(
            "PUT", "/browser/secret", orjson.dumps({"origin": origin, "selector": selector, "secret": secret, "source": source})
        )

    async def reset(self, page: str) -> None:
        """Show a blank page in a tab; so comes back one that crashed or hangs.

        Raises Conflict where it does not, or is closed, and Unavailable where the browser itself is not there.
        The blank page is a document that shares its process with no other: the old one's may never answer again.
        """
        with suppress(Unavailable):
            await self._command(page, "Page.navigate", ANSWER_SECONDS, url=BLANK)
            if await self.answers(page, ANSWER_SECONDS):
                return
        if all(tab.page != page for tab in await self.tabs()):
            raise Conflict("the tab was closed", reason="closed")
        raise Conflict("the page does not come back", hint="Close its tab.", reason="not_responding")

    async def answers(self, page: str, within: float) -> bool:
        """Whether a page runs a script within so many seconds; one that is stuck in a script, or crashed, does not."""
        try:
            await self._command(page, "Runtime.evaluate", within, expression="1")
        except Unavailable:
            return False
        return True

    async def _command(self, page: str, method: str, within: float, **params: object) -> None:
        """Send one command to a page, and wait for the reply; raises Unavailable when none comes, or an error."""
        from websockets.asyncio.client import unix_connect
        from websockets.exceptions import WebSocketException

        uri = f"ws://browser/devtools/page/{page}"
        try:
            async with asyncio.timeout(within), unix_connect(self.socket, uri, additional_headers=HEADERS, compression=None) as client:
                await client.send(orjson.dumps({"id": 1, "method": method, "params": params}).decode())
                reply = orjson.loads(await client.recv())
        except (OSError, TimeoutError, WebSocketException) as error:
            raise Unavailable(f"the page does not answer {method}", retry_after=RETRY_AFTER) from error
        if "error" in reply:  # as of one that crashed, or closed meanwhile
            raise Unavailable(f"the page does not answer {method}: {reply['error']['message']}", retry_after=RETRY_AFTER)

    async def _ask(self, verb: str, path: str, content: bytes = b"", seconds: float = ANSWER_SECONDS) -> bytes:
        try:
            async with asyncio.timeout(seconds):
                status, body = await exchange(self.socket, verb, path, content, HEADERS)
        except TimeoutError:
            raise Unavailable("the browser does not answer", retry_after=RETRY_AFTER) from None
        except (OSError, ValueError) as error:
            raise Unavailable(f"the browser is not there yet: {error}", retry_after=RETRY_AFTER) from None
        if status == 404:
            raise NotFound("there is no such page any more")
        if status == 409:
            raise Conflict(_message(body), **_reason(body))
        if status == ResourceExhausted.status:
            raise ResourceExhausted(_message(body))
        if status != 200:
            raise Unavailable(_message(body), retry_after=RETRY_AFTER)
        return body


def _reason(body: bytes) -> dict[str, Any]:
    """Return why, as a word, if the browser's process says so."""
    with suppress(ValueError, KeyError, TypeError):
        return {"reason": str(orjson.loads(body)["data"]["reason"])}
    return {}


def _message(body: bytes) -> str:
    with suppress(ValueError):
        answer: Any = orjson.loads(body)
        if isinstance(answer, dict) and answer.get("message"):
            return str(answer["message"])
    return "the browser does not answer"
