"""The API over HTTP."""

import http.client
import json
import os
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from sandbox_server.cli.stop import FAILED, UNREACHABLE, USAGE, Stop

GATEWAY = "/run/sandbox/public.sock"
"""The gateway's socket, which nobody in the box can enter: who can needs no connection that the agent's programs may have taken."""


class UnixConnection(http.client.HTTPConnection):
    """A connection through the gateway's socket."""

    def __init__(self, path: str, timeout: float | None) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect. Raises OSError."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Api:
    """The API at a URL, called with a token, or through the gateway's own socket `socket_path` if it may be entered."""

    def __init__(self, url: str, token: str | None, timeout: float | None, socket_path: str | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Stop(USAGE, f"{url!r} is not the URL of an API")
        self._url, self._base, self._token = url, parts.path.rstrip("/"), token
        connection = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = connection(parts.hostname, parts.port, timeout=timeout)
        if socket_path and os.access(socket_path, os.W_OK):
            self._connection = UnixConnection(socket_path, timeout)

    def send(self, verb: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> http.client.HTTPResponse:
        """Send one request and wait for the beginning of its answer."""
        sign_in = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        try:
            self._connection.request(verb, self._base + path, body, {"X-Sandbox-Surface": "cli", **sign_in, **(headers or {})})
            return self._connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise Stop(UNREACHABLE, f"the API at {self._url} did not answer: {error or type(error).__name__}") from None

    def close(self) -> None:
        """Close the connection, and with it an answer that was not read to its end."""
        self._connection.close()


def failure(response: http.client.HTTPResponse) -> Stop:
    """Why the API refused, as an end of the command line."""
    text = response.read().decode("utf-8", "replace")
    try:
        body = json.loads(text)
    except ValueError:
        return Stop(UNREACHABLE if response.status in (502, 504) else FAILED, f"{response.status} {response.reason}")
    if "detail" in body:
        problems = (f"--{'.'.join(map(str, problem['loc'][1:]))}: {problem['msg']}" for problem in body["detail"])
        return Stop(USAGE, "\n".join(problems))
    return Stop(FAILED, sentence(body))


def sentence(body: Mapping[str, Any]) -> str:
    """Return the envelope's message and hint as text."""
    return "\n".join(str(body[key]) for key in ("message", "hint") if body.get(key))
