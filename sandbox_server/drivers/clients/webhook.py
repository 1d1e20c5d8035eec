"""Posts a message to a URL in the settings."""

import asyncio
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

TIMEOUT = 10.0
SENDERS = ThreadPoolExecutor(8, "senders")
"""Threads that wait for the hosts of the settings: more than there are channels, each of which sends one message at a time."""


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """The result: a status, or the reason why there is none."""

    status: int | None
    error: str | None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object, **__: object) -> None:
        return None


async def post(url: str, body: bytes, headers: dict[str, str]) -> DeliveryResult:
    """Post once. Redirects are not followed. Errors are returned, not raised."""
    return await asyncio.get_running_loop().run_in_executor(SENDERS, _post, url, body, headers)


def _post(url: str, body: bytes, headers: dict[str, str]) -> DeliveryResult:
    try:
        request = urllib.request.Request(url, body, headers, method="POST")
        with urllib.request.build_opener(_NoRedirects).open(request, timeout=TIMEOUT) as response:
            return DeliveryResult(response.status, None)
    except urllib.error.HTTPError as error:
        with error:
            return DeliveryResult(error.code, str(error.reason)[:200])
    except (OSError, ValueError) as error:
        return DeliveryResult(None, str(getattr(error, "reason", error))[:200])
