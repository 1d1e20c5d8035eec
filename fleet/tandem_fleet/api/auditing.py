"""Gives each request an id, and writes down each call that changes something or is refused, before its answer goes out."""

import logging
import secrets
import time
from collections import Counter
from typing import Any
from urllib.parse import parse_qs

from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tandem_fleet.api.authorization import Caller
from tandem_fleet.logs import REQUEST
from tandem_fleet.printable import printable
from tandem_fleet.store.audit import AuditStore
from tandem_fleet.trace_context import follow

BEGINNING = frozenset({"/oidc/callback"})
"""What begins a session, though a browser reads it."""
READING = frozenset({"GET", "HEAD", "OPTIONS"})
UNRECORDED = frozenset({"/v1/wall/sight"})
"""What changes nothing: a page says what it shows, as often as somebody scrolls."""
REFUSED_PER_MINUTE = 60
"""Calls that are written down of callers who are not known, or call too often: they may not keep the store busy."""
_log = logging.getLogger(__name__)


class Auditing:
    """Middleware of the whole application."""

    def __init__(self, app: ASGIApp, store: AuditStore) -> None:
        self._app = app
        self._store = store
        self._minute = 0
        self._refused: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state: dict[str, Any] = scope.setdefault("state", {})
        number = secrets.token_hex(8)
        REQUEST.set(number)
        follow(Headers(scope=scope))

        answered = False

        async def note(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start":
                answered = True
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", number.encode())]
                reading = scope["method"] in READING and scope["path"] not in BEGINNING
                changing = not reading and scope["path"] not in UNRECORDED
                if changing or message["status"] >= 400:
                    await self._write(scope, state, number, message["status"])
            await send(message)

        try:
            await self._app(scope, receive, note)
        except Exception:
            if not answered:
                await self._write(scope, state, number, 500)
            raise

    async def _write(self, scope: Scope, state: dict[str, Any], number: str, status: int) -> None:
        caller: Caller | None = state.get("caller")
        who = f"{caller.tenant}/{caller.name}" if caller else ""
        if (caller is None or not caller.tenant or status == 429) and not self._has_room(who):
            return
        client = scope.get("client")
        call = f"{scope['method']} {scope['path']}{_about(scope['query_string'])}"
        try:
            await self._store.add(
                caller.tenant if caller else "",
                _name(caller) if caller else "",
                address=client[0] if client and client[0] else "socket",
                request=number,
                call=call,
                status=status,
            )
        except (OSError, SQLAlchemyError):
            _log.exception("the record has no room for: %s %s %s", number, printable(call, 512), status)

    def _has_room(self, who: str) -> bool:
        minute = int(time.monotonic() // 60)
        if minute != self._minute:
            self._minute = minute
            self._refused.clear()
        self._refused[who] += 1
        if self._refused[who] == REFUSED_PER_MINUTE + 1:
            _log.warning("more calls of %s are refused than are written down: %d a minute", who or "nobody known", REFUSED_PER_MINUTE)
        return self._refused[who] <= REFUSED_PER_MINUTE


def _name(caller: Caller) -> str:
    """What the record calls who calls: of a person who signed in by a provider the subject there, too."""
    return f"{caller.name} ({caller.account})" if caller.account else caller.name


def _about(query: bytes) -> str:
    """The other tenant that a call names. Nothing else of a query is written down: links may hold what opens something."""
    tenant = parse_qs(query.decode("latin-1")).get("tenant")
    return f"?tenant={tenant[0]}" if tenant else ""
