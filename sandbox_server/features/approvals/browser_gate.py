"""The gate of the browser: pages that it opens, data that it sends to sites, and files that it hands over."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from sandbox_server.core.approval import ApprovalDenied
from sandbox_server.drivers.egress.body_summary import body_detail
from sandbox_server.drivers.egress.url_normalization import TwoReadings, normal_path, without_needless_encoding
from sandbox_server.features.approvals.gate import ApprovalGate, Decide, GatedAct, TaskScope
from sandbox_server.features.approvals.policy import ActFields, ActSubject, ApprovalMatch, ApprovalPolicy, ApprovalRule, UnclearUrl

BROWSER = "browser"
"""Who asks: what made the browser do it is not known."""
_REQUESTS: tuple[ActSubject, ...] = ("navigation", "submit")
_WITH_HOST = tuple(f"{prefix}{scheme}://" for prefix in ("", "blob:", "filesystem:") for scheme in ("http", "https", "ftp", "ws", "wss"))


MAX_LITERAL = 300
"""Characters of an address without a host that a rule is made for."""


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

    async def admit(self, subjects: Sequence[str], url: str, method: str, body: Mapping[str, object] | None = None) -> bool:
        """Wait for the decision on a request that is about these subjects: whether it goes on. `body` is a `body_summary`."""
        try:
            for subject in _REQUESTS:
                if subject in subjects:
                    await self._gate.admit(_act_of_request(subject, url, method, body))
        except ApprovalDenied as denied:
            self._note(denied)
            return False
        return True

    async def admit_download(self, url: str | None, name: str) -> None:
        """Return if a file may be handed to the agent. Raises ApprovalDenied. Of an unknown `url`, every rule is about it."""
        if self._held_by_person() or not self._gate.guards("download"):
            return
        host = host_of(url)
        decide = _decision("download", url, {"file": [name]}) if url else _strictest_download
        details = {"file": name, "url": _plain(url) if url else "(unknown)", "host": host if url else "(unknown)"}
        always = ApprovalMatch(host=_literal(host) if host else None, file=_literal(name))
        for_task = TaskScope(f"{_plain(url)} {name}", "The same file from the same address.") if url else None
        try:
            await self._gate.admit(GatedAct("download", decide, details, BROWSER, always, for_task))
        except ApprovalDenied as denied:
            self._note(denied)
            raise

    def _note(self, denied: ApprovalDenied) -> None:
        self.denials += 1
        self.last = denied


def _act_of_request(subject: ActSubject, address: str, method: str, body: Mapping[str, object] | None) -> GatedAct:
    url, host = _plain(address), host_of(address)
    details = {"host": host, "url": url, "method": method, **({"body": body_detail(body)} if body else {})}
    always = ApprovalMatch(host=_literal(host)) if host else ApprovalMatch(url=_literal(url)) if len(url) <= MAX_LITERAL else None
    scope = TaskScope(host, f"Every page of {host}.") if subject == "navigation" and host else None
    return GatedAct(subject, _decision(subject, address), details, BROWSER, always, scope)


def _decision(subject: ActSubject, address: str, more: ActFields = MappingProxyType({})) -> Decide:
    """Return what decides about a URL. A rule that compares URLs decides nothing on one with two readings."""
    fields = {"host": [host_of(address)], **more}
    try:
        fields["url"] = [compared(address)]
    except TwoReadings as error:
        unclear = UnclearUrl(_origin(address), str(error))
        return lambda policy: policy.decide(subject, fields, unclear)
    return lambda policy: policy.decide(subject, fields)


def _strictest_download(policy: ApprovalPolicy) -> ApprovalRule | None:
    """Return the rule for a download of which nothing is known: the first that asks or denies."""
    rules: Sequence[ApprovalRule] = policy.document.rules
    return next((rule for rule in rules if rule.subject == "download" and rule.action != "allow"), None)


def host_of(url: str | None) -> str:
    """Return the host of a URL as Chromium writes it, without a final dot; of a `blob:` URL, of the page that made it."""
    return _parts(url or "")[1].removeprefix("[").removesuffix("]")


def compared(url: str) -> str:
    """Return what rules compare of a URL: every way to write the same page's has one form. Raises TwoReadings.

    It has no fragment, no user and no final dot of the host. Its path is in normal form, and of its query nothing is
    percent-encoded that needs no encoding.
    """
    scheme, host, rest = _parts(_plain(url))
    port, slash, path_and_query = rest.partition("/")
    if not scheme or scheme.startswith("blob:") or not slash:
        return without_needless_encoding(f"{scheme}{host}{rest}")
    path, mark, query = path_and_query.partition("?")
    return f"{scheme}{host}{port}{normal_path(f'/{path}')}{mark}{without_needless_encoding(query)}"


def _origin(url: str) -> str:
    """Return what stands before the path of a URL with a host, and its slash."""
    scheme, host, rest = _parts(_plain(url))
    return f"{scheme}{host}{rest.partition('/')[0]}/"


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


def _plain(url: str | None) -> str:
    return (url or "").partition("#")[0]


def _literal(text: str) -> str:
    """Return the glob that matches a text alone."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in text) or "?"
