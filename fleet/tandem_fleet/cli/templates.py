"""Commands of templates."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tandem_fleet.cli import spec_options
from tandem_fleet.cli.connection import connected
from tandem_fleet.cli.output import Verbs, say
from tandem_fleet.errors import InvalidError
from tandem_fleet.settings import Settings


def add(verbs: Verbs) -> None:
    """Their arguments."""
    group = verbs.add_parser("template", help="keep what sandboxes are made of under a name")
    kinds = group.add_subparsers(dest="kind", required=True, metavar="COMMAND")
    putting = kinds.add_parser("put", help="keep a template, or a new version of it")
    putting.add_argument("name")
    putting.add_argument("--file", help="a JSON file that says all of it; - is standard input")
    spec_options.add(putting)
    putting.add_argument("--egress", metavar="FILE", help="the network policy: a JSON file")
    putting.add_argument("--pool", metavar="MIN:MAX", help="how many wait, started, for who asks for one")
    putting.add_argument("--shared", action="store_true", help="let every tenant use it")
    putting.set_defaults(run=put)
    listing = kinds.add_parser("ls", help="list the templates")
    listing.add_argument("--json", action="store_true", help="for programs")
    listing.set_defaults(run=ls)
    showing = kinds.add_parser("show", help="print one as JSON: NAME, or NAME@VERSION")
    showing.add_argument("name")
    showing.set_defaults(run=show)
    waiting = kinds.add_parser("pools", help="say how many wait, started, of each template")
    waiting.set_defaults(run=pools)
    removing = kinds.add_parser("rm", help="forget templates; sandboxes of them stay")
    removing.add_argument("names", nargs="+", metavar="NAME")
    removing.add_argument("--shared", action="store_true", help="of those that every tenant may use")
    removing.set_defaults(run=rm)


async def put(options: argparse.Namespace, settings: Settings) -> int:
    """Keep a template."""
    content = (_json(options.file) if options.file else {}) | spec_options.read(options)
    if options.egress:
        content["egress"] = _json(options.egress)
    if options.pool:
        content["pool"] = _pool(options.pool)
    async with connected(settings) as service:
        made = await service.call("PUT", f"/v1/templates/{options.name}", content, shared=options.shared)
    sys.stdout.write(f"{made['name']}@{made['version']}\n")
    say(f"use it: tandem up --template {made['name']}")
    return 0


def _json(file: str) -> dict[str, Any]:
    try:
        read = json.loads(sys.stdin.read() if file == "-" else Path(file).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidError(f"cannot read {file}: {error}") from error
    if not isinstance(read, dict):
        raise InvalidError(f"{file} is no JSON object")
    return read


def _pool(words: str) -> dict[str, int]:
    least, colon, most = words.partition(":")
    try:
        return {"min": int(least), "max": int(most if colon else least)}
    except ValueError as error:
        raise InvalidError(f"{words!r} is not MIN:MAX") from error


async def ls(options: argparse.Namespace, settings: Settings) -> int:
    """List the templates."""
    found: list[Any] = []
    async with connected(settings) as service:
        cursor: int | None = 0
        while cursor is not None:
            page = await service.call("GET", "/v1/templates", cursor=cursor, limit=1000)
            found += page["templates"]
            cursor = page["next_cursor"]
    for one in found:
        shared = "  shared" if one["shared"] else ""
        line = json.dumps(one) if options.json else f"{one['name']}@{one['version']}  {one['content']['image']}{shared}"
        sys.stdout.write(f"{line}\n")
    return 0


async def pools(options: argparse.Namespace, settings: Settings) -> int:
    """Say how many wait, started, of each template."""
    async with connected(settings) as service:
        found = await service.call("GET", "/v1/pools")
    for one in found["pools"]:
        failed = f"; {one['failures']} starts in a row failed: {one['reason']}" if one["failures"] else ""
        sys.stdout.write(f"{one['template']}  {one['ready']} ready, {one['starting']} starting, {one['wanted']} wanted{failed}\n")
    return 0


async def show(options: argparse.Namespace, settings: Settings) -> int:
    """Print a template."""
    async with connected(settings) as service:
        sys.stdout.write(f"{json.dumps(await service.call('GET', f'/v1/templates/{options.name}'), indent=2)}\n")
    return 0


async def rm(options: argparse.Namespace, settings: Settings) -> int:
    """Forget templates."""
    async with connected(settings) as service:
        for name in options.names:
            await service.call("DELETE", f"/v1/templates/{name}", shared=options.shared)
            say(f"{name}: forgotten")
    return 0
