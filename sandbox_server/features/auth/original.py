"""The request that the gateway asks about, described by nginx in headers that no client can set."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote_plus

_PREVIEW_PATH = re.compile(r"/(?:abs)?proxy/([0-9]{1,5})(?:/|$)")


@dataclass(frozen=True)
class Original:
    """One request to the gateway."""

    method: str
    uri: str
    """As it was sent: path and query, percent-encoded."""
    path: str
    """As nginx routes it: decoded, slashes merged. Every decision uses this path."""
    headers: Mapping[str, str]
    """The client's own headers, with names in lower case."""
    port: int | None
    """The port to preview, from the host, the header or the path; None for everything else."""

    @classmethod
    def of(cls, headers: Mapping[str, str]) -> "Original":
        """Parse the subrequest's headers. A request without them is about itself."""
        uri = headers.get("x-original-uri", "/auth")
        path = headers.get("x-original-path") or uri.partition("?")[0]
        found = headers.get("x-original-port") or _port_in(path)
        return cls(headers.get("x-original-method", "GET"), uri, path, headers, int(found) if found else None)

    @property
    def is_page(self) -> bool:
        """Whether a browser opens a page with it, rather than a program calling or a page loading its parts."""
        return self.method == "GET" and not self.upgrades and "text/html" in self.headers.get("accept", "")

    @property
    def upgrades(self) -> bool:
        """Whether it asks for a WebSocket."""
        return bool(self.headers.get("x-original-upgrade"))

    @property
    def is_encrypted(self) -> bool:
        """Whether the client speaks TLS, to the gateway or to a proxy in front of it."""
        return self.headers.get("x-forwarded-proto") == "https"

    @property
    def is_framed_elsewhere(self) -> bool:
        """Whether a browser opens it in a frame on another site's page."""
        return self.headers.get("sec-fetch-dest") in ("iframe", "frame") and self.headers.get("sec-fetch-site") == "cross-site"

    @property
    def host(self) -> str:
        """The host and port that the client used."""
        return self.headers.get("x-forwarded-host") or self.headers.get("host", "")

    @property
    def preview_prefix(self) -> str:
        """The path prefix of the preview on its host; the root on a preview's own host."""
        named = _PREVIEW_PATH.match(self.path)
        return "/" if named is None or self.headers.get("x-original-port") else named[0].rstrip("/")

    def values(self, name: str) -> list[str]:
        """Return the values of a query parameter."""
        return [value for _, given, value in self._parameters if given == name]

    def uri_without(self, is_secret: Callable[[str, str], bool]) -> str:
        """Return the URI without the parameters for which `is_secret(name, value)` holds.

        All else stays byte for byte.
        """
        path, mark, _ = self.uri.partition("?")
        kept = [text for text, name, value in self._parameters if not is_secret(name, value)]
        return f"{path}{mark}{'&'.join(kept)}" if kept else path

    @property
    def separators(self) -> int:
        """How many parameters the query has at least, less one. Nothing of it is decoded for that."""
        return self.uri.count("&")

    @cached_property
    def _parameters(self) -> list[tuple[str, str, str]]:
        """Each parameter as it was sent, its name, and its value."""
        return [(text, *_parameter(text)) for text in self.uri.partition("?")[2].split("&")]


def _port_in(path: str) -> str:
    named = _PREVIEW_PATH.match(path)
    return named[1] if named else ""


def _parameter(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return unquote_plus(name), unquote_plus(value)
