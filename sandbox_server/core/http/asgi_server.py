"""Serves an ASGI application on a Unix socket behind the gateway."""

import asyncio
import logging
from typing import Any

import uvicorn
from starlette.types import ASGIApp

SHUTDOWN_SECONDS = 3
"""Seconds for open requests to end after the server is told to stop."""
IDLE_SECONDS = 75
"""Seconds that an idle connection stays open: longer than the gateway keeps it, so that no request meets a closing one."""
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""Limit in bytes of a WebSocket message."""


def serve_on(socket_path: str, app: ASGIApp, **others: Any) -> None:
    """Serve until told to stop. The gateway logs and authenticates requests, so uvicorn does neither.

    `others` are further options of uvicorn.
    """
    options: dict[str, Any] = {
        "loop": "uvloop",
        "http": "httptools",
        "ws": "websockets-sansio",
        "ws_max_size": MAX_MESSAGE_BYTES,
        "log_config": None,
        "access_log": False,
        "proxy_headers": False,
        "server_header": False,
        "timeout_keep_alive": IDLE_SECONDS,
        "timeout_graceful_shutdown": SHUTDOWN_SECONDS,
    }
    logging.getLogger("uvicorn.error").addFilter(is_news)
    uvicorn.Server(uvicorn.Config(app, uds=socket_path, **(options | others))).run()


def is_news(record: logging.LogRecord) -> bool:
    """Return False for uvicorn's message about each WebSocket that was refused with a response, and each request that its end cut off."""
    cut_off = record.exc_info is not None and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not cut_off and record.msg != "ASGI callable returned without completing handshake."
