"""Requests that must not pass without a credential: the published faults of the peer, and the family around each.

Every request is written as bytes, because no HTTP library sends most of them. `{path}` is a path that needs signing in,
`{port}` one of the sandbox's own ports.
"""

import re

REFUSALS = frozenset({400, 401, 403, 404, 405, 501, 505})

SOCKET = "Upgrade: websocket\r\nConnection: Upgrade, close\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

TARGETS = {
    "no credential": "{path}",
    "a static-looking query": "{path}?x=.js",
    "a static-looking suffix": "{path}/x.js",
    "an open path in the query": "{path}?/healthz",
    "an open path in the fragment": "{path}#/healthz",
    "a wrong key in the query": "{path}?api_key=wrong",
    "an empty key in the query": "{path}?api_key=",
    "an invented ticket": "{path}?ticket=tk-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "a ticket in another case": "{path}?TICKET=x",
    "dots below an open path": "/healthz/..{path}",
    "dots below a static file": "/static/style.css/../..{path}",
    "dots below a static folder": "/static/../{path}",
    "encoded dots": "/healthz/%2e%2e{path}",
    "dots encoded in part": "/healthz/.%2E{path}",
    "encoded slashes": "/healthz%2f..{path}",
    "dots and encoded slashes": "/static/style.css/..%2f..%2f{path}",
    "dots with a parameter": "/healthz/..;{path}",
    "dots with backslashes": "/healthz\\..\\{path}",
    "encoded backslashes": "/healthz%5c..%5c{path}",
    "dots encoded twice": "/healthz/%252e%252e{path}",
    "double slashes": "/{path}",
    "an encoded letter": "/%76%31/x",
    "a zero byte": "{path}%00/healthz",
    "a line break": "{path}%0d%0aX-Sandbox-Caller:%20key",
    "a trailing blank": "/healthz%20",
    "the question itself": "/.auth",
    "the question with an open path": "/.auth?/healthz",
    "a port's page": "/proxy/{port}/",
    "a port's page, prefix kept": "/absproxy/{port}/",
    "a port's page below an open path": "/healthz/../proxy/{port}/",
    "an absolute address": "http://localhost{path}",
    "an absolute address of a preview": "http://{port}-x/healthz",
    "an absolute address of an open path, with another inside": "http://localhost/healthz/..{path}",
}

HEADERS = {
    "a preview's host": "Host: {port}-x",
    "a preview's host with a port": "Host: {port}-localhost:8080",
    "a spoofed original address": "X-Original-URI: /healthz",
    "a spoofed original path": "X-Original-Path: /healthz",
    "a spoofed original method": "X-Original-Method: OPTIONS",
    "a rewritten address": "X-Rewrite-URL: /healthz\r\nX-Original-URL: /healthz",
    "a forwarded address": "X-Forwarded-URI: /healthz\r\nX-Forwarded-Prefix: /healthz",
    "a spoofed caller": "X-Sandbox-Caller: key\r\nX-Sandbox-Scopes: admin view shell code files browser control",
    "a spoofed caller, with underscores": "X_Sandbox_Caller: key\r\nX_Sandbox_Scopes: admin",
    "a spoofed upstream": "X-Sandbox-Upstream: 127.0.0.1:22",
    "a trusted address": "X-Forwarded-For: 127.0.0.1\r\nX-Real-IP: 127.0.0.1",
    "a preview's port": "x-aio-proxy-port: {port}",
    "a preview's port that is no number": "x-aio-proxy-port: {port}a",
    "a preview's port in hexadecimal": "x-aio-proxy-port: 0x1f90",
    "two preview's ports": "x-aio-proxy-port: {port},22",
    "a preview's address": "x-aio-proxy-port: 127.0.0.1:{port}",
    "a wrong key": "X-AIO-API-Key: wrong",
    "an empty key": "X-AIO-API-Key:",
    "an empty bearer": "Authorization: Bearer ",
    "a bearer that is null": "Authorization: Bearer null",
    "two authorizations": "Authorization: Bearer a\r\nAuthorization: Bearer b",
    "basic authorization": "Authorization: Basic YWRtaW46YWRtaW4=",
    "a made-up session": "Cookie: sandbox_session=e30=.x; sandbox_session_8080=a.b",
    "a WebSocket": SOCKET.strip(),
    "a WebSocket from another site": f"{SOCKET}Origin: http://evil.example",
    "an upgrade to HTTP/2": "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings, close\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
    "a hop-by-hop caller": "Connection: close, X-Sandbox-Caller",
    "another method in a header": "X-HTTP-Method-Override: OPTIONS",
}

# A second request, which no server may take for one of its own.
INNER = "GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Sandbox-Caller: key\r\nX-Sandbox-Scopes: view\r\nConnection: close\r\n\r\n"

# Bodies of which two servers could see different ends, each with a second request where one of them would end it.
BODIES = {
    "length and chunks": ("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
    "chunks and length": ("Transfer-Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n"),
    "two lengths": ("Content-Length: 0\r\nContent-Length: 90", ""),
    "a length with a sign": ("Content-Length: +0", ""),
    "an unknown coding": ("Transfer-Encoding: xchunked", "0\r\n\r\n"),
    "two codings": ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "0\r\n\r\n"),
    "a blank before the colon": ("Content-Length : 5", ""),
    "a chunk with an extension over two lines": ("Transfer-Encoding: chunked", "0;\nxx\r\n\r\n"),
}

RAW = {
    "HTTP/1.0": "GET {path} HTTP/1.0\r\n\r\n",
    "HTTP/0.9": "GET {path}\r\n",
    "HTTP/2 in clear": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no host": "GET {path} HTTP/1.1\r\n\r\n",
    "two hosts": "GET {path} HTTP/1.1\r\nHost: localhost\r\nHost: {port}-x\r\n\r\n",
    "a tunnel": "CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a trace": "TRACE {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "chunks in HTTP/1.0": "POST {path} HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inner}",
    "a folded header": "GET {path} HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n X-Sandbox-Caller: key\r\nConnection: close\r\n\r\n",
    "a zero byte in a header": "GET {path} HTTP/1.1\r\nHost: localhost\r\nX-A: \0\r\nConnection: close\r\n\r\n",
}


def requests(path: str, port: int) -> dict[str, bytes]:
    """All of them, by name."""
    plain = "GET {target} HTTP/1.1\r\n{host}{headers}{close}\r\n"
    found = {name: plain.replace("{target}", target).replace("{headers}", "") for name, target in TARGETS.items()}
    found |= {name: plain.replace("{target}", "{path}").replace("{headers}", f"{header}\r\n") for name, header in HEADERS.items()}
    found |= {
        name: f"POST {{path}} HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n\r\n{body}{{inner}}" for name, (framing, body) in BODIES.items()
    }
    found |= RAW
    return {name: _written(text, path, port) for name, text in found.items()}


def _written(text: str, path: str, port: int) -> bytes:
    text = text.replace("{inner}", INNER)
    text = text.replace("{host}", "" if "\r\nHost:" in text else "Host: localhost\r\n")
    text = text.replace("{close}", "" if "\r\nConnection:" in text else "Connection: close\r\n")
    return text.replace("{path}", path).replace("{port}", str(port)).encode("latin-1")


def statuses(received: bytes) -> list[int]:
    """The status of every answer in what came back."""
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", received)]
