"""Commands on what tenants may have and what they use."""

import argparse
import json
import sys
from collections.abc import Callable

from tandem_fleet.cli.connection import connected
from tandem_fleet.cli.output import Verbs
from tandem_fleet.settings import Settings

KEEP = "keep"
LIMITS: dict[str, type[int] | type[float]] = {"sandboxes": int, "cpus": float, "memory_mb": int, "hours": float, "requests_per_minute": int}


def add(verbs: Verbs) -> None:
    """Their arguments."""
    limiting = verbs.add_parser("quota", help="say what a tenant may have, and print it; what is not named stays")
    limiting.add_argument("tenant")
    for name, kind in LIMITS.items():
        limiting.add_argument(f"--{name.replace('_', '-')}", metavar="N|none", type=_limit(kind), default=KEEP)
    limiting.set_defaults(run=quota)
    using = verbs.add_parser("usage", help="print what a tenant has and used in a month, as JSON")
    using.add_argument("--tenant", help="another tenant's")
    using.add_argument("--month", help="as 2026-11 (this one)")
    using.set_defaults(run=usage)


def _limit(kind: type[int] | type[float]) -> Callable[[str], float | str | None]:
    """How a limit is read: a number, or none."""

    def number(word: str) -> float | str | None:
        return word if word == KEEP else None if word == "none" else kind(word)

    return number


async def quota(options: argparse.Namespace, settings: Settings) -> int:
    """Change a tenant's limits, and print them."""
    given = {name: getattr(options, name) for name in LIMITS if getattr(options, name) != KEEP}
    async with connected(settings) as service:
        now = (await service.call("GET", f"/v1/tenants/{options.tenant}"))["quota"]
        if given:
            kept = {name: value for name, value in (now | given).items() if value is not None}
            now = (await service.call("PUT", f"/v1/tenants/{options.tenant}/quota", kept))["quota"]
    sys.stdout.write(f"{json.dumps(now)}\n")
    return 0


async def usage(options: argparse.Namespace, settings: Settings) -> int:
    """Print what a tenant may have, has and used."""
    async with connected(settings) as service:
        told = await service.call("GET", "/v1/usage", tenant=options.tenant, month=options.month)
    sys.stdout.write(f"{json.dumps(told, indent=2)}\n")
    return 0
