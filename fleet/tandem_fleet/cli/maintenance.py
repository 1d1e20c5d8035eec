"""Commands for when a fleet's machine or version changes."""

import argparse
import gzip
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from tandem_fleet.cli.connection import connected
from tandem_fleet.cli.output import Verbs, say
from tandem_fleet.errors import ConflictError, InvalidError
from tandem_fleet.settings import Settings


def add(verbs: Verbs) -> None:
    """Their arguments."""
    saving = verbs.add_parser("backup", help="write the whole store into a file")
    saving.add_argument("file", type=Path)
    saving.set_defaults(run=backup)
    filling = verbs.add_parser("restore", help="fill a new, empty store from such a file")
    filling.add_argument("file", type=Path)
    filling.set_defaults(run=restore)
    emptying = verbs.add_parser("drain", help="make and start nothing new, and stop what nobody uses")
    emptying.add_argument("--idle-minutes", type=float, default=5, help="for how long nobody has used it (5); with 0 all are stopped")
    emptying.add_argument("--end", action="store_true", help="make and start again")
    emptying.set_defaults(run=drain)


async def backup(options: argparse.Namespace, settings: Settings) -> int:
    """Write the store into a file that nobody else reads, whole or not at all."""
    if options.file.exists():
        raise ConflictError(f"{options.file} exists")
    part = options.file.with_name(f".{options.file.name}.part")
    end = None
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
                async with connected(settings) as service:
                    async for line in service.lines("/v1/backup"):
                        packed.write(f"{line}\n".encode())
                        end = line
            file.flush()
            os.fsync(file.fileno())
        if end is None or "end" not in json.loads(end):
            raise InvalidError("the backup has no end: the service ended before it did")
        part.rename(options.file)
    finally:
        part.unlink(missing_ok=True)
    say(f"{json.loads(end)['end']} rows; the signing key is not in there: keep {settings.state / 'signing-key.pem'} in a safe place")
    return 0


async def restore(options: argparse.Namespace, settings: Settings) -> int:
    """Fill an empty store from a file."""
    from tandem_fleet.api.service import claimed  # slow
    from tandem_fleet.signing_key import SigningKey
    from tandem_fleet.store.backup import load
    from tandem_fleet.store.database import Database

    with claimed(settings):
        database = Database(settings.store)
        try:
            count, key = await load(database, _lines(options.file))
        finally:
            await database.close()
        say(f"{count} rows")
        if key != SigningKey.kept(settings.state / "signing-key.pem").number:
            say(f"the signing key is another one: put back the file of then ({key}), or sandboxes refuse the fleet's tokens")
    return 0


async def drain(options: argparse.Namespace, settings: Settings) -> int:
    """Empty the fleet, or end that; exits with 1 while some are used."""
    body = {"draining": not options.end, "stop": not options.end, "idle_minutes": options.idle_minutes}
    async with connected(settings) as service:
        told = await service.call("PUT", "/v1/drain", body)
    for name in told["stopped"]:
        say(f"{name} is stopped")
    for name in told["used"]:
        sys.stdout.write(f"{name}\n")
    if told["used"]:
        say("these are used and run on; call again later, or with --idle-minutes 0")
    return 1 if told["used"] else 0


async def _lines(file: Path) -> AsyncIterator[str]:
    try:
        with gzip.open(file, "rt", encoding="utf-8") as opened:
            for line in opened:
                yield line
    except (OSError, EOFError) as error:
        raise InvalidError(f"cannot read {file}: {error}") from error
