"""Network traffic: the latest requests and their responses, across navigations and crashes."""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sandbox_server.drivers.devtools.connection import Object
from sandbox_server.drivers.devtools.headers import Fields, fields_for_log
from sandbox_server.drivers.devtools.targets import DevtoolsTarget

MAX_EXCHANGES = 2000
MAX_URL = 8 << 10
MAX_POST_DATA = 64 << 10
MAX_BODY = 256 << 10
"""Limit of characters of a response body."""
MAX_WORD = 1 << 10
"""Limit of characters of a method, a status text or a media type."""
MAX_HIDDEN = 10_000
"""Limit of remembered requests from private mode."""
MAX_EARLY = 200
"""Limit of headers that arrive before their request."""
BUFFERS: Object = {"maxTotalBufferSize": 16 * MAX_BODY, "maxResourceBufferSize": 2 * MAX_BODY, "maxPostDataSize": MAX_POST_DATA}
"""How much of a page's bodies the browser buffers for us."""


@dataclass(slots=True, eq=False)
class Exchange:
    """One request and its response.

    Times are seconds of the browser's clock, except `started`, which is since the epoch.
    """

    id: str
    session: str
    page: str
    method: str
    url: str
    kind: str
    started: float
    began: float
    request_headers: Fields = ()
    post_data: str | None = None
    status: int | None = None
    status_text: str = ""
    protocol: str = ""
    mime_type: str = ""
    response_headers: Fields = ()
    remote: str | None = None
    timing: Object | None = None
    from_cache: bool = False
    received: int = 0
    """Bytes received over the network, headers included."""
    body: str | None = None
    """The response body, if it is text and not too long."""
    answered: float | None = None
    ended: float | None = None
    failure: str | None = None
    cut: bool = False
    """Whether something was too long to be kept whole."""
    exact: set[str] = field(default_factory=set)
    """`request`, `response`: the sides whose headers are those on the wire."""

    @property
    def seconds(self) -> float | None:
        """Duration in seconds; None while it is open."""
        return None if self.ended is None else max(0.0, self.ended - self.began)


