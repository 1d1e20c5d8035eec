"""What Caddy is told, as the JSON that it reads.

For each request it asks the fleet, with the request's own headers and without its body. An answer of 204 says where the request goes; any
other answer is the client's. What the answer says travels in variables of Caddy, which no client can set.
"""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tandem_fleet.gateway.tls_config import Acme, Files, Json, tls_of_acme, tls_of_files

STATE_PATH = "/.well-known/tandem/state"
HEADER_BYTES = 32_768
_ANSWERED = "http.reverse_proxy.header"
_SPOOFABLE = ["X-Gateway-*", "X-Original-*", "Forwarded", "X-Forwarded-Prefix", "X-Forwarded-Port", "X-Forwarded-Server", "X-Real-Ip"]
"""Headers that say something about the request, which nobody but a proxy may say. Caddy itself replaces the other `X-Forwarded-*`."""

_WHOLE: Json = {"handle": [{"handler": "copy_response"}]}


@dataclass(frozen=True)
class Listening:
    """Where Caddy listens, in its words, and how the certificates come about."""

    public: str
    port: int
    certificates: Files | Acme | None
    questions: str = ""
    """For an authority: where Caddy asks itself, on loopback, if a name may have a certificate."""
    question: str = ""
    """The URL of that question."""
    scheme: str = "http"
    """What clients speak, to Caddy or to a proxy in front of it."""
    proxies: tuple[str, ...] = ()
    """Networks of proxies in front, which say where a request came from."""


def configuration(listening: Listening, socket: Path, storage: Path) -> Json:
    """The whole configuration. `socket` is where the fleet answers, `storage` a folder of Caddy's own.

    What Caddy says about single requests is not written down: it holds their addresses, and tickets with them.
    """
    server: Json = {
        "listen": [listening.public],
        "protocols": ["h1", "h2"],
        "read_header_timeout": "10s",
        "idle_timeout": "5m",
        "max_header_bytes": HEADER_BYTES,
        "automatic_https": {"disable": True},
        "routes": [
            {"handle": [{"handler": "headers", "request": {"delete": _SPOOFABLE}}]},
            {"match": [_no_socket()], "handle": [{"handler": "headers", "request": {"delete": ["Upgrade", "Http2-Settings"]}}]},
            {"match": [{"path": [STATE_PATH]}], "handle": [_ask(socket, "/v1/gateway/state")], "terminal": True},
            {"handle": [_ask(socket, "/v1/gateway/authorize") | {"handle_response": [_remember()]}]},
            {
                "match": [_is("form", "path")],
                "handle": [*_into_the_path(), _forward(listening.scheme, _of_path()) | {"handle_response": [_refused(socket)]}],
                "terminal": True,
            },
            {"match": [_is("form", "name")], "handle": [_forward(listening.scheme, {}) | _of_name(socket)], "terminal": True},
        ],
        "errors": {"routes": [{"handle": [_unreachable()]}]},
    }
    if listening.proxies:
        server["trusted_proxies"] = {"source": "static", "ranges": list(listening.proxies)}
    apps: Json = {"http": {"grace_period": "2s", "servers": {"gateway": server}}}
    if listening.certificates:
        server["tls_connection_policies"] = [{}]
    if isinstance(listening.certificates, Files):
        apps["tls"] = tls_of_files(listening.certificates)
    elif listening.certificates:
        apps["tls"] = tls_of_acme(listening.certificates, listening.port, listening.question)
        apps["http"]["servers"]["questions"] = _questions(listening, socket)
    return {
        "admin": {"disabled": True, "config": {"persist": False}},
        "logging": {"logs": {"default": {"level": "ERROR", "exclude": ["http.log", "http.handlers"]}}},
        "storage": {"module": "file_system", "root": str(storage)},
        "apps": apps,
    }


def _questions(listening: Listening, socket: Path) -> Json:
    """Caddy asks about certificates by a URL alone, so that it passes its own question on to the fleet's socket."""
    asked = _ask(socket, "/v1/gateway/certificate?{http.request.uri.query}")
    path = urlsplit(listening.question).path
    routes = [{"match": [{"path": [path]}], "handle": [asked], "terminal": True}]
    return {"listen": [listening.questions], "protocols": ["h1"], "automatic_https": {"disable": True}, "routes": routes}


