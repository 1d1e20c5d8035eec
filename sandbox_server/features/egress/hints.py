"""Hints: a caller whose programs were refused connections hears of it in its next answer."""

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from sandbox_server.core import Call, Failure, Reply
from sandbox_server.core.dispatch import Proceed
from sandbox_server.core.hints import join_hints
from sandbox_server.core.operation import Operation
from sandbox_server.core.results import Blob, Content
from sandbox_server.drivers.egress.policy import UNREACHABLE_RULE
from sandbox_server.features.egress.connections import Connection

MAX_REFUSALS = 256
MAX_CALLERS = 256
MAX_SESSIONS = 1024
MAX_NAMED = 3
"""Destinations that one hint names."""
RECENT_SECONDS = 300.0
"""How long a refusal is of interest to a caller who has not called since."""
DESKTOP_QUIET_SECONDS = 3600.0
"""How long a caller hears nothing more of the same destination of the browser, which calls services of its own."""
SCOPES = frozenset({"shell", "code", "browser", "files"})
"""Scopes of the operations that run programs, or load pages."""
DESKTOP = "desktop"
FINAL_RULES = frozenset({"packets", "mismatch", "limit", "unknown address"})
"""What refuses where no approval helps."""


@dataclass(frozen=True, slots=True)
class _Refusal:
    number: int
    at: float
    connection: Connection


class EgressHints:
    """Guard: adds to each caller's answers what was refused since the last one. Who ran the program hears of it, if that is known."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._refusals: deque[_Refusal] = deque(maxlen=MAX_REFUSALS)
        self._last = 0
        self._told: OrderedDict[str, int] = OrderedDict()
        self._sessions: OrderedDict[str, str] = OrderedDict()
        self._desktop: OrderedDict[tuple[str, str], float] = OrderedDict()

    def see(self, connection: Connection) -> None:
        """Note a refused connection."""
        if connection.action != "deny" or connection.rule == UNREACHABLE_RULE:
            return
        self._last += 1
        self._refusals.append(_Refusal(self._last, self._now(), connection))

    def caller_of(self, session: str) -> str | None:
        """Return the caller who has used a session last; None if unknown."""
        return self._sessions.get(session)

    def since(self, caller: str, at: float) -> str | None:
        """Return what a caller has to hear of since some time, of programs that it has run in another way than by a call."""
        before = [each.number for each in self._refusals if each.at < at]
        self._told.setdefault(caller, max(before, default=0))
        _bound(self._told, caller, MAX_CALLERS)
        return self._hint(caller, "shell")

    async def __call__(self, operation: Operation, request: BaseModel | None, call: Call, proceed: Proceed) -> object:
        """Run the call, and add the hint to its answer."""
        if operation.spec.scope not in SCOPES or not operation.spec.envelope:
            return await proceed()
        caller = call.caller.name
        self._enter(caller)
        self._own(caller, operation.tag, request)
        try:
            result = await proceed()
        except Failure as failure:
            failure.hint = join_hints(failure.hint, self._hint(caller, operation.spec.scope))
            raise
        self._own(caller, operation.tag, result.data if isinstance(result, Reply) else result)
        return self._hinted(result, caller, operation.spec.scope)

    def _hinted(self, result: object, caller: str, scope: str) -> object:
        if isinstance(result, Blob | Content) or hasattr(result, "__aiter__"):
            return result  # no place for a hint: the next answer has it
        hint = self._hint(caller, scope)
        if hint is None:
            return result
        reply = result if isinstance(result, Reply) else Reply(result)
        return replace(reply, hint=join_hints(reply.hint, hint))

    def _enter(self, caller: str) -> None:
        """Have a new caller hear of what is refused from now on."""
        self._told.setdefault(caller, self._last)
        _bound(self._told, caller, MAX_CALLERS)

    def _own(self, caller: str, tag: str, values: Any) -> None:
        """Note whose a session is: whose call has named it last."""
        for name in ("session_id", "id"):
            session = getattr(values, name, None)
            if isinstance(session, str) and session:
                self._sessions[f"{tag}:{session}"] = caller
                _bound(self._sessions, f"{tag}:{session}", MAX_SESSIONS)

    def _hint(self, caller: str, scope: str) -> str | None:
        """Return what the caller has to hear now."""
        since, self._told[caller] = self._told.get(caller, self._last), self._last
        oldest = self._now() - RECENT_SECONDS
        fresh = [each.connection for each in self._refusals if each.number > since and each.at >= oldest]
        concerned = [each for each in fresh if self._concerns(each, caller, scope)]
        places = list(dict.fromkeys(f"{each.place} by rule `{each.rule}`" for each in concerned))
        if not places:
            return None
        more = f" and {len(places) - MAX_NAMED} more" if len(places) > MAX_NAMED else ""
        ask = "" if all(each.rule in FINAL_RULES for each in concerned) else "; ask with request_access"
        return f"blocked: {', '.join(places[:MAX_NAMED])}{more}{ask}"

    def _concerns(self, connection: Connection, caller: str, scope: str) -> bool:
        if connection.session == DESKTOP:
            return scope == "browser" and self._is_news(caller, connection.place)
        owner = self._sessions.get(connection.session or "")
        return owner in (None, caller) and scope != "browser"

    def _is_news(self, caller: str, place: str) -> bool:
        """Whether a caller has not heard lately of a destination of the browser's."""
        now = self._now()
        if now - self._desktop.get((caller, place), -math.inf) < DESKTOP_QUIET_SECONDS:
            return False
        self._desktop[caller, place] = now
        _bound(self._desktop, (caller, place), MAX_SESSIONS)
        return True


def _bound[Key, Value](found: OrderedDict[Key, Value], latest: Key, limit: int) -> None:
    found.move_to_end(latest)
    if len(found) > limit:
        found.popitem(last=False)
