"""A store in a bucket of S3, or of a server that speaks its protocol.

https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html: `If-None-Match: *` makes an object that is not there yet. A server
that does not know it replaces the object, so a made object is read back.
"""

import hashlib
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from sandbox_server.core.tasks import in_thread
from sandbox_server.drivers.egress.aws_signature import AwsAuthorization, sign
from sandbox_server.drivers.folders.http_calls import answer_of, pieces_of, save
from sandbox_server.drivers.folders.version import DamagedError, StoreAwayError

if TYPE_CHECKING:
    import httpx2

MAX_LIST_BYTES = 1 << 20
NAMES = 100
EMPTY = hashlib.sha256(b"").hexdigest()
NOT_THERE = 404
EXISTS = (409, 412)
_KEY = re.compile(rb"<Key>([A-Za-z0-9._/-]{1,1200})</Key>")
"""What we name has no character that XML would write otherwise."""


@dataclass(frozen=True, slots=True)
class S3Access:
    """Where the server is, and the credentials for it."""

    endpoint: str
    region: str
    key: str
    secret: str
    session: str = ""

    def __repr__(self) -> str:
        return f"S3Access({self.endpoint!r})"


class S3Store:
    """Objects below a prefix of a bucket, which must exist. `prefix` has no slash at its ends."""

    def __init__(self, access: S3Access, bucket: str, prefix: str, clock: Callable[[], float] = time.time) -> None:
        self._access = access
        address = urlsplit(access.endpoint)
        self._host = address.netloc
        self._endpoint = f"{address.scheme}://{address.netloc}"
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        self._clock = clock

    async def first(self, prefix: str) -> list[str]:
        """Return the first names that begin with a prefix."""
        asked = {"list-type": "2", "max-keys": str(NAMES), "prefix": self._prefix + prefix}
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in sorted(asked.items()))
        async with self._request("GET", f"/{self._bucket}", query=query) as answer:
            self._check(answer)
            content = await _bounded(answer, MAX_LIST_BYTES, "the list")
        keys = [found.decode("ascii") for found in _KEY.findall(content)]
        return [key.removeprefix(self._prefix) for key in keys if key.startswith(self._prefix)]

    async def read(self, key: str, limit: int) -> bytes | None:
        """Return a small object; None if there is none."""
        async with self._request("GET", self._target(key)) as answer:
            if answer.status_code == NOT_THERE:
                return None
            self._check(answer)
            return await _bounded(answer, limit, key)

    async def create(self, key: str, content: bytes) -> bool:
        """Make a small object; False if there is one of that name."""
        digest, more = hashlib.sha256(content).hexdigest(), {"if-none-match": "*", "content-length": str(len(content))}
        async with self._request("PUT", self._target(key), digest=digest, more=more, content=_one(content)) as answer:
            if answer.status_code in EXISTS:
                return False
            self._check(answer)
        return await self.read(key, len(content)) == content

    async def upload(self, key: str, path: str, digest: str) -> None:
        """Make an object of a file whose SHA-256 is `digest`, which the server checks."""
        with await in_thread(open, path, "rb") as file:
            more = {"content-length": str(file.seek(0, 2))}
            file.seek(0)

            async with self._request("PUT", self._target(key), digest=digest, more=more, content=pieces_of(file)) as answer:
                self._check(answer)

    async def download(self, key: str, path: str, limit: int) -> None:
        """Write an object to a new file."""
        async with self._request("GET", self._target(key)) as answer:
            if answer.status_code == NOT_THERE:
                raise DamagedError(f"{key} is missing")
            self._check(answer)
            await save(answer, path, limit, key)

    def _target(self, key: str) -> str:
        return f"/{self._bucket}/{self._prefix}{key}"

    @asynccontextmanager
    async def _request(
        self,
        method: str,
        target: str,
        *,
        query: str = "",
        digest: str = EMPTY,
        more: Mapping[str, str] | None = None,
        content: AsyncIterator[bytes] | None = None,
    ) -> AsyncIterator["httpx2.Response"]:
        """Send a signed request, and yield its answer."""
        whole = f"{target}?{query}" if query else target
        headers = self._signed(method, whole, digest) | dict(more or {})
        async with answer_of(method, self._endpoint + whole, headers, content) as answer:
            yield answer

    def _signed(self, method: str, target: str, digest: str) -> dict[str, str]:
        at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self._clock()))
        headers = {
            "host": self._host,
            "x-amz-content-sha256": digest,
            "x-amz-date": at,
            **({"x-amz-security-token": self._access.session} if self._access.session else {}),
        }
        signed = AwsAuthorization(self._access.key, f"{at[:8]}/{self._access.region}/s3/aws4_request", tuple(headers), "")
        fields = [(name.encode(), value.encode()) for name, value in headers.items()]
        signature = sign(self._access.secret, method, target.encode(), fields, signed, digest)
        return {**headers, "accept-encoding": "identity", "authorization": signed.text(signature).decode("ascii")}

    def _check(self, answer: "httpx2.Response") -> None:
        if answer.status_code == NOT_THERE:
            raise StoreAwayError(f"the store has no bucket {self._bucket}")
        if answer.status_code != 200:
            raise StoreAwayError(f"the store answered {answer.status_code}")


async def _one(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def _bounded(answer: "httpx2.Response", limit: int, what: str) -> bytes:
    content = b""
    async for piece in answer.aiter_raw():
        content += piece
        if len(content) > limit:
            raise DamagedError(f"{what} has more than {limit} bytes")
    return content
