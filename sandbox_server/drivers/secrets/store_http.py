"""Requests to stores of secrets: bounded, without redirects, and with errors that repeat nothing of an answer."""

import json
import ssl
from collections.abc import Mapping
from typing import Any

from sandbox_server.drivers.secrets.sources import ValueUnavailable

SECONDS = 10.0
MAX_ANSWER = 1 << 20
"""Limit in bytes of an answer: an item of 1Password has all its fields in it."""


async def ask(method: str, url: str, headers: Mapping[str, str], body: bytes = b"") -> Any:
    """Send a request and return the JSON of its answer. Raises ValueUnavailable."""
    import httpx2  # a slow import, which few sandboxes need

    authorities = ssl.create_default_context()
    try:
        async with (
            httpx2.AsyncClient(timeout=SECONDS, follow_redirects=False, trust_env=False, verify=authorities) as client,
            client.stream(method, url, headers=dict(headers), content=body) as answer,
        ):
            content = b""
            async for piece in answer.aiter_bytes():
                content += piece
                if len(content) > MAX_ANSWER:
                    raise ValueUnavailable(f"the store's answer is larger than {MAX_ANSWER} bytes")
    except httpx2.InvalidURL:
        raise ValueUnavailable("the store's address is no URL") from None
    except httpx2.HTTPError as error:
        raise ValueUnavailable(f"the store does not answer: {type(error).__name__}") from None
    if answer.status_code != 200:
        raise ValueUnavailable(f"the store answered {answer.status_code}")
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise ValueUnavailable("the store's answer is not JSON") from None


def text_at(document: Any, *names: str) -> str:
    """Return a text within an answer. Raises ValueUnavailable, which names what is missing."""
    found = document
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
    if not isinstance(found, str):
        raise ValueUnavailable(f"the store's answer has no text {'.'.join(names)}")
    return found
