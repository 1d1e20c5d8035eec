"""HTTP Archive 1.2 of the traffic (http://www.softwareishard.com/blog/har-12-spec/), with the text bodies of responses."""

from collections.abc import Iterable
from datetime import UTC, datetime
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from sandbox_server.drivers.devtools.headers import Fields, first_value
from sandbox_server.drivers.devtools.traffic import Exchange

UNKNOWN = -1
MAX_DIGITS = 18
"""Limit of digits of a content length. Longer ones are ignored."""
_VERSIONS = {"h2": "HTTP/2.0", "h3": "HTTP/3.0", "http/1.0": "HTTP/1.0", "http/1.1": "HTTP/1.1"}

type Json = dict[str, Any]


def archive(exchanges: Iterable[Exchange], *, version: str, browser: str) -> Json:
    """Return the archive of finished and open exchanges.

    `version` is Tandem's, `browser` a product such as `Chrome/156.0`.
    """
    kept = [exchange for exchange in exchanges if exchange.started]
    name, _, browser_version = browser.partition("/")
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "tandem", "version": version},
            "browser": {"name": name, "version": browser_version},
            "pages": _pages(kept),
            "entries": [_entry(exchange) for exchange in kept],
        }
    }


def moment(seconds: float) -> str:
    """Format seconds since the epoch in ISO 8601, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _pages(exchanges: list[Exchange]) -> list[Json]:
    began: dict[str, Exchange] = {}
    for exchange in exchanges:
        began.setdefault(exchange.page, exchange)
    return [
        {"startedDateTime": moment(exchange.started), "id": page, "title": exchange.url, "pageTimings": {}}
        for page, exchange in began.items()
    ]


def _entry(exchange: Exchange) -> Json:
    entry: Json = {
        "pageref": exchange.page,
        "startedDateTime": moment(exchange.started),
        "time": _milliseconds(exchange.seconds),
        "request": _request(exchange),
        "response": _response(exchange),
        "cache": {},
        "timings": _timings(exchange),
        "_resourceType": exchange.kind,
    }
    if exchange.remote:
        entry["serverIPAddress"] = exchange.remote.strip("[]")
    if exchange.failure:
        entry["_error"] = exchange.failure
    if exchange.cut:
        entry["comment"] = "what was too long is cut off"
    return entry


def _request(exchange: Exchange) -> Json:
    headers = exchange.request_headers
    request: Json = {
        "method": exchange.method,
        "url": exchange.url,
        "httpVersion": _version(exchange),
        "cookies": _cookies(first_value(headers, "cookie")),
        "headers": _fields(headers),
        "queryString": [{"name": name, "value": value} for name, value in _query(exchange.url)],
        "headersSize": UNKNOWN,
        "bodySize": UNKNOWN if exchange.post_data is None else len(exchange.post_data.encode("utf-8", "replace")),
    }
    if exchange.post_data is not None:
        kind = first_value(headers, "content-type") or ""
        request["postData"] = {"mimeType": kind, "params": [], "text": exchange.post_data}
    return request


def _response(exchange: Exchange) -> Json:
    headers = exchange.response_headers
    return {
        "status": exchange.status or 0,
        "statusText": exchange.status_text,
        "httpVersion": _version(exchange),
        "cookies": [cookie for name, value in headers if name.lower() == "set-cookie" for cookie in _cookies(value)],
        "headers": _fields(headers),
        "content": _content(exchange),
        "redirectURL": first_value(headers, "location") or "",
        "headersSize": UNKNOWN,
        "bodySize": 0 if exchange.from_cache else UNKNOWN,
        "_transferSize": exchange.received,
    }


def _content(exchange: Exchange) -> Json:
    kind = {"mimeType": exchange.mime_type or "x-unknown"}
    if exchange.body is not None:
        return kind | {"size": len(exchange.body.encode("utf-8", "replace")), "text": exchange.body}
    length = first_value(exchange.response_headers, "content-length")
    return kind | {"size": int(length) if length and length.isdecimal() and len(length) <= MAX_DIGITS else UNKNOWN}


def _timings(exchange: Exchange) -> Json:
    """Return the phases in milliseconds; -1 for phases that do not apply. They add up to the entry's time."""
    total = _milliseconds(exchange.seconds)
    timing = exchange.timing
    if timing is None:
        waited = _milliseconds(exchange.answered - exchange.began) if exchange.answered is not None else total
        waited = min(waited, total)
        return {
            "blocked": UNKNOWN,
            "dns": UNKNOWN,
            "connect": UNKNOWN,
            "ssl": UNKNOWN,
            "send": 0,
            "wait": waited,
            "receive": total - waited,
        }
    dns, connect = _span(timing, "dns"), _span(timing, "connect")
    send = max(0.0, timing["sendEnd"] - timing["sendStart"])
    wait = max(0.0, timing["receiveHeadersEnd"] - timing["sendEnd"])
    known = max(0.0, dns) + max(0.0, connect) + send + wait
    receive = max(0.0, total - max(known, timing["receiveHeadersEnd"]))
    return {
        "blocked": max(0.0, total - known - receive),
        "dns": dns,
        "connect": connect,
        "ssl": _span(timing, "ssl"),
        "send": send,
        "wait": wait,
        "receive": receive,
    }


def _span(timing: Json, name: str) -> float:
    begin, end = timing.get(f"{name}Start", UNKNOWN), timing.get(f"{name}End", UNKNOWN)
    return UNKNOWN if begin < 0 else max(0.0, end - begin)


def _milliseconds(seconds: float | None) -> float:
    return max(0.0, (seconds or 0.0) * 1000)


def _version(exchange: Exchange) -> str:
    return _VERSIONS.get(exchange.protocol.lower(), exchange.protocol or "unknown")


def _fields(headers: Fields) -> list[Json]:
    return [{"name": name, "value": value} for name, value in headers]


def _query(url: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:
        return []


def _cookies(field: str | None) -> list[Json]:
    try:
        cookies = SimpleCookie(field or "")
    except CookieError:
        return []
    return [
        {"name": name, "value": morsel.value, "httpOnly": bool(morsel["httponly"]), "secure": bool(morsel["secure"])}
        | {key: morsel[key] for key in ("path", "domain") if morsel[key]}
        for name, morsel in cookies.items()
    ]
