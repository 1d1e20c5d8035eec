"""Serves the gateway of a fleet: Caddy for clients, and for Caddy the fleet's answers on a socket of its own."""

import contextlib
import secrets
import socket
from collections.abc import AsyncIterator
from pathlib import Path

from tandem_fleet.api.listeners import answering, bind, listen
from tandem_fleet.fleet import Fleet
from tandem_fleet.gateway.addresses import Addresses
from tandem_fleet.gateway.authorization import Authorization
from tandem_fleet.gateway.caddy import Caddy
from tandem_fleet.gateway.caddy_config import Listening, configuration
from tandem_fleet.gateway.credentials import Credentials
from tandem_fleet.gateway.settings import GatewaySettings
from tandem_fleet.gateway.waking import Waking


@contextlib.asynccontextmanager
async def serving(
    fleet: Fleet, settings: GatewaySettings, addresses: Addresses, listener: socket.socket, folder: Path
) -> AsyncIterator[Caddy]:
    """Serve a fleet's sandboxes at one address until the block ends.

    `listener` is open before Caddy runs and while it is started again. `folder` is the gateway's own.
    """
    program = settings.program()
    path = _folder(folder) / "fleet.sock"
    async with contextlib.AsyncExitStack() as stack:
        inner = stack.enter_context(listen("127.0.0.1", 0))
        waking = Waking(fleet, settings.wait)
        stack.callback(path.unlink, missing_ok=True)
        questions = Authorization(waking, addresses, Credentials(fleet.key, addresses.is_encrypted)).app
        await stack.enter_async_context(answering([(questions, bind(path))]))
        stack.push_async_callback(waking.close)
        listening = Listening(
            public=f"fd/{listener.fileno()}",
            port=listener.getsockname()[1],
            certificates=settings.certificates,
            questions=f"fd/{inner.fileno()}",
            question=f"http://127.0.0.1:{inner.getsockname()[1]}/{secrets.token_urlsafe(24)}",
            scheme="https" if addresses.is_encrypted else "http",
            proxies=settings.proxies,
        )
        caddy = Caddy(program, configuration(listening, path, folder / "storage"), folder, (listener.fileno(), inner.fileno()))
        yield await stack.enter_async_context(caddy.running())


def _folder(path: Path) -> Path:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path
