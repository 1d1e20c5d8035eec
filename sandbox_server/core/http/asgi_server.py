"""How a process of ours serves ASGI: on a Unix socket, behind the gateway."""

import logging
from typing import Any

import uvicorn
from starlette.types import ASGIApp

SHUTDOWN_SECONDS = 3
"""How long open requests may take to end once the server is told to stop."""
IDLE_SECONDS = 75
"""An idle connection stays open this long: longer than the gateway keeps it, so that no request meets a closing one."""
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""Largest WebSocket message that is taken."""


def serve_on(socket_path: str, app: ASGIApp, **others: Any) -> None:
    """Serve until told to stop. The gateway logs requests and says who asks, so neither is done again here.

    `others` are options of uvicorn that this process needs otherwise.
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
    """Leave out what uvicorn says of each WebSocket that was answered with a refusal, as if it had not been answered at all."""
    return record.msg != "ASGI callable returned without completing handshake."
