"""Commands of snapshots and forks."""

import argparse
import asyncio
import json
import sys
import time
from typing import Any

from tandem_fleet.cli.connection import Connection, connected
from tandem_fleet.cli.output import Verbs, say
from tandem_fleet.cli.sandboxes import POLL_SECONDS, follow
from tandem_fleet.errors import SandboxFailedError
from tandem_fleet.settings import Settings


def add(verbs: Verbs) -> None:
    """Their arguments."""
    keeping = verbs.add_parser("snapshot", help="keep the files of a sandbox")
    keeping.add_argument("name")
    keeping.add_argument("label", nargs="?", default="", help="a word for whoever reads the list")
    keeping.set_defaults(run=snapshot)
    group = verbs.add_parser("snapshots", help="list, restore and remove what was kept")
    kinds = group.add_subparsers(dest="kind", required=True, metavar="COMMAND")
    listing = kinds.add_parser("ls", help="list the snapshots")
    listing.add_argument("--json", action="store_true", help="for programs")
    listing.set_defaults(run=ls)
    restoring = kinds.add_parser("restore", help="make a sandbox with the files of a snapshot")
    restoring.add_argument("snapshot", metavar="ID")
    restoring.add_argument("name", nargs="?", help="what it is called; an id unless said otherwise")
    restoring.set_defaults(run=restore)
    removing = kinds.add_parser("rm", help="remove snapshots; sandboxes of them stay")
    removing.add_argument("snapshots", nargs="+", metavar="ID")
    removing.set_defaults(run=rm)
    forking = verbs.add_parser("fork", help="make sandboxes with the files that one has now")
    forking.add_argument("name")
    forking.add_argument("-n", "--count", type=int, default=1, help="how many (1)")
    forking.set_defaults(run=fork)


async def snapshot(options: argparse.Namespace, settings: Settings) -> int:
    """Keep the files of a sandbox."""
    async with connected(settings) as service:
        begun = time.monotonic()
        made = await service.call("POST", f"/v1/sandboxes/{options.name}/snapshots", {"label": options.label})
        say(f"{made['id']}: making, {time.monotonic() - begun:.1f} s")
        while made["state"] == "making":
            await asyncio.sleep(POLL_SECONDS)
            made = await service.call("GET", f"/v1/snapshots/{made['id']}")
        if made["state"] == "failed":
            raise SandboxFailedError(f"{made['id']}: {made['reason']}")
        say(f"{made['id']}: ready, {made['bytes'] / 1e6:.1f} MB, {time.monotonic() - begun:.1f} s")
    sys.stdout.write(f"{made['id']}\n")
    return 0


async def ls(options: argparse.Namespace, settings: Settings) -> int:
    """List the snapshots."""
    found: list[Any] = []
    async with connected(settings) as service:
        cursor: int | None = 0
        while cursor is not None:
            page = await service.call("GET", "/v1/snapshots", cursor=cursor, limit=1000)
            found += page["snapshots"]
            cursor = page["next_cursor"]
    for one in found:
        line = f"{one['id']}  {one['state']}  {one['bytes'] / 1e6:.1f} MB  {one['created_at']}  {one['label']}"
        sys.stdout.write(f"{json.dumps(one) if options.json else line.rstrip()}\n")
    return 0


async def restore(options: argparse.Namespace, settings: Settings) -> int:
    """Make a sandbox with the files of a snapshot."""
    async with connected(settings) as service:
        begun = time.monotonic()
        made = await service.call("POST", f"/v1/snapshots/{options.snapshot}/restore", {"name": options.name})
        await follow(service, made, begun)
    sys.stdout.write(f"{made['name']}\n")
    return 0


async def rm(options: argparse.Namespace, settings: Settings) -> int:
    """Remove snapshots."""
    async with connected(settings) as service:
        for one in options.snapshots:
            await service.call("DELETE", f"/v1/snapshots/{one}")
            say(f"{one}: removed")
    return 0


async def fork(options: argparse.Namespace, settings: Settings) -> int:
    """Make sandboxes with the files that one has now."""
    async with connected(settings) as service:
        begun = time.monotonic()
        made = await service.call("POST", f"/v1/sandboxes/{options.name}/fork", {"count": options.count})
        await _follow_all(service, made["sandboxes"], begun)
    sys.stdout.writelines(f"{one['name']}\n" for one in made["sandboxes"])
    return 0


async def _follow_all(service: Connection, made: list[Any], begun: float) -> None:
    ended = await asyncio.gather(*(follow(service, one, begun) for one in made), return_exceptions=True)
    if failed := [error for error in ended if isinstance(error, BaseException)]:
        raise failed[0]
