"""Fetches documents from the web within limits, from addresses that were checked first."""

import asyncio
import ssl
import tempfile
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from sandbox_server.core.errors import Conflict, InvalidArgument, PermissionDenied, TooLarge
from sandbox_server.core.tasks import in_thread
from sandbox_server.drivers.documents.markdown import Known
from sandbox_server.drivers.documents.web_reach import INTERNAL_HINT
from sandbox_server.drivers.egress.policy import INTERNAL_RULE, PROTECTED_RULE

if TYPE_CHECKING:
    import httpx2

MAX_REDIRECTS = 10
CONNECT_SECONDS = 10.0
MAX_PIECE = 1 << 20
"""Limit in bytes of a decompressed piece."""
HEADERS = {
    "Accept": "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.1",
    "Accept-Encoding": "gzip, identity;q=0.5",
    "User-Agent": "Mozilla/5.0 (compatible; tandem)",
}


@dataclass(frozen=True, slots=True)
class Fetched:
    """A document in an unnamed file, which the caller closes."""

    file: BinaryIO
    known: Known


class FetchPolicy(Protocol):
    """Checks where to connect; `web_reach.WebReach` implements it."""

    async def addresses(self, host: str, port: int) -> list[str]: ...


class Web:
    """Fetches documents of at most `max_bytes`, each within `seconds`, into `spool`.

    `proxy` returns host and port of the proxy for a host, if one is used. `network` returns the transport by which it
    fetches instead, where there is a policy: that decides, and resolves the name after it has. No name is resolved here.
    """

    def __init__(
        self,
        reach: FetchPolicy,
        spool: str,
        *,
        max_bytes: int,
        seconds: float,
        proxy: Callable[[str], str | None],
        network: Callable[[ssl.SSLContext], "httpx2.AsyncBaseTransport"] | None = None,
    ) -> None:
        self._reach = reach
        self._proxy = proxy
        self._network = network
        self._spool = spool
        self._max_bytes = max_bytes
        self._seconds = seconds

    async def fetch(self, url: str) -> Fetched:
        """Fetch a document over http or https. Redirects are followed, and each is checked like the first URL.

        Raises PermissionDenied (an internal address), InvalidArgument, Conflict (an error of the other side) and
        TooLarge.
        """
        file = tempfile.TemporaryFile(dir=self._spool)  # noqa: SIM115 - the caller closes it
        try:
            async with asyncio.timeout(self._seconds):
                known = await self._follow(url, file)
        except TimeoutError:
            file.close()
            raise Conflict(f"fetching the document took more than {self._seconds:g} s", reason="timeout") from None
        except BaseException:
            file.close()
            raise
        file.seek(0)
        return Fetched(file, known)

    async def _follow(self, address: str, file: BinaryIO) -> Known:
        import httpx2  # a slow import, which few calls need

        try:
            url = _checked_url(httpx2.URL(address))
        except httpx2.InvalidURL as error:
            raise InvalidArgument(f"invalid URL: {error}", field="uri") from None
        authorities = ssl.create_default_context()
        for _ in range(MAX_REDIRECTS + 1):
            async with self._send_request(authorities, url) as response:
                if not response.has_redirect_location:
                    await self._save(response, url.host, file)
                    return _known_properties(response, url)
                url = _checked_url(url.join(response.headers["location"]))
        raise Conflict(f"{url.host} redirects more than {MAX_REDIRECTS} times", reason="redirects")

    @asynccontextmanager
    async def _send_request(self, authorities: ssl.SSLContext, url: "httpx2.URL") -> AsyncIterator["httpx2.Response"]:
        """Send the request to one of the checked addresses with the host's name, or through the proxy."""
        import httpx2

        proxy = self._proxy(url.host)
        options: dict[str, Any] = {"verify": authorities, "proxy": f"http://{proxy}" if proxy else None, "trust_env": False}
        if self._network:
            options |= {"proxy": None, "transport": self._network(authorities)}
        failure: Exception | None = None
        async with httpx2.AsyncClient(headers=HEADERS, timeout=CONNECT_SECONDS, **options) as client:
            for target in await self._targets(url, by_name=proxy is not None):
                headers = {"Host": url.netloc.decode("ascii")}
                request = client.build_request("GET", target, headers=headers, extensions={"sni_hostname": url.host})
                try:
                    response = await client.send(request, stream=True, follow_redirects=False)
                except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                    _refuse_by_policy(error)
                    failure = error
                    continue
                except httpx2.HTTPError as error:
                    raise _connection_failure(url, error) from error
                try:
                    yield response
                except httpx2.HTTPError as error:
                    raise _connection_failure(url, error) from error
                finally:
                    await response.aclose()
                return
        raise _connection_failure(url, failure) from failure

    async def _targets(self, url: "httpx2.URL", *, by_name: bool) -> "list[httpx2.URL]":
        """Return where to connect. If only an upstream proxy can resolve the name, that proxy has to check it."""
        plain = url.copy_with(fragment=None)
        if self._network:
            return [plain]
        try:
            found = await self._reach.addresses(url.host, url.port or (443 if url.scheme == "https" else 80))
        except Conflict:
            if not by_name:
                raise
            return [plain]
        return [plain] if by_name else [plain.copy_with(host=address) for address in found]

    async def _save(self, response: "httpx2.Response", host: str, file: BinaryIO) -> None:
        if response.status_code != 200:
            raise Conflict(f"{host} answered {response.status_code}", reason="status", status=response.status_code)
        written = 0
        async for piece in _decompressed_body(response, host):
            written += len(piece)
            if written > self._max_bytes:
                raise TooLarge(f"the document exceeds {self._max_bytes} bytes", limit=self._max_bytes)
            await in_thread(file.write, piece)


