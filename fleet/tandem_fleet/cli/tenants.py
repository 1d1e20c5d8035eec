"""Commands on tenants, their API keys and the record of calls."""

import argparse
import json
import sys
from typing import Any

from tandem_fleet.cli.connection import connected
from tandem_fleet.cli.output import Verbs, say, table
from tandem_fleet.settings import Settings

DAY = 86_400


def add(verbs: Verbs) -> None:
    """Their arguments."""
    tenant = verbs.add_parser("tenant", help="add, list and remove tenants").add_subparsers(dest="act", required=True, metavar="ACT")
    for name, run, said in (("add", add_tenant, "add a tenant"), ("rm", remove_tenant, "remove one that has no sandboxes")):
        one = tenant.add_parser(name, help=said)
        one.add_argument("id", help="its name")
        one.set_defaults(run=run)
    _add_listing(tenant, "ls", list_tenants, "list them")
    _add_keys(verbs)
    record = _add_listing(verbs, "audit", list_audit, "list calls that changed something or were refused, the newest first")
    record.add_argument("--tenant", help="another tenant's; '' for callers who were not known")
    record.add_argument("--limit", type=int, default=100, help="how many (100)")


def _add_listing(verbs: Verbs, name: str, run: Any, said: str) -> argparse.ArgumentParser:
    one = verbs.add_parser(name, help=said)
    one.add_argument("--json", action="store_true", help="for programs")
    one.set_defaults(run=run)
    return one


def _add_keys(verbs: Verbs) -> None:
    key = verbs.add_parser("key", help="make, list and revoke API keys").add_subparsers(dest="act", required=True, metavar="ACT")
    making = key.add_parser("add", help="make a key and print it: it is shown once")
    making.add_argument("name", help="what it is for")
    making.add_argument("--scope", action="append", help="what it may do (sandboxes:read, :write and :use); may be repeated")
    making.add_argument("--days", type=float, help="when it ends (never)")
    making.set_defaults(run=add_key)
    listing = _add_listing(key, "ls", list_keys, "list them")
    removing = key.add_parser("rm", help="revoke a key")
    removing.add_argument("id")
    removing.set_defaults(run=revoke_key)
    for one in (making, listing, removing):
        one.add_argument("--tenant", help="another tenant's")


async def add_tenant(options: argparse.Namespace, settings: Settings) -> int:
    """Add a tenant."""
    async with connected(settings) as service:
        made = await service.call("POST", "/v1/tenants", {"id": options.id})
    sys.stdout.write(f"{made['id']}\n")
    say(f"make a key for it: tandem key add NAME --tenant {made['id']}")
    return 0


async def remove_tenant(options: argparse.Namespace, settings: Settings) -> int:
    """Remove a tenant that has no sandboxes, and revoke its keys."""
    async with connected(settings) as service:
        await service.call("DELETE", f"/v1/tenants/{options.id}")
    return 0


async def list_tenants(options: argparse.Namespace, settings: Settings) -> int:
    """List the tenants."""
    async with connected(settings) as service:
        listed = (await service.call("GET", "/v1/tenants"))["tenants"]
    return _shown(options, listed, ("id", "created_at"))


async def add_key(options: argparse.Namespace, settings: Settings) -> int:
    """Make a key and print it."""
    body: dict[str, Any] = {"name": options.name}
    if options.scope:
        body["scopes"] = options.scope
    if options.days:
        body["seconds"] = int(options.days * DAY)
    async with connected(settings) as service:
        made = await service.call("POST", "/v1/keys", body, tenant=options.tenant)
    sys.stdout.write(f"{made['key']}\n")
    say(f"this is the only time that it is shown; revoke it with: tandem key rm {made['made']['id']}{_tenant(options)}")
    return 0


async def list_keys(options: argparse.Namespace, settings: Settings) -> int:
    """List the keys."""
    listed: list[Any] = []
    cursor: str | None = ""
    async with connected(settings) as service:
        while cursor is not None:
            page = await service.call("GET", "/v1/keys", tenant=options.tenant, cursor=cursor, limit=1000)
            listed += page["keys"]
            cursor = page["next_cursor"]
    return _shown(options, listed, ("id", "name", "scopes", "created_at", "expires_at", "used_at", "revoked_at"))


async def revoke_key(options: argparse.Namespace, settings: Settings) -> int:
    """Have a key open nothing from now on."""
    async with connected(settings) as service:
        await service.call("DELETE", f"/v1/keys/{options.id}", tenant=options.tenant)
    return 0


async def list_audit(options: argparse.Namespace, settings: Settings) -> int:
    """List the newest entries of the record."""
    async with connected(settings) as service:
        listed = (await service.call("GET", "/v1/audit", tenant=options.tenant, limit=options.limit))["entries"]
    return _shown(options, listed, ("at", "caller", "address", "status", "call", "request"))


def _tenant(options: argparse.Namespace) -> str:
    return f" --tenant {options.tenant}" if options.tenant else ""


def _shown(options: argparse.Namespace, listed: list[Any], columns: tuple[str, ...]) -> int:
    """Print what was listed: as lines of JSON, or as a table."""
    if options.json:
        sys.stdout.writelines(f"{json.dumps(one)}\n" for one in listed)
    else:
        table([[column.upper().removesuffix("_AT") for column in columns], *([_cell(one[column]) for column in columns] for one in listed)])
    return 0


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(value)
    return "" if value is None else str(value)
