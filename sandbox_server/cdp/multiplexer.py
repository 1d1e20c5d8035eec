"""Many DevTools clients on one pipe: who owns which session, and which reply goes to whom. No sockets, no clock.

A client is given a session of its own on the browser or on one page, its base, in Chromium's flat mode. Its commands go out
under ids of ours, for its base or for a session below it; what comes back is routed by session. So each client sees the
browser as if it were alone on a socket of Chromium's own server, and ending its base undoes all that it had set up.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from sandbox_server.cdp.pressed import Pressed
from sandbox_server.cdp.rules import Rules
from sandbox_server.cdp.wire import (
    INVALID_REQUEST,
    MAX_TO_BROWSER,
    SERVER_ERROR,
    SESSION_NOT_FOUND,
    Arrival,
    Command,
    NotACommandError,
    Object,
    encode,
    error_reply,
    read_arrival,
    read_command,
)
from sandbox_server.core.results import Caller

MAX_PENDING = 10_000
"""Commands of one client that Chromium has not answered."""


@dataclass(eq=False)
class Peer:
    """One client: who it is, and the sessions that are its own."""

    caller: Caller
    base: str
    pending: int = 0
    sessions: dict[str, str | None] = field(default_factory=dict)
    """Each session with the one above it; the base has none."""
    pressed: Pressed = field(default_factory=Pressed)

    def below(self, session: str) -> list[str]:
        """The session and all that were attached through it: they end with it, and Chromium does not name each."""
        found = [session]
        for above in found:
            found += [child for child, parent in self.sessions.items() if parent == above]
        return found


class ToBrowser(NamedTuple):
    message: bytes


class ToPeer(NamedTuple):
    peer: Peer
    message: bytes


class Answer(NamedTuple):
    """The reply to a command of ours."""

    id: int
    body: Object


class Notice(NamedTuple):
    """An event that is for us."""

    method: str
    params: Object


class Ended(NamedTuple):
    """Chromium ended the client's base: its page is gone."""

    peer: Peer


class _Sent(NamedTuple):
    peer: Peer
    id: int
    session: str


class Multiplexer:
    """The state of one pipe; a new browser needs a new one. `rules` say what clients may send."""

    def __init__(self, rules: Rules | None = None) -> None:
        self._rules = rules or Rules()
        self._last_id = 0
        self._sent: dict[int, _Sent] = {}
        self._owners: dict[str, Peer] = {}

    @property
    def waiting(self) -> bool:
        """Whether a client waits for an answer."""
        return bool(self._sent)

    def command(self, method: str, params: Object) -> tuple[int, bytes]:
        """A command of ours, and the id under which its `Answer` will come."""
        number = self._next_id()
        return number, encode({"id": number, "method": method, "params": params})

    def releases(self, peer: Peer) -> list[bytes]:
        """Commands of ours that release what a client holds down; nobody gets their answers."""
        return [
            encode({"id": self._next_id(), "method": method, "params": params, "sessionId": session})
            for session, method, params in peer.pressed.take()
        ]

    def add(self, caller: Caller, base: str) -> Peer:
        """Take in a client for which `base` was attached."""
        peer = Peer(caller, base)
        self._own(peer, base, None)
        return peer

    def remove(self, peer: Peer) -> None:
        """Forget a client; what still arrives for it is dropped. Its base is for the caller to detach."""
        for session in peer.sessions:
            del self._owners[session]
        self._sent = {number: sent for number, sent in self._sent.items() if sent.peer is not peer}

    def from_peer(self, peer: Peer, text: str | bytes) -> ToBrowser | ToPeer:
        """Take what a client sent: it goes to the browser, or an answer goes straight back."""
        try:
            command = read_command(text)
        except NotACommandError as error:
            return ToPeer(peer, error.reply)
        if command.session is not None and command.session not in peer.sessions:
            return ToPeer(peer, error_reply(command.id, SESSION_NOT_FOUND, "Session with given id not found."))
        if reason := self._problem(peer, command):
            return ToPeer(peer, error_reply(command.id, SERVER_ERROR, reason, command.session))
        return self._forward(peer, command)

    def from_browser(self, message: bytes) -> ToPeer | Answer | Notice | Ended | None:
        """Take what Chromium sent; None when nobody waits for it any more."""
        arrival = read_arrival(message)
        if not isinstance(arrival, Arrival):
            return self._own_business(arrival)
        if arrival.id is not None:
            return self._reply(arrival)
        return self._event(arrival)

    def _forward(self, peer: Peer, command: Command) -> ToBrowser | ToPeer:
        number = self._next_id()
        session = command.session or peer.base
        message = command.encode(number, session)
        if len(message) > MAX_TO_BROWSER:
            return ToPeer(peer, error_reply(command.id, INVALID_REQUEST, f"Message is over {MAX_TO_BROWSER} bytes", command.session))
        self._sent[number] = _Sent(peer, command.id, session)
        peer.pending += 1
        peer.pressed.note(session, command)
        return ToBrowser(message)

    def _reply(self, arrival: Arrival) -> ToPeer | None:
        assert arrival.id is not None
        sent = self._sent.pop(arrival.id, None)
        if sent is None:
            return None
        sent.peer.pending -= 1
        return ToPeer(sent.peer, arrival.readdressed(sent.id, keep_session=sent.session != sent.peer.base))

    def _event(self, arrival: Arrival) -> ToPeer | None:
        peer = self._owners.get(arrival.session)
        if peer is None:
            return None
        if arrival.is_attachment:
            self._follow(peer, orjson.loads(arrival.message))
        return ToPeer(peer, arrival.event(keep_session=arrival.session != peer.base))

    def _follow(self, peer: Peer, event: Object) -> None:
        session = event["params"]["sessionId"]
        if event["method"] == "Target.attachedToTarget":
            self._own(peer, session, event["sessionId"])
        elif session in peer.sessions:
            for ended in peer.below(session):
                del self._owners[ended], peer.sessions[ended]
                peer.pressed.forget(ended)

    def _own_business(self, parsed: Object) -> ToPeer | Answer | Notice | Ended | None:
        if "method" in parsed:
            return self._notice(parsed["method"], parsed.get("params", {}))
        number = parsed.get("id")
        if not isinstance(number, int):
            return None
        sent = self._sent.pop(number, None)
        if sent is None:
            return Answer(number, parsed)
        sent.peer.pending -= 1  # its session ended before Chromium read the command
        return ToPeer(sent.peer, encode({**parsed, "id": sent.id}))

    def _notice(self, method: str, params: Object) -> Notice | Ended | None:
        if method != "Target.detachedFromTarget":
            return Notice(method, params)
        peer = self._owners.get(params["sessionId"])
        return Ended(peer) if peer else None

    def _own(self, peer: Peer, session: str, above: str | None) -> None:
        self._owners[session] = peer
        peer.sessions[session] = above

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _problem(self, peer: Peer, command: Command) -> str | None:
        if peer.pending >= MAX_PENDING:
            return f"{MAX_PENDING} commands wait for an answer"
        return self._rules.refusal(peer.caller, command)
