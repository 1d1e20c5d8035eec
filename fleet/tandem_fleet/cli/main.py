"""The arguments of the command `tandem`."""

import argparse
import asyncio
import logging
import sys

from tandem_fleet import __version__
from tandem_fleet.cli import access, idleness, maintenance, operation, sandboxes, snapshots, templates, tenants, usage, webhooks
from tandem_fleet.errors import FleetError
from tandem_fleet.settings import current

USAGE, FAILED, INTERRUPTED = 2, 1, 130


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    top = argparse.ArgumentParser(
        prog="tandem", description="Sandboxes that an agent and a person share, on this machine's container engine."
    )
    top.add_argument("--version", action="version", version=f"tandem {__version__}")
    verbs = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for group in (sandboxes, access, templates, idleness, snapshots, operation, tenants, usage, webhooks, maintenance):
        group.add(verbs)
    return top


def run() -> None:
    """Run the command; exits with its code, 1 where it failed, 2 for wrong arguments."""
    options = parser().parse_args()
    logging.basicConfig(level=logging.WARNING, format="tandem: %(message)s")
    try:
        sys.exit(asyncio.run(options.run(options, current())))
    except FleetError as error:
        sys.stderr.write(f"tandem: {error}\n")
        sys.exit(USAGE if error.code == "invalid" else FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    run()
