"""Commands that say when a sandbox sleeps and wakes."""

import argparse
import json
import sys

from tandem_fleet.cli import spec_options
from tandem_fleet.cli.connection import connected
from tandem_fleet.cli.output import Verbs, say
from tandem_fleet.settings import Settings


def add(verbs: Verbs) -> None:
    """Their arguments."""
    resting = verbs.add_parser("idle", help="say what becomes of a sandbox that nobody uses; without options, nothing")
    resting.add_argument("name")
    spec_options.add_idle(resting)
    resting.set_defaults(run=idle)
    waking = verbs.add_parser("wake", help="wake a sandbox at a time, or every so many minutes; without options, list its times")
    waking.add_argument("name")
    waking.add_argument("--at", metavar="TIME", help="when, as 2030-01-01T08:00:00Z")
    waking.add_argument("--every", type=float, metavar="MINUTES", help="how often, from then or from now on")
    waking.add_argument("--remove", metavar="ID", help="forget a time")
    waking.set_defaults(run=wake)


async def idle(options: argparse.Namespace, settings: Settings) -> int:
    """Change what becomes of a sandbox that nobody uses."""
    async with connected(settings) as service:
        changed = await service.call("PUT", f"/v1/sandboxes/{options.name}/idle", spec_options.read_idle(options))
    said = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in changed["spec"]["idle"].items() if value is not None)
    say(f"{changed['name']}: {said or 'it goes on while nobody uses it'}")
    return 0


async def wake(options: argparse.Namespace, settings: Settings) -> int:
    """Add, list or remove times at which a sandbox wakes."""
    path = f"/v1/sandboxes/{options.name}/schedules"
    async with connected(settings) as service:
        if options.remove:
            await service.call("DELETE", f"{path}/{options.remove}")
        elif options.at or options.every:
            every = round(options.every * 60) if options.every else None
            await service.call("POST", path, {"at": options.at, "every_seconds": every})
        listed = await service.call("GET", path)
    sys.stdout.writelines(f"{json.dumps(one)}\n" for one in listed["schedules"])
    return 0
