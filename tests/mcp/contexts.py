"""Request contexts of clients without a connection."""

from typing import Any

from mcp_types import ClientCapabilities
from starlette.requests import Request


class Session:
    """The session of a request."""

    def __init__(self, capabilities: ClientCapabilities | None) -> None:
        self.client_capabilities = capabilities
        self.can_send_request = True
        self.progress: list[float] = []

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Record it."""
        self.progress.append(progress)


class Requested:
    """One request of a caller."""

    def __init__(
        self, caller: str = "test", version: str = "2026-07-28", capabilities: ClientCapabilities | None = None, **headers: str
    ) -> None:
        named = {"x-sandbox-caller": caller, **{name.replace("_", "-"): value for name, value in headers.items()}}
        raw = [(name.encode(), value.encode()) for name, value in named.items()]
        self.request = Request({"type": "http", "method": "POST", "headers": raw, "query_string": b"", "path": "/mcp"})
        self.meta: dict[str, Any] = {}
        self.protocol_version = version
        self.session = Session(capabilities)
        self.request_id = 1
