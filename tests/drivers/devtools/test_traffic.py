"""The log holds the latest, whole as far as it was told. What a real browser tells is in test_devtools.py."""

from typing import Any

from sandbox_server.drivers.devtools.headers import MAX_BYTES
from sandbox_server.drivers.devtools.targets import DevtoolsTarget
from sandbox_server.drivers.devtools.traffic import MAX_EARLY, MAX_EXCHANGES, MAX_POST_DATA, MAX_URL, MAX_WORD, Traffic

PAGE = DevtoolsTarget("session", "page", "page", "page")


def sent(number: str, url: str = "https://a.example/", **more: Any) -> dict[str, Any]:
    request = {"url": url, "method": "GET", "headers": {"A": "1"}} | more.pop("request", {})
    return {"requestId": number, "request": request, "wallTime": 1000.0, "timestamp": 10.0, "type": "Fetch", **more}


def answer(status: int = 200, **more: Any) -> dict[str, Any]:
    return {"status": status, "statusText": "", "headers": {"B": "1"}, "mimeType": "text/plain", "encodedDataLength": 10, **more}


def test_a_request_goes_from_sent_to_finished() -> None:
    traffic = Traffic()
    traffic.take(PAGE, "Network.requestWillBeSent", sent("1"))
    [exchange] = traffic
    assert (exchange.status, exchange.seconds) == (None, None)
    traffic.take(PAGE, "Network.responseReceived", {"requestId": "1", "timestamp": 10.5, "response": answer(201)})
    traffic.take(PAGE, "Network.loadingFinished", {"requestId": "1", "timestamp": 11.0, "encodedDataLength": 99})
    assert (exchange.status, exchange.seconds, exchange.received) == (201, 1.0, 99)


def test_only_the_latest_are_kept() -> None:
    traffic = Traffic()
    for number in range(MAX_EXCHANGES + 3):
        traffic.take(PAGE, "Network.requestWillBeSent", sent(str(number)))
    assert [exchange.id for exchange in traffic][:: MAX_EXCHANGES - 1] == ["3", str(MAX_EXCHANGES + 2)]
    traffic.take(PAGE, "Network.loadingFinished", {"requestId": "0", "timestamp": 11.0})  # no more known


def test_what_is_too_long_is_cut_and_says_so() -> None:
    traffic = Traffic()
    posted = {"hasPostData": True, "postData": "x" * (MAX_POST_DATA + 1)}
    traffic.take(PAGE, "Network.requestWillBeSent", sent("1", "https://a.example/" + "x" * MAX_URL))
    traffic.take(PAGE, "Network.requestWillBeSent", sent("2", request={"headers": {"A": "x" * MAX_BYTES}, **posted}))
    first, second = traffic
    assert (len(first.url), first.cut) == (MAX_URL, True)
    assert (second.request_headers, len(second.post_data or ""), second.cut) == ((), MAX_POST_DATA, True)


def test_headers_on_the_wire_may_come_before_their_request() -> None:
    traffic = Traffic()
    traffic.take(PAGE, "Network.requestWillBeSentExtraInfo", {"requestId": "1", "headers": {"Cookie": "a=1"}})
    traffic.take(PAGE, "Network.responseReceivedExtraInfo", {"requestId": "1", "headers": {"Set-Cookie": "b=2"}, "statusCode": 204})
    traffic.take(PAGE, "Network.requestWillBeSent", sent("1"))
    traffic.take(PAGE, "Network.responseReceived", {"requestId": "1", "timestamp": 10.5, "response": answer()})
    [exchange] = traffic
    assert (exchange.request_headers, exchange.response_headers, exchange.status) == ((("Cookie", "a=1"),), (("Set-Cookie", "b=2"),), 204)


def test_headers_of_hops_come_in_their_order_however_late() -> None:
    traffic = Traffic()
    traffic.take(PAGE, "Network.requestWillBeSent", sent("1"))
    hop = sent("1", "https://a.example/next", redirectResponse=answer(302), redirectHasExtraInfo=True)
    traffic.take(PAGE, "Network.requestWillBeSent", hop)
    for status in (302, 200):
        traffic.take(PAGE, "Network.responseReceivedExtraInfo", {"requestId": "1", "headers": {"S": str(status)}, "statusCode": status})
    assert [(exchange.status, exchange.response_headers) for exchange in traffic] == [(302, (("S", "302"),)), (200, (("S", "200"),))]


def test_headers_of_requests_that_never_come_are_forgotten() -> None:
    traffic = Traffic()
    for number in range(MAX_EARLY + 1):
        traffic.take(PAGE, "Network.requestWillBeSentExtraInfo", {"requestId": str(number), "headers": {"X": "1"}})
    traffic.take(PAGE, "Network.requestWillBeSent", sent("0"))
    assert next(iter(traffic)).request_headers == (("A", "1"),)


def test_what_waited_when_its_page_went_is_ended() -> None:
    traffic = Traffic()
    traffic.take(PAGE, "Network.requestWillBeSent", sent("1"))
    traffic.gone("session")
    [exchange] = traffic
    assert (exchange.failure, exchange.seconds) == ("the page was closed or crashed", 0.0)


def test_a_page_can_be_forgotten() -> None:
    traffic = Traffic()
    traffic.take(PAGE, "Network.requestWillBeSent", sent("1"))
    traffic.take(DevtoolsTarget("other", "other", "page", "other"), "Network.requestWillBeSent", sent("2"))
    traffic.forget("page")
    assert [exchange.id for exchange in traffic] == ["2"]


def test_a_web_socket_is_a_request() -> None:
    traffic = Traffic()
    traffic.take(PAGE, "Network.webSocketCreated", {"requestId": "1", "url": "wss://a.example/"})
    opening = {"requestId": "1", "timestamp": 1.0, "wallTime": 5.0, "request": {"headers": {"Upgrade": "websocket"}}}
    traffic.take(PAGE, "Network.webSocketWillSendHandshakeRequest", opening)
    traffic.take(
        PAGE, "Network.webSocketHandshakeResponseReceived", {"requestId": "1", "timestamp": 2.0, "response": {"status": 101, "headers": {}}}
    )
    traffic.take(PAGE, "Network.webSocketClosed", {"requestId": "1", "timestamp": 9.0})
    [exchange] = traffic
    assert (exchange.kind, exchange.status, exchange.started, exchange.seconds) == ("websocket", 101, 5.0, 8.0)


def test_what_was_posted_is_said_to_be_cut_and_words_of_a_server_have_a_length() -> None:
    traffic = Traffic()
    posted = {"hasPostData": True, "postData": "x" * (MAX_POST_DATA + 1)}
    traffic.take(PAGE, "Network.requestWillBeSent", sent("1", request=posted))
    response = answer(statusText="x" * (MAX_WORD + 1), mimeType="x" * (MAX_WORD + 1))
    traffic.take(PAGE, "Network.responseReceived", {"requestId": "1", "timestamp": 10.5, "response": response})
    [exchange] = traffic
    assert (exchange.cut, len(exchange.status_text), len(exchange.mime_type)) == (True, MAX_WORD, MAX_WORD)
