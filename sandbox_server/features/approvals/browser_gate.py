"""The gate of the browser: pages that it opens, data that it sends to sites, and files that it hands over."""

import re
from collections.abc import Callable, Sequence

from sandbox_server.core.approval import ApprovalDenied
from sandbox_server.features.approvals.gate import ApprovalGate, GatedAct
from sandbox_server.features.approvals.policy import ActFields, ActSubject, ApprovalMatch, ApprovalPolicy, ApprovalRule

BROWSER = "browser"
"""Who asks: what made the browser do it is not known."""
_REQUESTS: tuple[ActSubject, ...] = ("navigation", "submit")
_WITH_HOST = tuple(f"{prefix}{scheme}://" for prefix in ("", "blob:", "filesystem:") for scheme in ("http", "https", "ftp", "ws", "wss"))
_ENCODED = re.compile("%[2-7][0-9A-Fa-f]")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
"""Characters that a URL has the same meaning with, encoded or not (RFC 3986, 2.3)."""


class BrowserGate:
    """Decides on requests that the browser's process holds up, and on downloads.

    While a person drives, that process holds up nothing, and every download passes.
    """

    def __init__(self, gate: ApprovalGate, held_by_person: Callable[[], bool]) -> None:
        self._gate = gate
        self._held_by_person = held_by_person
        self.denials = 0
        """How often something was denied."""
        self.last: ApprovalDenied | None = None
        """The last denial."""

    def subjects(self) -> list[ActSubject]:
        """Return what rules for the browser are about."""
        return [subject for subject in (*_REQUESTS, "download") if self._gate.guards(subject)]

    def follows_downloads(self) -> bool:
        """Whether rules are about downloads, so that it has to be known where they come from."""
        return self._gate.guards("download")

    async def admit(self, subjects: Sequence[str], url: str, method: str) -> bool:
        """Wait for the decision on a request that is about these subjects: whether it goes on."""
        try:
            for subject in _REQUESTS:
                if subject in subjects:
                    await self._gate.admit(_act_of_request(subject, url, method))
        except ApprovalDenied as denied:
            self._note(denied)
            return False
        return True

    async def admit_download(self, url: str | None, name: str) -> None:
        """Return if a file may be handed to the agent. Raises ApprovalDenied. Of an unknown `url`, every rule is about it."""
        if self._held_by_person() or not self._gate.guards("download"):
            return
        fields = {"file": [name], **({"host": [host_of(url)], "url": [compared(url)]} if url else {})}
        decide = _decision("download", fields) if url else _strictest_download
        details = {"file": name, "url": _plain(url) if url else "(unknown)", "host": host_of(url) if url else "(unknown)"}
        same = (
            ApprovalMatch(host=_literal(host_of(url)), file=_literal(name)) if url and host_of(url) else ApprovalMatch(file=_literal(name))
        )
        try:
            await self._gate.admit(GatedAct("download", decide, details, BROWSER, same))
        except ApprovalDenied as denied:
            self._note(denied)
            raise

    def _note(self, denied: ApprovalDenied) -> None:
        self.denials += 1
        self.last = denied


def _act_of_request(subject: ActSubject, address: str, method: str) -> GatedAct:
    url, host = _plain(address), host_of(address)
    details = {"host": host, "url": url, "method": method}
    same = ApprovalMatch(host=_literal(host)) if host else ApprovalMatch(url=_literal(url[:900]))
    return GatedAct(subject, _decision(subject, {"host": [host], "url": [compared(address)]}), details, BROWSER, same)


def _decision(subject: ActSubject, fields: ActFields) -> Callable[[ApprovalPolicy], ApprovalRule | None]:
    return lambda policy: policy.decide(subject, fields)


def _strictest_download(policy: ApprovalPolicy) -> ApprovalRule | None:
    """Return the rule for a download of which nothing is known: the first that asks or denies."""
    rules: Sequence[ApprovalRule] = policy.document.rules
    return next((rule for rule in rules if rule.subject == "download" and rule.action != "allow"), None)


def host_of(url: str | None) -> str:
    """Return the host of a URL as Chromium writes it, without a final dot; of a `blob:` URL, of the page that made it."""
    return _parts(url or "")[1].removeprefix("[").removesuffix("]")


def compared(url: str) -> str:
    """Return what rules compare of a URL: every way to write the same page's has one form.

    It has no fragment, no user and no final dot of the host, and nothing is percent-encoded that needs no encoding.
    """
    scheme, host, rest = _parts(_plain(url))
    return _ENCODED.sub(_decoded, f"{scheme}{host}{rest}")


def _parts(url: str) -> tuple[str, str, str]:
    """Return the scheme with its slashes, the host, and the rest with the port; all is the rest where there is no host."""
    scheme = next((each for each in _WITH_HOST if url.startswith(each)), None)
    if scheme is None:
        return "", "", url
    after = url[len(scheme) :]
    end = min((at for mark in "/?#" if (at := after.find(mark)) >= 0), default=len(after))
    place = after[:end].rpartition("@")[2]
    host, bracket, port = place.partition("]")
    if not bracket:
        host, colon, port = place.partition(":")
        port = f"{colon}{port}"
    return scheme, f"{host}{bracket}".rstrip(".").lower(), f"{port}{after[end:]}"


def _decoded(encoded: re.Match[str]) -> str:
    character = chr(int(encoded[0][1:], 16))
    return character if character in _UNRESERVED else encoded[0]


def _plain(url: str | None) -> str:
    return (url or "").partition("#")[0]


def _literal(text: str) -> str:
    """Return the glob that matches a text alone."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in text) or "?"
