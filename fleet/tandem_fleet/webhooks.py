"""Webhooks: tells others what becomes of a tenant's sandboxes, as Standard Webhooks are sent.

Each webhook has a place in the events of the store, and goes on from there: what was not taken is sent again, later each time, and what
comes after waits for it. So each event is sent at least once, and in order.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import secrets
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import httpx2
from sqlalchemy.exc import SQLAlchemyError

from tandem_fleet.errors import FleetError, InvalidError, NotFoundError
from tandem_fleet.outbound import Network, pin, split_url
from tandem_fleet.sandboxes import State, new_id
from tandem_fleet.store.sandboxes import Event, SandboxStore
from tandem_fleet.store.webhooks import Webhook, WebhookStore

MOST = 20
"""Webhooks of one tenant."""
CALL_SECONDS = 15.0
FIRST_SECONDS, LONGEST_SECONDS = 5.0, 3600.0
"""How long the first and the longest pause after a failure are."""
GIVEN_UP = timedelta(days=3)
"""A webhook that failed for so long is disabled."""
BATCH = 100
UNSAID = 1000
"""Events that were passed over before the store says so."""
LOOK_SECONDS = 1.0
FOUND_SECONDS = 15.0
"""How long the first webhook, added by another process, may stay unseen."""
PREFIX = "whsec_"
TYPES = frozenset(f"sandbox.{state}" for state in State)
_log = logging.getLogger(__name__)


def signature(secret: str, identifier: str, timestamp: int, body: bytes) -> str:
    """The header `webhook-signature`."""
    signed = f"{identifier}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(base64.b64decode(secret.removeprefix(PREFIX)), signed, hashlib.sha256)).decode()


def body_of(event: Event) -> bytes:
    """What is sent of an event."""
    sandbox = event.sandbox
    told = {"type": f"sandbox.{sandbox.state}", "timestamp": event.at.isoformat(), "data": sandbox.model_dump(mode="json")}
    return json.dumps(told, separators=(",", ":")).encode()


class Webhooks:
    """The webhooks of all tenants. `allowed` are private networks that they may be in."""

    def __init__(self, store: WebhookStore, events: SandboxStore, allowed: Sequence[Network] = ()) -> None:
        self._store = store
        self._events = events
        self._allowed = tuple(allowed)
        self._http = httpx2.AsyncClient(timeout=CALL_SECONDS, trust_env=False, follow_redirects=False)
        self._added = asyncio.Event()
        self._sending: dict[str, asyncio.Task[None]] = {}
        self._seen: dict[str, int] = {}
        """Up to which event there is nothing for a webhook that the store does not say yet."""

    async def add(self, tenant: str, url: str, types: Sequence[str]) -> Webhook:
        """Send a tenant's events to a URL from now on; without types all. Raises `InvalidError`, `ConflictError`."""
        split_url(url)
        if wrong := next((kind for kind in types if kind not in TYPES), ""):
            raise InvalidError(f"there is no event {wrong!r}; there are {', '.join(sorted(TYPES))}")
        await pin(url, self._allowed)
        secret = PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
        cursor = await self._events.last_event()
        made = Webhook(new_id(), tenant, url, secret, tuple(types), cursor, 0, None, None, "", datetime.now(UTC), disabled=False)
        await self._store.add(made, most=MOST)
        self._added.set()
        return made

    async def of(self, tenant: str) -> list[Webhook]:
        """A tenant's webhooks."""
        return await self._store.of(tenant)

    async def remove(self, tenant: str, webhook: str) -> None:
        """Forget one. Raises `NotFoundError`."""
        if not await self._store.remove(tenant, webhook):
            raise NotFoundError(f"there is no webhook {webhook!r}")

    async def enable(self, tenant: str, webhook: str) -> Webhook:
        """Begin again with one that was disabled, from now on. Raises `NotFoundError`."""
        return await self._store.enable(tenant, webhook, await self._events.last_event())

    async def run(self) -> None:
        """Send what is due, without end."""
        try:
            while True:
                seen = self._events.database.changes
                self._added.clear()
                try:
                    if not await self._store.exist():
                        await self._wait_for_one()
                        continue
                    newest = await self._events.last_event()
                    for webhook in await self._store.due(newest, datetime.now(UTC)):
                        if webhook.id not in self._sending and self._seen.get(webhook.id, 0) < newest:
                            self._begin(webhook, newest)
                except (SQLAlchemyError, OSError):
                    _log.exception("cannot see which webhooks are due")
                await self._events.database.wait_for_change(seen, LOOK_SECONDS)
        finally:
            tasks = list(self._sending.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _wait_for_one(self) -> None:
        """Without any webhook nothing is looked for."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FOUND_SECONDS):
                await self._added.wait()

    def _begin(self, webhook: Webhook, newest: int) -> None:
        task = asyncio.create_task(self._send(webhook, newest))
        self._sending[webhook.id] = task
        task.add_done_callback(lambda _: self._sending.pop(webhook.id, None))

    async def _send(self, webhook: Webhook, newest: int) -> None:
        """Send what there is behind its place, until there is no more or one is not taken."""
        cursor = max(webhook.cursor, self._seen.pop(webhook.id, 0))
        try:
            while events := await self._events.events(webhook.tenant, cursor, limit=BATCH):
                for event in events:
                    if not webhook.types or f"sandbox.{event.sandbox.state}" in webhook.types:
                        await self._deliver(webhook, event)
                        if not await self._store.passed(webhook.id, event.number):
                            return  # it was removed
                    cursor = event.number
            self._seen[webhook.id] = max(cursor, newest)
            if self._seen[webhook.id] - webhook.cursor > UNSAID:
                await self._store.passed(webhook.id, self._seen[webhook.id])
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, FleetError, OSError, ValueError) as error:
            await self._failed(webhook.id, str(error) or type(error).__name__)
        except SQLAlchemyError:
            _log.exception("cannot send the webhook %s", webhook.id)

    async def _deliver(self, webhook: Webhook, event: Event) -> None:
        """Send one. Raises what `_send` takes as a failure; the answer's body is not read."""
        target = await pin(webhook.url, self._allowed)
        body, now, identifier = body_of(event), int(datetime.now(UTC).timestamp()), f"msg_{webhook.id}_{event.number}"
        headers = {
            "Host": target.host,
            "Content-Type": "application/json",
            "User-Agent": "tandem-fleet",
            "webhook-id": identifier,
            "webhook-timestamp": str(now),
            "webhook-signature": signature(webhook.secret, identifier, now, body),
        }
        extensions = {"sni_hostname": target.name}
        async with (
            asyncio.timeout(CALL_SECONDS),
            self._http.stream("POST", target.url, content=body, headers=headers, extensions=extensions) as response,
        ):
            if not 200 <= response.status_code < 300:
                raise InvalidError(f"it answered {response.status_code}")

    async def _failed(self, webhook: str, reason: str) -> None:
        """Set when it is sent again, or disable it."""
        now = datetime.now(UTC)
        try:
            current = await self._store.get(webhook)
        except NotFoundError:
            return
        since = current.failing_since or now
        wait = min(LONGEST_SECONDS, FIRST_SECONDS * 2**current.attempts) * (1 + secrets.randbelow(100) / 1000)
        await self._store.failed(webhook, since, now + timedelta(seconds=wait), reason, disabled=now - since >= GIVEN_UP)