class Traffic:
    """The log of exchanges. Takes events of the domain Network."""

    def __init__(self) -> None:
        self._exchanges: deque[Exchange] = deque()
        self._current: dict[str, Exchange] = {}
        self._hops: dict[str, list[Exchange]] = {}
        self._early: OrderedDict[tuple[str, str], Object] = OrderedDict()
        self._hidden: OrderedDict[str, None] = OrderedDict()
        self._events: dict[str, Callable[[DevtoolsTarget, Object], None]] = {
            "Network.requestWillBeSent": self._on_request,
            "Network.requestWillBeSentExtraInfo": lambda _, event: self._exact("request", event),
            "Network.responseReceived": lambda _, event: self._on_response(event["requestId"], event["response"], event["timestamp"]),
            "Network.responseReceivedExtraInfo": lambda _, event: self._exact("response", event),
            "Network.requestServedFromCache": lambda _, event: self._on_served_from_cache(event["requestId"]),
            "Network.loadingFinished": self._on_loading_finished,
            "Network.loadingFailed": self._on_loading_failed,
            "Network.webSocketCreated": self._socket_created,
            "Network.webSocketWillSendHandshakeRequest": self._socket_opening,
            "Network.webSocketHandshakeResponseReceived": lambda _, event: self._on_response(
                event["requestId"], event["response"], event["timestamp"]
            ),
            "Network.webSocketClosed": lambda _, event: self._end(event["requestId"], event["timestamp"]),
        }

    def __iter__(self) -> Iterator[Exchange]:
        return iter(self._exchanges)

    def unfinished(self, number: str) -> Exchange | None:
        """Return the exchange of a request that has not ended."""
        return self._current.get(number)

    def take(self, target: DevtoolsTarget, method: str, params: Object) -> None:
        """Take an event of a target. Other kinds of events are ignored."""
        if (taker := self._events.get(method)) and params.get("requestId") not in self._hidden:
            taker(target, params)

    def hide(self, method: str, params: Object) -> None:
        """Exclude the request of an event from the log, now and later."""
        if method.startswith("Network.") and isinstance(number := params.get("requestId"), str):
            self._hidden[number] = None
            if len(self._hidden) > MAX_HIDDEN:
                self._hidden.popitem(last=False)
            if exchange := self._current.get(number):
                exchange.failure = "hidden: a person was private"
                self._end(number, None)

    def gone(self, session: str) -> None:
        """End the open exchanges of a target that closed or crashed."""
        for exchange in [each for each in self._current.values() if each.session == session]:
            exchange.failure = exchange.failure or "the page was closed or crashed"
            self._end(exchange.id, None)

    def forget(self, page: str) -> None:
        """Drop the exchanges of a page."""
        for exchange in [exchange for exchange in self._exchanges if exchange.page == page]:
            self._exchanges.remove(exchange)
            self._drop(exchange)

    def _add(self, exchange: Exchange) -> None:
        exchange.cut |= len(exchange.url) > MAX_URL
        exchange.url = exchange.url[:MAX_URL]
        self._exchanges.append(exchange)
        self._current[exchange.id] = exchange
        self._hops.setdefault(exchange.id, []).append(exchange)
        if len(self._exchanges) > MAX_EXCHANGES:
            self._drop(self._exchanges.popleft())
        for side in ("request", "response"):
            if early := self._early.pop((exchange.id, side), None):
                self._exact(side, early)

    def _drop(self, exchange: Exchange) -> None:
        if self._current.get(exchange.id) is exchange:
            del self._current[exchange.id]
        hops = self._hops[exchange.id]
        hops.remove(exchange)
        if not hops:
            del self._hops[exchange.id]

    def _on_request(self, target: DevtoolsTarget, event: Object) -> None:
        number, request = event["requestId"], event["request"]
        if "redirectResponse" in event:
            self._on_redirect(number, event)
        headers, cut = fields_for_log(request["headers"])
        posted = request.get("postData", "") if request.get("hasPostData") else None
        self._add(
            Exchange(
                id=number,
                session=target.session,
                page=target.page,
                method=request["method"][:MAX_WORD],
                url=request["url"],
                kind=event.get("type", "Other").lower(),
                started=event["wallTime"],
                began=event["timestamp"],
                request_headers=headers,
                post_data=posted and posted[:MAX_POST_DATA],
                cut=cut or len(posted or "") > MAX_POST_DATA,
            )
        )

    def _on_redirect(self, number: str, event: Object) -> None:
        if (exchange := self._current.get(number)) and not event.get("redirectHasExtraInfo"):
            exchange.exact |= {"request", "response"}  # no further events follow
        self._on_response(number, event["redirectResponse"], event["timestamp"])
        self._end(number, event["timestamp"])

    def _exact(self, side: str, event: Object) -> None:
        """Take the headers on the wire, cookies included.

        The hops of a redirect come in order, but each may come before its own hop or even after the next one.
        """
        exchange = next((hop for hop in self._hops.get(event["requestId"], ()) if side not in hop.exact), None)
        if exchange is None:
            self._early[event["requestId"], side] = event
            while len(self._early) > MAX_EARLY:
                self._early.popitem(last=False)
            return
        headers, cut = fields_for_log(event["headers"])
        exchange.exact.add(side)
        exchange.cut |= cut
        if side == "request":
            exchange.request_headers = headers
        else:
            exchange.response_headers = headers
            exchange.status = event.get("statusCode", exchange.status)

    def _on_response(self, number: str, response: Object, at: float) -> None:
        exchange = self._current.get(number)
        if exchange is None:
            return
        exchange.status = exchange.status if "response" in exchange.exact and exchange.status else response["status"]
        exchange.status_text = response.get("statusText", "")[:MAX_WORD]
        exchange.protocol = response.get("protocol", "")
        exchange.mime_type = response.get("mimeType", "")[:MAX_WORD]
        exchange.remote = response.get("remoteIPAddress")
        exchange.timing = response.get("timing")
        exchange.from_cache |= response.get("fromDiskCache", False) or response.get("fromPrefetchCache", False)
        exchange.received = round(response.get("encodedDataLength", 0))
        exchange.answered = at
        if "response" not in exchange.exact:
            exchange.response_headers, cut = fields_for_log(response["headers"])
            exchange.cut |= cut

    def _on_served_from_cache(self, number: str) -> None:
        if exchange := self._current.get(number):
            exchange.from_cache = True

    def _on_loading_finished(self, _: DevtoolsTarget, event: Object) -> None:
        if exchange := self._current.get(event["requestId"]):
            exchange.received = round(event.get("encodedDataLength", exchange.received))
        self._end(event["requestId"], event["timestamp"])

    def _on_loading_failed(self, _: DevtoolsTarget, event: Object) -> None:
        if exchange := self._current.get(event["requestId"]):
            exchange.failure = event.get("blockedReason") or event.get("errorText") or "failed"
        self._end(event["requestId"], event["timestamp"])

    def _end(self, number: str, at: float | None) -> None:
        if exchange := self._current.pop(number, None):
            exchange.ended = at if at is not None else exchange.answered or exchange.began

    def _socket_created(self, target: DevtoolsTarget, event: Object) -> None:
        self._add(Exchange(event["requestId"], target.session, target.page, "GET", event["url"], "websocket", 0, 0))

    def _socket_opening(self, _: DevtoolsTarget, event: Object) -> None:
        if exchange := self._current.get(event["requestId"]):
            exchange.started, exchange.began = event["wallTime"], event["timestamp"]
            exchange.request_headers, exchange.cut = fields_for_log(event["request"]["headers"])
