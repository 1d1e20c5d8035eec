"""How a sandbox is addressed: by a host name below a domain, or by a path."""

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

_ID = r"[a-z][a-z0-9]{15}"
_HOST = re.compile(rf"(?:(?P<port>[1-9][0-9]{{0,4}})-)?(?P<sandbox>{_ID})")
_PATH = re.compile(rf"/s/(?P<sandbox>{_ID})(?P<rest>[/?].*)?", re.DOTALL)
_AMBIGUOUS = re.compile(r"^[^?]*(?:/|\\|%2f|%5c)(?:\.|%2e){1,2}(?:/|\\|%2f|%5c|;|%3b|\?|$)|^[^?]*#|[\x00-\x20\x7f]|^[^?]*\\", re.IGNORECASE)
"""Dot segments, backslashes and fragments mean one place to one program and another to the next."""

_OPEN = ("/healthz", "/readyz", "/join", "/favicon.ico")
_OPEN_BELOW = ("/static/", "/.well-known/")


@dataclass(frozen=True)
class Target:
    """The sandbox that a request is for."""

    sandbox: str
    uri: str
    """Path and query within the sandbox, as they were sent."""
    by_path: bool

    @property
    def is_open_to_all(self) -> bool:
        """Whether a sandbox answers there without a credential: its answer would tell a stranger that it exists."""
        path = re.sub("/+", "/", unquote(self.uri.partition("?")[0]))
        return path in _OPEN or path.startswith(_OPEN_BELOW)


def is_ambiguous(uri: str) -> bool:
    """Whether two programs could read a request's path as two places."""
    return not uri.startswith("/") or bool(_AMBIGUOUS.search(uri))


@dataclass(frozen=True)
class Addresses:
    """The addresses of a gateway's sandboxes.

    `base` is scheme, host and port as clients know them. Below `domain` each sandbox has a name; empty: none has. With `named` every client
    can look these names up; without, browsers alone can.
    """

    base: str
    domain: str
    named: bool

    def target(self, host: str, uri: str) -> Target | None:
        """The sandbox that a request's host names, or else its path; None where neither does."""
        name = host.rpartition(":")[0] if re.search(r":[0-9]*$", host) else host
        label, _, domain = name.lower().removesuffix(".").partition(".")
        if self.domain and domain == self.domain:
            named = _HOST.fullmatch(label)
            return Target(named["sandbox"], uri, by_path=False) if named else None
        found = _PATH.fullmatch(uri)
        if found is None:
            return None
        rest = found["rest"] or "/"
        return Target(found["sandbox"], rest if rest.startswith("/") else f"/{rest}", by_path=True)

    def url(self, sandbox: str) -> str:
        """Where clients reach a sandbox."""
        return self._by_name(sandbox) if self.named else f"{self.base}/s/{sandbox}"

    def page(self, target: Target) -> str:
        """Where a browser sees what a target names; empty where sandboxes have no names."""
        return f"{self._by_name(target.sandbox)}{target.uri}" if self.domain else ""

    def environment(self, sandbox: str) -> dict[str, str]:
        """What a sandbox is told of its name, before which `<port>-` names one of its ports."""
        return {"PREVIEW_DOMAIN": f"{sandbox}.{self.domain}"} if self.domain else {}

    def certified(self, name: str) -> str | None:
        """The sandbox that has this host name; empty for the gateway's own name, None for a name of nobody."""
        if name == urlsplit(self.base).hostname:
            return ""
        target = self.target(name, "/")
        return target.sandbox if target and not target.by_path else None

    @property
    def is_encrypted(self) -> bool:
        """Whether clients speak TLS."""
        return self.base.startswith("https:")

    def _by_name(self, sandbox: str) -> str:
        parts = urlsplit(self.base)
        port = "" if parts.port in (None, {"http": 80, "https": 443}[parts.scheme]) else f":{parts.port}"
        return f"{parts.scheme}://{sandbox}.{self.domain}{port}"
