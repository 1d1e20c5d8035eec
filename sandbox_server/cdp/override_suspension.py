"""Suspends clients' overrides while a person has the pages, and restores them when that person releases control.

A script for new documents gets a new identifier when it is added again; its client keeps the old one.
"""

from collections.abc import Callable
from typing import NamedTuple

import orjson

from sandbox_server.cdp.client_overrides import Sent
from sandbox_server.cdp.command_rules import ClientRules, sealed
from sandbox_server.cdp.devtools_clients import ClientEnded, DevtoolsClient, ToBrowser
from sandbox_server.cdp.messages import BrowserMessage, DevtoolsCommand, Object, encode
from sandbox_server.cdp.override_reversal import SCRIPTS
from sandbox_server.cdp.viewport_overrides import Overrides

RELEASED = "a person has the pages, and what this client put in force there ends with its session alone"


class _Readded(NamedTuple):
    """A script that is being added again."""

    peer: DevtoolsClient
    session: str
    identifier: str
    method: str


class OverrideSuspension:
    """Suspends and restores overrides for all clients of a browser. `number` returns the next id for a command."""

    def __init__(self, rules: ClientRules, overrides: Overrides, number: Callable[[], int]) -> None:
        self._rules = rules
        self._overrides = overrides
        self._number = number
        self._readded: dict[int, _Readded] = {}
        self._due: list[bytes] = []

    def rest(self, peer: DevtoolsClient) -> list[ToBrowser | ClientEnded]:
        """Take off a client's overrides for a person who has the pages, or put them back."""
        resting = self._rules.rests(peer.caller)
        if resting == peer.suspended:
            return []
        peer.suspended = resting
        return self._taken_off(peer) if resting else self._put_back(peer)

    def due(self) -> list[bytes]:
        """Return and clear the messages for the browser that follow from earlier calls."""
        due, self._due = self._due, []
        return due

    def keep(self, peer: DevtoolsClient, session: str, method: str, params: Object, arrival: BrowserMessage) -> None:
        """Keep a script and the identifier from Chromium's reply, if Chromium accepted it."""
        if (identifier := _identifier(arrival)) is None:
            return
        peer.overrides.added(session, method, params, identifier)
        if peer.suspended and not self._rules.trusts(peer.caller):  # a person took control before the reply came
            self._due += map(self._unanswered, peer.overrides.take_off())

    def answered(self, arrival: BrowserMessage) -> bool:
        """Take a reply to a script that was added again. Return False if the reply is for someone else."""
        again = self._readded.pop(arrival.id or 0, None)
        if again and (known := _identifier(arrival)):
            self._named(again, known)
        return again is not None

    def greet(self, peer: DevtoolsClient, session: str, info: Object, *, waits: bool) -> None:
        """Set up a new session of a client.

        Sessions on the browser's own tools are ended. Pages of a person who has control are not held up.
        """
        if self._rules.trusts(peer.caller):
            return
        if waits and (peer.suspended or sealed(info)):
            self._due.append(self._unanswered((session, "Runtime.runIfWaitingForDebugger", {})))
        if sealed(info):
            self.detach(session, peer)

    def detach(self, session: str, peer: DevtoolsClient) -> None:
        """End one session of a client."""
        self._due.append(self._unanswered(_detached(session, peer)))

    def shun(self, above: str, event: Object) -> None:
        """End a session on a target that no client may see. The page does not wait for it."""
        if event["method"] == "Target.attachedToTarget":
            session = event["params"]["sessionId"]
            self._due.append(self._unanswered((session, "Runtime.runIfWaitingForDebugger", {})))
            self._due.append(self._unanswered((above, "Target.detachFromTarget", {"sessionId": session})))

    def forget(self, peer: DevtoolsClient) -> None:
        """Forget a client that has gone."""
        self._readded = {number: again for number, again in self._readded.items() if again.peer is not peer}

    def _taken_off(self, peer: DevtoolsClient) -> list[ToBrowser | ClientEnded]:
        if peer.base in peer.overrides.ending:
            return [ClientEnded(peer, RELEASED)]
        off = peer.overrides.take_off()
        for session, method, params in off:
            self._overrides.note(session, DevtoolsCommand(0, method, session, {"params": params}))
        ended = [_detached(session, peer) for session in peer.overrides.ending]
        return [ToBrowser(self._unanswered(sent)) for sent in (*ended, *off, *self._waiting(peer))]

    def _waiting(self, peer: DevtoolsClient) -> list[Sent]:
        """Return commands that resume pages which wait for a client's debugger."""
        if self._rules.trusts(peer.caller):
            return []
        return [(session, "Runtime.runIfWaitingForDebugger", {}) for session, above in peer.sessions.items() if above]

    def _put_back(self, peer: DevtoolsClient) -> list[ToBrowser | ClientEnded]:
        found: list[ToBrowser | ClientEnded] = []
        for session, method, params in peer.overrides.put_back():
            self._overrides.note(session, DevtoolsCommand(0, method, session, {"params": params}))
            found.append(ToBrowser(self._unanswered((session, method, params))))
        for session, identifier, method, params in peer.overrides.scripts():
            number = self._number()
            self._readded[number] = _Readded(peer, session, identifier, method)
            found.append(ToBrowser(encode({"id": number, "method": method, "params": params, "sessionId": session})))
        return found

    def _named(self, again: _Readded, known: str) -> None:
        """Store the new identifier. The script is removed at once if nobody wants it any more."""
        if not again.peer.overrides.readded(again.session, again.identifier, known):
            self._due.append(self._unanswered((again.session, SCRIPTS[again.method], {"identifier": known})))
        elif again.peer.suspended:
            self._due += map(self._unanswered, again.peer.overrides.take_off())

    def _unanswered(self, sent: Sent) -> bytes:
        session, method, params = sent
        return encode({"id": self._number(), "method": method, "params": params, "sessionId": session})


def _detached(session: str, peer: DevtoolsClient) -> Sent:
    return peer.sessions[session] or peer.base, "Target.detachFromTarget", {"sessionId": session}


def _identifier(arrival: BrowserMessage) -> str | None:
    """Return Chromium's identifier of an added script; None if the reply has none."""
    identifier = (orjson.loads(arrival.message).get("result") or {}).get("identifier")
    return identifier if isinstance(identifier, str) else None
