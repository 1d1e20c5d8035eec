"""Text bodies of responses, within a memory limit, for the HTTP Archive.

The browser drops a body when its page navigates, so each is fetched as soon as it is complete.
"""

from collections import deque

from sandbox_server import patterns
from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.devtools.connection import DevtoolsConnection, DevtoolsRefused, Object
from sandbox_server.drivers.devtools.traffic import MAX_BODY, Exchange

MAX_BODIES = 16 << 20
"""Limit of characters of all bodies together. The oldest are dropped."""
MAX_ASKED = 32
"""Limit of bodies that are fetched at once. A response that ends meanwhile has no body."""
_TEXT = patterns.compile(r"(?i)text/|image/svg|application/(?:.*\+)?(?:json|xml|javascript|ecmascript|x-javascript)\b")


class Bodies:
    """The bodies of the latest responses, stored in their exchanges."""

    def __init__(self) -> None:
        self._kept: deque[Exchange] = deque()
        self._size = 0
        self._asked = 0

    def wants(self, exchange: Exchange, ended: Object) -> bool:
        """Whether to fetch the body of a response for which `Network.loadingFinished` has just arrived."""
        return self._asked < MAX_ASKED and bool(_TEXT.match(exchange.mime_type)) and ended.get("encodedDataLength", 0) <= MAX_BODY

    async def fetch(self, connection: DevtoolsConnection, exchange: Exchange) -> None:
        """Fetch a body and keep it unless it is too long. The browser may have dropped it."""
        self._asked += 1
        try:
            answer = await connection.command("Network.getResponseBody", {"requestId": exchange.id}, exchange.session)
        except (DevtoolsRefused, TimeoutError, Unavailable):
            return
        finally:
            self._asked -= 1
        if not answer["base64Encoded"]:
            self._keep(exchange, str(answer["body"]))

    def _keep(self, exchange: Exchange, body: str) -> None:
        if len(body) > MAX_BODY:
            exchange.cut = True
            return
        exchange.body = body
        self._kept.append(exchange)
        self._size += len(body)
        while self._size > MAX_BODIES:
            oldest = self._kept.popleft()
            self._size -= len(oldest.body or "")
            oldest.body, oldest.cut = None, True
