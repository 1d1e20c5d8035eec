"""HTTP with sandboxes, none of which is trusted.

No cookie of one reaches another, and no redirect is followed.
"""

import asyncio
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx2

from tandem_fleet.trace_context import TRACE


def sandbox_http(**settings: Any) -> httpx2.AsyncClient:
    """A client of many sandboxes, with further settings of httpx2's. They share a host, by which cookies go, so it keeps none.

    A call is of the trace of the request that it is made for.
    """
    return httpx2.AsyncClient(trust_env=False, follow_redirects=False, cookies=no_cookies(), event_hooks={"request": [_trace]}, **settings)


def no_cookies() -> CookieJar:
    """What a client keeps cookies in that keeps none."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=()))


async def _trace(request: httpx2.Request) -> None:
    if context := TRACE.get():
        request.headers.update(context.headers)


async def says_ready(http: httpx2.AsyncClient, address: str, seconds: float) -> bool:
    """Whether a sandbox says within some seconds that it is ready. Of its answer no more than the status is read."""
    try:
        async with asyncio.timeout(seconds), http.stream("GET", f"{address}/readyz") as response:
            return response.status_code == 200
    except (httpx2.HTTPError, TimeoutError):
        return False
