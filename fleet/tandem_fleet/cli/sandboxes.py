"""Commands that make, list, change and remove sandboxes."""

import argparse
import asyncio
import json
import sys
import time
from datetime import UTC, datetime
from typing import Any

from tandem_fleet.cli import spec_options
from tandem_fleet.cli.connection import Connection, connected
from tandem_fleet.cli.output import Verbs, say, table
from tandem_fleet.errors import SandboxFailedError
from tandem_fleet.settings import Settings

POLL_SECONDS = 0.1
ENDS = ("ready", "paused", "stopped", "failed")
"""States in which nothing goes on."""


def add(verbs: Verbs) -> None:
    """Their arguments."""
    _add_up(verbs)
    listing = verbs.add_parser("ps", help="list the sandboxes")
    listing.add_argument("--json", action="store_true", help="for programs")
    listing.set_defaults(run=ps)
    for name, said in (("start", "start"), ("resume", "let go on"), ("pause", "halt in memory"), ("stop", "end, and keep the files of")):
        _add_order(verbs, name, f"{said} sandboxes")
    _add_order(verbs, "rm", "end sandboxes and remove their files")


def _add_up(verbs: Verbs) -> None:
    making = verbs.add_parser("up", help="make a sandbox, or start the one of that name")
    making.add_argument("name", nargs="?", help="what it is called; an id unless said otherwise")
    making.add_argument("--template", help="the template that says what is not said here: NAME, or NAME@VERSION")
    spec_options.add(making)
    making.add_argument("--no-wait", dest="wait", action="store_false", help="do not wait until it is ready")
    making.add_argument("--json", action="store_true", help="print it whole, for programs")
    making.set_defaults(run=up)


def _add_order(verbs: Verbs, name: str, said: str) -> None:
    one = verbs.add_parser(name, help=said)
    one.add_argument("names", nargs="+", metavar="NAME")
    one.set_defaults(run=order)


async def up(options: argparse.Namespace, settings: Settings) -> int:
    """Make a sandbox, or start the one of that name, and say how to reach it."""
    async with connected(settings) as service:
        begun = time.monotonic()
        sandbox = await existing(service, options.name)
        if sandbox is None:
            sandbox = await service.call("POST", "/v1/sandboxes", _spec(options))
        elif sandbox["state"] != "ready":
            sandbox = await service.call("POST", f"/v1/sandboxes/{sandbox['id']}/start")
        if options.wait:
            sandbox = await follow(service, sandbox, begun)
        if options.json:
            sys.stdout.write(f"{json.dumps(sandbox)}\n")
        else:
            sys.stdout.write(f"{sandbox['name']}\n")
            say(f"open it: tandem open {sandbox['name']}; run in it: tandem exec {sandbox['name']} -- uname -a")
    return 0


async def existing(service: Connection, name: str | None) -> Any:
    """The sandbox of that name or id; None where there is none."""
    if name is None:
        return None
    listed = await all_of(service)
    return next((one for one in listed if name in (one["name"], one["id"])), None)


def _spec(options: argparse.Namespace) -> dict[str, Any]:
    return spec_options.read(options) | {name: value for name in ("name", "template") if (value := getattr(options, name)) is not None}


async def follow(service: Connection, sandbox: Any, begun: float) -> Any:
    """Say each state that it passes, until it is what it shall be. Raises `SandboxFailedError`."""
    said = sandbox["state"] if sandbox["state"] in ENDS else ""
    while True:
        state, desired = sandbox["state"], sandbox["desired"]
        if state == "failed" and desired != "deleted":
            raise SandboxFailedError(f"{sandbox['name']}: {sandbox['reason']}")
        done = state == desired or (state, desired) == ("ready", "running")
        if done or state != said:
            said = state
            say(f"{sandbox['name']}: {said}, {time.monotonic() - begun:.1f} s")
        if done:
            return sandbox
        await asyncio.sleep(POLL_SECONDS)
        sandbox = await service.call("GET", f"/v1/sandboxes/{sandbox['id']}") if desired != "deleted" else await _gone(service, sandbox)


async def _gone(service: Connection, sandbox: Any) -> Any:
    listed = await existing(service, sandbox["id"])
    return listed or sandbox | {"state": "deleted"}


async def all_of(service: Connection) -> list[Any]:
    """All sandboxes."""
    found: list[Any] = []
    cursor: int | None = 0
    while cursor is not None:
        page = await service.call("GET", "/v1/sandboxes", cursor=cursor, limit=1000)
        found += page["sandboxes"]
        cursor = page["next_cursor"]
    return found


async def ps(options: argparse.Namespace, settings: Settings) -> int:
    """List the sandboxes."""
    async with connected(settings) as service:
        listed = await all_of(service)
    if options.json:
        sys.stdout.writelines(f"{json.dumps(one)}\n" for one in listed)
        return 0
    rows = [("NAME", "STATE", "AGE", "IMAGE", "ADDRESS")]
    rows += [(one["name"], _state(one), _age(one["created_at"]), one["spec"]["image"], one["address"]) for one in listed]
    table(rows)
    return 0


def _state(sandbox: Any) -> str:
    return f"{sandbox['state']} ({sandbox['reason']})" if sandbox["reason"] else str(sandbox["state"])


def _age(created: str) -> str:
    seconds = (datetime.now(UTC) - datetime.fromisoformat(created)).total_seconds()
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


async def order(options: argparse.Namespace, settings: Settings) -> int:
    """Start, stop, pause, resume or remove sandboxes, and wait until it is so."""
    async with connected(settings) as service:
        for name in options.names:
            begun = time.monotonic()
            if options.command == "rm":
                sandbox = await service.call("DELETE", f"/v1/sandboxes/{name}")
            else:
                sandbox = await service.call("POST", f"/v1/sandboxes/{name}/{options.command}")
            await follow(service, sandbox, begun)
    return 0
