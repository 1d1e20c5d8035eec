"""Commands of who operates a fleet."""

import argparse
import asyncio
import contextlib
import json
import os
import secrets
import signal
import sys

from tandem_fleet.cli.connection import connected
from tandem_fleet.cli.output import Verbs, say
from tandem_fleet.gateway.settings import DEFAULT_LISTEN, GatewaySettings
from tandem_fleet.logs import configure
from tandem_fleet.settings import Settings


def add(verbs: Verbs) -> None:
    """Their arguments."""
    health = verbs.add_parser("doctor", help="say whether engine and store can do what sandboxes need")
    health.add_argument("--json", action="store_true", help="for programs")
    health.set_defaults(run=doctor)
    service = verbs.add_parser("serve", help="serve the API, and keep sandboxes as they shall be")
    service.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    service.add_argument("--port", type=int, default=7700, help="port to listen on (7700)")
    service.add_argument(
        "--gateway",
        nargs="?",
        const=DEFAULT_LISTEN,
        metavar="ADDRESS:PORT",
        help=f"serve all sandboxes at one address ({DEFAULT_LISTEN}; TANDEM_GATEWAY)",
    )
    service.add_argument("--log", choices=("text", "json"), default="text", help="how the log is written (text)")
    service.set_defaults(run=serve)


async def doctor(options: argparse.Namespace, settings: Settings) -> int:
    """Say whether engine and store can do what sandboxes need; exits with 1 where something is missing."""
    async with connected(settings) as service:
        told = await service.call("GET", "/v1/doctor")
    if options.json:
        sys.stdout.write(f"{json.dumps(told)}\n")
    for one in () if options.json else told["findings"]:
        hint = f"  ({one['hint']})" if one["hint"] and not one["holds"] else ""
        sys.stdout.write(f"{'ok  ' if one['holds'] else 'LOST'}  {one['name']}: {one['detail']}{hint}\n")
    return 0 if told["holds"] else 1


async def serve(options: argparse.Namespace, settings: Settings) -> int:
    """Serve the fleet until SIGTERM or SIGINT."""
    from tandem_fleet.api.service import serving  # slow, and most commands call a service that runs

    configure(options.log)
    key = settings.key or _kept_key(settings)
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    listen = options.gateway or os.environ.get("TANDEM_GATEWAY", "")
    gateway = GatewaySettings.of(os.environ, listen) if listen else None
    async with serving(settings, host=options.host, port=options.port, key=key, gateway=gateway) as served:
        say(f"the fleet {settings.fleet!r} answers at http://{options.host}:{served.port}; its key is in {settings.state / 'key'}")
        if served.addresses:
            say(f"its sandboxes are at {served.addresses.url('<id>')}")
        await ended.wait()
        say("ending; sandboxes go on")
    return 0


def _kept_key(settings: Settings) -> str:
    """The service's key, which is made once."""
    path = settings.state / "key"
    settings.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError), open(path, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(secrets.token_urlsafe(32))
    return path.read_text("utf-8").strip()