async def _decompressed_body(response: "httpx2.Response", host: str) -> AsyncIterator[bytes]:
    """Yield the body, decompressed in bounded pieces, so that a small body cannot fill the memory."""
    encoding = response.headers.get("content-encoding", "identity").lower()
    if encoding == "identity":
        async for piece in response.aiter_raw():
            yield piece
        return
    if encoding not in ("gzip", "x-gzip"):
        raise Conflict(f"{host} answered in an unsupported content encoding: {encoding}", reason="encoding")
    inflating = zlib.decompressobj(zlib.MAX_WBITS | 16)
    async for piece in response.aiter_raw():
        rest = piece
        while rest:
            try:
                yield inflating.decompress(rest, MAX_PIECE)
            except zlib.error as error:
                raise Conflict(f"{host} answered with invalid gzip data: {error}", reason="encoding") from None
            rest = inflating.unconsumed_tail


def _checked_url(url: "httpx2.URL") -> "httpx2.URL":
    if url.scheme not in ("http", "https"):
        raise InvalidArgument(f"only http and https are fetched, not {url.scheme or 'this'}:", field="uri")
    if not url.host or "%" in url.host or not 0 < (url.port or 80) < 65536:
        raise InvalidArgument("invalid URL: it has no host, or an invalid port", field="uri")
    return url


def _known_properties(response: "httpx2.Response", url: "httpx2.URL") -> Known:
    media_type = response.headers.get("content-type", "").partition(";")[0].strip() or None
    plain = url.copy_with(username=None, password=None, fragment=None)
    return Known(media_type, response.charset_encoding, url.path.rpartition("/")[2] or None, str(plain))


def _refuse_by_policy(error: Exception) -> None:
    """Raise PermissionDenied if the egress policy is why a connection failed."""
    from sandbox_server.drivers.clients.agent_network import EgressRefused

    cause = error.__cause__
    if isinstance(cause, EgressRefused):
        hint = INTERNAL_HINT if cause.rule == INTERNAL_RULE else "GET /v1/egress/policy says what the sandbox may reach"
        what = ": an internal address" if cause.rule in (INTERNAL_RULE, PROTECTED_RULE) else ""
        raise PermissionDenied(f"egress: {error}{what}", hint=hint, reason="egress")


def _connection_failure(url: "httpx2.URL", error: Exception | None) -> Conflict:
    return Conflict(f"{url.host} cannot be fetched from: {error or 'it has no address'}", reason="connection")
