"""What the browser asked of the network, and what it was answered: the latest requests, over navigations and crashes."""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sandbox_server.drivers.devtools.connection import Object
from sandbox_server.drivers.devtools.headers import Fields, kept
from sandbox_server.drivers.devtools.targets import DevtoolsTarget

MAX_EXCHANGES = 2000
MAX_URL = 8 << 10
MAX_POST_DATA = 64 << 10
MAX_BODY = 256 << 10
"""Characters of the body of an answer."""
MAX_WORD = 1 << 10
"""Of a method, a status text or a media type."""
MAX_HIDDEN = 10_000
"""Requests that were made in private, of which it is known."""
MAX_EARLY = 200
"""Headers that came before their request is known."""
BUFFERS: Object = {"maxTotalBufferSize": 16 * MAX_BODY, "maxResourceBufferSize": 2 * MAX_BODY, "maxPostDataSize": MAX_POST_DATA}
"""What the browser keeps for us of the bodies of a page."""


@dataclass(slots=True, eq=False)
class Exchange:
    """One request and its answer. Moments are seconds of the browser's own clock, `started` is of the epoch."""

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
    """Bytes that came over the network, headers too."""
    body: str | None = None
    """Of the answer, where it is text that is not too long."""
    answered: float | None = None
    ended: float | None = None
    failure: str | None = None
    cut: bool = False
    """Whether something was too long to be kept whole."""
    exact: set[str] = field(default_factory=set)
    """`request`, `response`: of which the headers are those on the wire."""

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it takes."""
        return None if self.ended is None else max(0.0, self.ended - self.began)


class Traffic:
    """The log. Takes the events of the domain Network."""

    def __init__(self) -> None:
        self._exchanges: deque[Exchange] = deque()
        self._current: dict[str, Exchange] = {}
        self._hops: dict[str, list[Exchange]] = {}
        self._early: OrderedDict[tuple[str, str], Object] = OrderedDict()
        self._hidden: OrderedDict[str, None] = OrderedDict()
        self._events: dict[str, Callable[[DevtoolsTarget, Object], None]] = {
            "Network.requestWillBeSent": self._sent,
            "Network.requestWillBeSentExtraInfo": lambda _, event: self._exact("request", event),
            "Network.responseReceived": lambda _, event: self._answered(event["requestId"], event["response"], event["timestamp"]),
            "Network.responseReceivedExtraInfo": lambda _, event: self._exact("response", event),
            "Network.requestServedFromCache": lambda _, event: self._cached(event["requestId"]),
            "Network.loadingFinished": self._finished,
            "Network.loadingFailed": self._failed,
            "Network.webSocketCreated": self._socket_created,
            "Network.webSocketWillSendHandshakeRequest": self._socket_opening,
            "Network.webSocketHandshakeResponseReceived": lambda _, event: self._answered(
                event["requestId"], event["response"], event["timestamp"]
            ),
            "Network.webSocketClosed": lambda _, event: self._end(event["requestId"], event["timestamp"]),
        }

    def __iter__(self) -> Iterator[Exchange]:
        return iter(self._exchanges)

    def unfinished(self, number: str) -> Exchange | None:
        """The exchange of a request that has not ended."""
        return self._current.get(number)

    def take(self, target: DevtoolsTarget, method: str, params: Object) -> None:
        """Take an event of a target; those of other kinds are ignored."""
        if (taker := self._events.get(method)) and params.get("requestId") not in self._hidden:
            taker(target, params)

    def hide(self, method: str, params: Object) -> None:
        """Log nothing of the request that an event is of, neither now nor later."""
        if method.startswith("Network.") and isinstance(number := params.get("requestId"), str):
            self._hidden[number] = None
            if len(self._hidden) > MAX_HIDDEN:
                self._hidden.popitem(last=False)
            if exchange := self._current.get(number):
                exchange.failure = "hidden: a person was private"
                self._end(number, None)

    def gone(self, session: str) -> None:
        """End what a target still waited for when it closed or crashed."""
        for exchange in [each for each in self._current.values() if each.session == session]:
            exchange.failure = exchange.failure or "the page was closed or crashed"
            self._end(exchange.id, None)

    def forget(self, page: str) -> None:
        """Drop what a page did."""
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

    def _sent(self, target: DevtoolsTarget, event: Object) -> None:
        number, request = event["requestId"], event["request"]
        if "redirectResponse" in event:
            self._redirected(number, event)
        headers, cut = kept(request["headers"])
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

    def _redirected(self, number: str, event: Object) -> None:
        if (exchange := self._current.get(number)) and not event.get("redirectHasExtraInfo"):
            exchange.exact |= {"request", "response"}  # there is no more to come
        self._answered(number, event["redirectResponse"], event["timestamp"])
        self._end(number, event["timestamp"])

    def _exact(self, side: str, event: Object) -> None:
        """Take the headers on the wire, cookies too.

        They come for each hop of a redirect in the order of the hops, but before the hop itself or even after the next one.
        """
        exchange = next((hop for hop in self._hops.get(event["requestId"], ()) if side not in hop.exact), None)
        if exchange is None:
            self._early[event["requestId"], side] = event
            while len(self._early) > MAX_EARLY:
                self._early.popitem(last=False)
            return
        headers, cut = kept(event["headers"])
        exchange.exact.add(side)
        exchange.cut |= cut
        if side == "request":
            exchange.request_headers = headers
        else:
            exchange.response_headers = headers
            exchange.status = event.get("statusCode", exchange.status)

    def _answered(self, number: str, response: Object, at: float) -> None:
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
            exchange.response_headers, cut = kept(response["headers"])
            exchange.cut |= cut

    def _cached(self, number: str) -> None:
        if exchange := self._current.get(number):
            exchange.from_cache = True

    def _finished(self, _: DevtoolsTarget, event: Object) -> None:
        if exchange := self._current.get(event["requestId"]):
            exchange.received = round(event.get("encodedDataLength", exchange.received))
        self._end(event["requestId"], event["timestamp"])

    def _failed(self, _: DevtoolsTarget, event: Object) -> None:
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
            exchange.request_headers, exchange.cut = kept(event["request"]["headers"])
