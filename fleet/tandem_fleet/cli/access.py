"""Commands that get into a sandbox."""

import argparse
import getpass
import json
import shlex
import sys
import webbrowser
from typing import Any

import httpx2

from tandem_fleet.cli import remote_command
from tandem_fleet.cli.connection import Connection, connected
from tandem_fleet.cli.output import Verbs
from tandem_fleet.errors import FleetError, InvalidError, SandboxFailedError
from tandem_fleet.scopes import SCOPES
from tandem_fleet.settings import Settings

WAKE_SECONDS = 330.0
"""Longer than a gateway waits for a sandbox."""


def add(verbs: Verbs) -> None:
    """Their arguments."""
    page = verbs.add_parser("open", help="open a sandbox in the browser, or the page with all of them")
    page.add_argument("name", nargs="?", help="the sandbox; all of them unless said otherwise")
    page.add_argument("--as", dest="person", default=getpass.getuser(), help="what you are called on that page (%(default)s)")
    page.add_argument("--print", action="store_true", help="print the link, which works once within half a minute, and open nothing")
    page.set_defaults(run=open_page)
    running = verbs.add_parser("exec", help="run a command in a sandbox")
    running.add_argument("name")
    running.add_argument("--cwd", help="where (the workspace)")
    running.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="a program with its arguments, or one word that bash reads"
    )
    running.set_defaults(run=execute)
    making = verbs.add_parser("token", help="print a token that opens one sandbox")
    making.add_argument("name")
    making.add_argument("--scope", action="append", help="what it allows (view); may be repeated")
    making.add_argument("--seconds", type=int, default=900, help="when it ends (900)")
    making.add_argument("--json", action="store_true", help="with the sandbox's address")
    making.set_defaults(run=token)
    output = verbs.add_parser("logs", help="print what a sandbox's programs wrote")
    output.add_argument("name")
    output.add_argument("--lines", type=int, default=1000)
    output.add_argument("--follow", action="store_true", help="go on")
    output.set_defaults(run=logs)


async def open_page(options: argparse.Namespace, settings: Settings) -> int:
    """Print a link that signs a browser in, once, and open it."""
    async with connected(settings) as service:
        if options.name is None:
            return _show(await _wall_link(service, options.person, settings), options)
        made = await _token(service, options.name, sorted(SCOPES))
    place = made["url"] or made["address"]
    try:
        async with remote_command.client(WAKE_SECONDS) as http:
            answer = await http.post(f"{place}/tickets", json={}, headers={"Authorization": f"Bearer {made['token']}"})
    except httpx2.HTTPError as error:
        raise SandboxFailedError(f"{place} does not answer: {error or type(error).__name__}") from error
    if answer.status_code != 200:
        raise FleetError(f"the sandbox answered {answer.status_code} and gave no ticket")
    return _show(f"{place}/?ticket={answer.json()['ticket']}", options)


async def _wall_link(service: Connection, person: str, settings: Settings) -> str:
    made = await service.call("POST", "/v1/tickets", {"person": person})
    if settings.url:
        return f"{settings.url}/?ticket={made['ticket']}"
    if not made["link"]:
        raise FleetError("the page is there as long as tandem serve runs: start that first")
    return str(made["link"])


def _show(link: str, options: argparse.Namespace) -> int:
    sys.stdout.write(f"{link}\n")
    if not options.print:
        webbrowser.open(link)
    return 0


async def _token(service: Connection, name: str, scopes: list[str], seconds: int = 900) -> Any:
    made = await service.call("PUT", f"/v1/sandboxes/{name}/token", {"scopes": scopes, "seconds": seconds})
    if made["state"] != "ready" and not made["url"]:
        order = "resume" if made["state"] == "paused" else "start"
        raise SandboxFailedError(f"{name} is {made['state']}: tandem {order} {name}")
    return made


async def execute(options: argparse.Namespace, settings: Settings) -> int:
    """Run a command in a sandbox; its exit code is ours."""
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    if not words:
        raise InvalidError("which command? tandem exec NAME -- COMMAND")
    async with connected(settings) as service:
        made = await _token(service, options.name, ["shell"], seconds=86_400)
    command = words[0] if len(words) == 1 else shlex.join(words)
    return await remote_command.run(made["url"] or made["address"], made["token"], command, options.cwd)


async def token(options: argparse.Namespace, settings: Settings) -> int:
    """Print a token that opens one sandbox, and where."""
    async with connected(settings) as service:
        made = await service.call(
            "PUT", f"/v1/sandboxes/{options.name}/token", {"scopes": options.scope or ["view"], "seconds": options.seconds}
        )
    sys.stdout.write(f"{json.dumps(made)}\n" if options.json else f"{made['token']}\n")
    return 0


async def logs(options: argparse.Namespace, settings: Settings) -> int:
    """Print what a sandbox's programs wrote on the container's output."""
    async with connected(settings) as service:
        async for line in service.lines(f"/v1/sandboxes/{options.name}/logs", lines=options.lines, follow=options.follow):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    return 0
