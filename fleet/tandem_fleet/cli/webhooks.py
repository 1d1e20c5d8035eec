"""Commands of webhooks."""

import argparse
import json
import sys

from tandem_fleet.cli.connection import connected
from tandem_fleet.cli.output import Verbs, say
from tandem_fleet.settings import Settings


def add(verbs: Verbs) -> None:
    """Their arguments."""
    group = verbs.add_parser("webhook", help="send what becomes of sandboxes to a URL")
    kinds = group.add_subparsers(dest="kind", required=True, metavar="COMMAND")
    adding = kinds.add_parser("add", help="send it there from now on, and print the secret that signs it")
    adding.add_argument("url")
    adding.add_argument("--type", action="append", default=[], help="an event, as sandbox.ready (all); may be repeated")
    adding.set_defaults(run=add_webhook)
    listing = kinds.add_parser("ls", help="list where it is sent")
    listing.set_defaults(run=ls)
    enabling = kinds.add_parser("enable", help="begin again with one that failed")
    enabling.add_argument("webhook", metavar="ID")
    enabling.set_defaults(run=enable)
    removing = kinds.add_parser("rm", help="send nothing there any more")
    removing.add_argument("webhook", metavar="ID")
    removing.set_defaults(run=rm)


async def add_webhook(options: argparse.Namespace, settings: Settings) -> int:
    """Add a webhook."""
    async with connected(settings) as service:
        made = await service.call("POST", "/v1/webhooks", {"url": options.url, "types": options.type})
    sys.stdout.write(f"{made['id']}  {made['secret']}\n")
    say("the secret is not shown again")
    return 0


async def ls(options: argparse.Namespace, settings: Settings) -> int:
    """List the webhooks."""
    async with connected(settings) as service:
        found = await service.call("GET", "/v1/webhooks")
    sys.stdout.writelines(f"{json.dumps(one)}\n" for one in found["webhooks"])
    return 0


async def enable(options: argparse.Namespace, settings: Settings) -> int:
    """Begin again with one."""
    async with connected(settings) as service:
        await service.call("POST", f"/v1/webhooks/{options.webhook}/enable")
    return 0


async def rm(options: argparse.Namespace, settings: Settings) -> int:
    """Remove one."""
    async with connected(settings) as service:
        await service.call("DELETE", f"/v1/webhooks/{options.webhook}")
    return 0