def _is(variable: str, value: str) -> Json:
    return {"vars": {f"gateway_{variable}": [value]}}


def _no_socket() -> Json:
    """Only WebSockets are upgraded: anything else would be a tunnel in which nobody asks."""
    return {"not": [{"header_regexp": {"Upgrade": {"pattern": "(?i)^websocket$"}}}]}


def _ask(socket: Path, question: str) -> Json:
    told = {
        "X-Gateway-Method": ["{http.request.method}"],
        "X-Gateway-Uri": ["{http.request.orig_uri}"],
        "X-Gateway-Host": ["{http.request.hostport}"],
        "X-Gateway-Upgrade": ["{http.request.header.Upgrade}"],
    }
    return {
        "handler": "reverse_proxy",
        "upstreams": [{"dial": f"unix/{socket}"}],
        "rewrite": {"method": "GET", "uri": question},
        "headers": {
            "request": {"delete": ["Upgrade", "Connection", "Content-Type", "Expect"], "set": told},
            "response": {"delete": ["Server"]},
        },
        "transport": {"protocol": "http", "compression": False},
    }


def _remember() -> Json:
    """Keep what an answer of 204 says, and put its `Cookie` header in place of the client's."""
    answer = f"{{{_ANSWERED}.X-Gateway-%s}}"
    names = ("Upstream", "Form", "Sandbox", "Trust", "Sign")
    kept = {"handler": "vars"} | {f"gateway_{name.lower()}": answer % name for name in names}
    cookie = answer % "Cookie"
    return {
        "match": {"status_code": [204]},
        "routes": [
            {"handle": [kept, {"handler": "headers", "request": {"delete": ["Cookie"]}}]},
            {
                "match": [{"not": [{"vars": {cookie: [""]}}]}],
                "handle": [{"handler": "headers", "request": {"set": {"Cookie": [cookie]}}}],
            },
        ],
    }


def _into_the_path() -> list[Json]:
    return [{"handler": "rewrite", "strip_path_prefix": "/s/{http.vars.gateway_sandbox}"}]


def _forward(scheme: str, response: Json) -> Json:
    """Pass a request on, as it was sent, and its answer with what `response` changes of its headers."""
    return {
        "handler": "reverse_proxy",
        "upstreams": [{"dial": "{http.vars.gateway_upstream}"}],
        "flush_interval": -1,
        "transport": {
            "protocol": "http",
            "compression": False,
            "dial_timeout": "3s",
            "keep_alive": {"idle_timeout": "20s", "max_idle_conns_per_host": 32},
            "versions": ["1.1"],
        },
        "headers": {"request": {"set": {"X-Forwarded-Proto": [scheme]}}, "response": response},
    }


def _of_path() -> Json:
    """By path all sandboxes share an origin: no cookie is set there, and redirects stay below the path."""
    inside = [{"search_regexp": "^/([^/]|$)", "replace": "/s/{http.vars.gateway_sandbox}/$1"}]
    return {"delete": ["Set-Cookie", "Service-Worker-Allowed", "Clear-Site-Data"], "replace": {"Location": inside}}


def _refused(socket: Path) -> Json:
    """In place of a sandbox's 401 to what nobody could verify: the gateway's own."""
    refused: Json = {"match": [_is("trust", "unverified")], "handle": [_ask(socket, "/v1/gateway/refusal")], "terminal": True}
    return {"match": {"status_code": [401]}, "routes": [refused, _WHOLE]}


def _of_name(socket: Path) -> Json:
    """A 401 to what nobody could verify is the gateway's own; a browser that was signed in gets the gateway's cookie, too."""
    signed: Json = {
        "match": [{"not": [_is("sign", "")]}],
        "handle": [{"handler": "headers", "response": {"add": {"Set-Cookie": ["{http.vars.gateway_sign}"]}}}],
    }
    return {
        "handle_response": [
            _refused(socket),
            {"match": {"headers": {"Set-Cookie": ["*sandbox_session*"]}}, "routes": [signed, _WHOLE]},
        ]
    }


def _unreachable() -> Json:
    body = '{"error":{"code":"unreachable","message":"the sandbox does not answer"}}'
    return {
        "handler": "static_response",
        "status_code": "{http.error.status_code}",
        "headers": {"Content-Type": ["application/json"], "Cache-Control": ["no-store"], "Retry-After": ["1"]},
        "body": body,
    }
