"""Many DevTools clients on one pipe: who owns which session, and which reply goes to whom. No sockets, no clock.

A client is given a session of its own on the browser or on one page, its base, in Chromium's flat mode. Its commands go out
under ids of ours, for its base or for a session below it; what comes back is routed by session. So each client sees the
browser as if it were alone on a socket of Chromium's own server, and ending its base undoes all that it had set up.

Chromium says nothing to commands that wait when their session ends. Clients that keep no books of sessions would wait for ever, so
here each gets the answer that Chromium gives to a command which comes a moment later.
"""

from collections.abc import Callable, Container
from typing import NamedTuple

import orjson

from sandbox_server.cdp.client_overrides import DEFERRED, RULES, Sent
from sandbox_server.cdp.command_effects import acts
from sandbox_server.cdp.command_rules import OWNER, ClientRules
from sandbox_server.cdp.devtools_clients import (
    BrowserEvent,
    ClientEnded,
    ClientMessage,
    ClientMessages,
    DevtoolsClient,
    OwnReply,
    ToBrowser,
)
from sandbox_server.cdp.hidden_targets import UNKNOWN as NO_TARGET
from sandbox_server.cdp.hidden_targets import HiddenTargets
from sandbox_server.cdp.messages import (
    INVALID_REQUEST,
    MAX_TO_BROWSER,
    METHOD_NOT_FOUND,
    SERVER_ERROR,
    SESSION_NOT_FOUND,
    BrowserMessage,
    DevtoolsCommand,
    NotACommandError,
    Object,
    encode,
    error_reply,
    read_arrival,
    read_command,
)
from sandbox_server.cdp.methods import effect_of
from sandbox_server.cdp.override_reversal import SCRIPTS
from sandbox_server.cdp.override_suspension import OverrideSuspension
from sandbox_server.cdp.private_mode import HELD_UP, blanked, caught_up, neutral
from sandbox_server.cdp.viewport_overrides import Overrides
from sandbox_server.core.identity import Caller
from sandbox_server.drivers.browser.playwright_errors import GONE

MAX_PENDING = 10_000
"""Commands of one client that Chromium has not answered."""
MAX_VALUE = 64 << 20
"""Bytes of a value that a page's script gives to the API: it becomes many times as large there."""
API = "api"
"""What the API calls itself (`drivers.browser.owner.HEADERS`)."""
_VALUES = frozenset({"Runtime.evaluate", "Runtime.callFunctionOn"})
UNKNOWN = "'{}' wasn't found: nobody has judged what it does"
"""Chromium's own words for a method that it has not (third_party/inspector_protocol/crdtp/dispatch.cc), with the reason."""
NO_SESSION = "Session with given id not found."
"""Chromium's own words (content/browser/devtools/devtools_session.cc), which clients look for."""


_REMOVES = frozenset(SCRIPTS.values())


class _Sent(NamedTuple):
    peer: DevtoolsClient
    id: int
    session: str
    method: str
    script: Object | None = None
    """What is kept of a command that adds a script for new documents."""


class _Question(NamedTuple):
    """What is asked for a client to learn what it was not told."""

    peer: DevtoolsClient
    session: str
    method: str


class Multiplexer:
    """The state of one pipe; a new browser needs a new one.

    `rules` say what clients may send, `noted` is told what they do send, and to which session.
    """

    def __init__(
        self, rules: ClientRules | None = None, noted: Callable[[str, DevtoolsCommand], None] = lambda session, command: None
    ) -> None:
        self._rules = rules or ClientRules()
        self._noted = noted
        self._asked: set[int] = set()
        self._last_id = 0
        self._sent: dict[int, _Sent] = {}
        self._owners: dict[str, DevtoolsClient] = {}
        self._questions: dict[int, _Question] = {}
        self.overrides = Overrides()
        """Which pages clients show as another device."""
        self.suspension = OverrideSuspension(self._rules, self.overrides, self._next_id)
        """What clients put in force in pages, and whether it is."""
        self.hidden_targets = HiddenTargets()
        """What no client sees."""

    @property
    def waiting(self) -> bool:
        """Whether a client waits for an answer."""
        return bool(self._sent)

    def command(self, method: str, params: Object, session: str | None = None) -> tuple[int, bytes]:
        """A command of ours, and the id under which its `OwnReply` will come. It may be for the session of a client's."""
        number = self._next_id()
        if session:
            self._asked.add(number)
        return number, encode({"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {}))

    def unask(self, number: int) -> None:
        """Nobody waits any more for the answer to a command of ours."""
        self._asked.discard(number)

    def releases(self, peer: DevtoolsClient) -> list[bytes]:
        """Commands of ours that release what a client holds down; nobody gets their answers."""
        return [self._unanswered(*release) for release in peer.pressed.take()]

    def see(self, peer: DevtoolsClient) -> list[ToBrowser | ClientMessage]:
        """Keep to whether a client may see pages: what it began stands still, and what it waits for is refused; or goes on again."""
        hidden = not self._rules.sees(peer.caller)
        if hidden == peer.hidden:
            return []
        peer.hidden = hidden
        return [*self._refused(peer), *self._commands(peer.collected.stops())] if hidden else self._shown(peer)

    def shun(self, target: str) -> list[ClientEnded]:
        """Have clients let go of a target that is not for them."""
        ended = []
        for session in self.overrides.of(target):
            peer = self._owners[session]
            if self._rules.trusts(peer.caller):
                continue
            if session == peer.base:
                ended.append(ClientEnded(peer))
            else:
                self.suspension.detach(session, peer)
        return ended

    def _shown(self, peer: DevtoolsClient) -> list[ToBrowser | ClientMessage]:
        asked: list[ToBrowser | ClientMessage] = []
        for session, method in peer.collected.missed():
            number = self._next_id()
            self._questions[number] = _Question(peer, session, method)
            asked.append(ToBrowser(encode({"id": number, "method": method, "params": {}, "sessionId": session})))
        return [*self._commands(peer.collected.starts()), *asked]

    def _refused(self, peer: DevtoolsClient) -> list[ToBrowser | ClientMessage]:
        """Answers to what a client asked before, of which the browser's own answers are dropped."""
        waiting = self._take_back(peer, peer.sessions)
        return [ClientMessage(peer, self._error(sent.id, sent.session, peer, self._rules.hidden)) for sent in waiting]

    def lost(self, peer: DevtoolsClient) -> list[bytes]:
        """Answers to all that a client waits for, of a browser or a page that is gone."""
        return [self._error(sent.id, sent.session, peer, GONE) for sent in self._take_back(peer, peer.sessions)]

    def _take_back(self, peer: DevtoolsClient, sessions: Container[str]) -> list[_Sent]:
        """What a client waits for in some sessions, which it waits for no longer."""
        waiting = {number: sent for number, sent in self._sent.items() if sent.peer is peer and sent.session in sessions}
        for number in waiting:
            del self._sent[number]
        peer.pending -= len(waiting)
        return list(waiting.values())

    def _commands(self, commands: list[Sent]) -> list[ToBrowser | ClientMessage]:
        return [ToBrowser(self._unanswered(*command)) for command in commands]

    def _unanswered(self, session: str, method: str, params: Object) -> bytes:
        return encode({"id": self._next_id(), "method": method, "params": params, "sessionId": session})

    def _error(self, number: int, session: str, peer: DevtoolsClient, reason: str) -> bytes:
        return error_reply(number, SERVER_ERROR, reason, None if session == peer.base else session)

    def add(self, caller: Caller, base: str, page: str | None = None) -> DevtoolsClient:
        """Take in a client for which `base` was attached, to a page or the browser."""
        peer = DevtoolsClient(caller, base, hidden=not self._rules.sees(caller), suspended=self._rules.rests(caller))
        self._own(peer, base, None, page)
        return peer

    def remove(self, peer: DevtoolsClient) -> None:
        """Forget a client; what still arrives for it is dropped. Its base is for the caller to detach."""
        for session in peer.sessions:
            del self._owners[session]
            self.overrides.forget(session)
        self._questions = {number: asked for number, asked in self._questions.items() if asked.peer is not peer}
        self.suspension.forget(peer)
        self._sent = {number: sent for number, sent in self._sent.items() if sent.peer is not peer}

    def from_peer(self, peer: DevtoolsClient, text: str | bytes) -> ToBrowser | ClientMessage:
        """Take what a client sent: it goes to the browser, or an answer goes straight back."""
        try:
            command = read_command(text)
        except NotACommandError as error:
            return ClientMessage(peer, error.reply)
        if command.session is not None and command.session not in peer.sessions:
            return ClientMessage(peer, error_reply(command.id, SESSION_NOT_FOUND, NO_SESSION))
        if effect_of(command.method) is None:
            unknown = self._rules.hidden if peer.hidden else UNKNOWN.format(command.method)
            return ClientMessage(peer, error_reply(command.id, METHOD_NOT_FOUND, unknown, command.session))
        if peer.caller is not OWNER and self.hidden_targets.named(command.parsed.get("params")):
            return ClientMessage(peer, error_reply(command.id, SERVER_ERROR, NO_TARGET, command.session))
        deferred = self._defers(peer, command)
        if reason := self._problem(peer, command, deferred=deferred):
            return ClientMessage(peer, error_reply(command.id, SERVER_ERROR, reason, command.session))
        if deferred:
            return self._deferred(peer, command)
        if command.method in _REMOVES and (removing := self._renamed(peer, command)) is not None:
            return removing
        return self._forward(peer, command)

    def _defers(self, peer: DevtoolsClient, command: DevtoolsCommand) -> bool:
        """Whether a command is begun later: when the client may see again, or when the person lets go of the pages."""
        later = RULES if self._rules.trusts(peer.caller) else DEFERRED
        return (peer.hidden and command.method in HELD_UP) or (peer.suspended and command.method in later)

    def _deferred(self, peer: DevtoolsClient, command: DevtoolsCommand) -> ClientMessage:
        session = command.session or peer.base
        peer.collected.note(session, command)
        peer.overrides.note(session, command)
        return self._done(peer, command)

    def _done(self, peer: DevtoolsClient, command: DevtoolsCommand) -> ClientMessage:
        session = {"sessionId": command.session} if command.session else {}
        return ClientMessage(peer, encode({"id": command.id, "result": {}} | session))

    def _renamed(self, peer: DevtoolsClient, command: DevtoolsCommand) -> ToBrowser | ClientMessage | None:
        """The removal of a script that was added again since the client was told its name, or is not in force now."""
        given = _parameters(command)
        identifier = str(given.get("identifier"))
        known = peer.overrides.removed(command.session or peer.base, identifier)
        if known == identifier:
            return None
        if known is None:
            return self._done(peer, command)
        return self._forward(peer, command._replace(parsed=command.parsed | {"params": given | {"identifier": known}}))

    def from_browser(self, message: bytes) -> ClientMessage | ClientMessages | OwnReply | BrowserEvent | ClientEnded | None:
        """Take what Chromium sent; None when nobody waits for it any more."""
        arrival = read_arrival(message)
        if not isinstance(arrival, BrowserMessage):
            return self._own_business(arrival)
        if arrival.id is not None:
            return self._caught_up(arrival) if arrival.id in self._questions else self._reply(arrival)
        return self._event(arrival)

    def _forward(self, peer: DevtoolsClient, command: DevtoolsCommand) -> ToBrowser | ClientMessage:
        number = self._next_id()
        session = command.session or peer.base
        message = command.encode(number, session)
        if len(message) > MAX_TO_BROWSER:
            return ClientMessage(peer, error_reply(command.id, INVALID_REQUEST, f"Message is over {MAX_TO_BROWSER} bytes", command.session))
        script = _parameters(command) if command.method in SCRIPTS and acts(command) else None
        self._sent[number] = _Sent(peer, command.id, session, command.method, script)
        peer.pending += 1
        self._noted(session, command)
        self.overrides.note(session, command)
        peer.pressed.note(session, command)
        peer.collected.note(session, command)
        peer.overrides.note(session, command)
        return ToBrowser(message)

    def _reply(self, arrival: BrowserMessage) -> ClientMessage | OwnReply | None:
        assert arrival.id is not None
        if arrival.id in self._asked:
            return OwnReply(arrival.id, orjson.loads(arrival.message))
        if self.suspension.answered(arrival):
            return None
        sent = self._sent.pop(arrival.id, None)
        if sent is None:
            return None
        sent.peer.pending -= 1
        if sent.script is not None:
            self.suspension.keep(sent.peer, sent.session, sent.method, sent.script, arrival)
        if sent.method in _VALUES and sent.peer.caller.name == API and len(arrival.message) > MAX_VALUE:
            session = sent.session if sent.session != sent.peer.base else None
            return ClientMessage(sent.peer, _too_large(sent.id, session))
        if sent.peer.caller is not OWNER:
            arrival = self.hidden_targets.reply(sent.method, arrival)
        if sent.peer.hidden and sent.method == "Page.getFrameTree":
            arrival = blanked(arrival)
        return ClientMessage(sent.peer, arrival.readdressed(sent.id, keep_session=sent.session != sent.peer.base))

    def _caught_up(self, arrival: BrowserMessage) -> ClientMessages | None:
        """What a client was not told in private, as events; nothing if it may not see again by now, or the session ended."""
        assert arrival.id is not None
        peer, session, method = self._questions.pop(arrival.id)
        result = orjson.loads(arrival.message).get("result")
        if peer.hidden or result is None:
            return None
        result = self.hidden_targets.without(result)
        address = {} if session == peer.base else {"sessionId": session}
        return ClientMessages(peer, [encode(event | address) for event in caught_up(method, result)])

    def _event(self, arrival: BrowserMessage) -> ClientMessage | ClientMessages | None:
        peer = self._owners.get(arrival.session)
        if peer is None:
            return None
        if peer.caller is not OWNER and (unseen := self.hidden_targets.event(arrival)):
            self.suspension.shun(arrival.session, unseen)
            return None
        lost = self._follow(peer, orjson.loads(arrival.message)) if arrival.is_attachment else []
        told = neutral(arrival) if peer.hidden else arrival
        if told is None:
            return None
        event = told.event(keep_session=told.session != peer.base)
        return ClientMessages(peer, [event, *lost]) if lost else ClientMessage(peer, event)

    def _follow(self, peer: DevtoolsClient, event: Object) -> list[bytes]:
        """Keep to the sessions that there are; what comes back is for the client, after the event."""
        session = event["params"]["sessionId"]
        if event["method"] == "Target.attachedToTarget":
            info = event["params"].get("targetInfo", {})
            self._own(peer, session, event["sessionId"], info.get("targetId"))
            self.suspension.greet(peer, session, info, waits=bool(event["params"].get("waitingForDebugger")))
            return []
        return self._end(peer, peer.below(session)) if session in peer.sessions else []

    def _end(self, peer: DevtoolsClient, sessions: list[str]) -> list[bytes]:
        """Forget sessions, and answer what was asked in them.

        Each answer names its session, which clients that keep books of them have crossed out by then, and drop it.
        """
        for ended in sessions:
            del self._owners[ended], peer.sessions[ended]
            self.overrides.forget(ended)
            peer.pressed.forget(ended)
            peer.collected.forget(ended)
            peer.overrides.forget(ended)
        self._questions = {number: asked for number, asked in self._questions.items() if asked.session not in sessions}
        return [error_reply(sent.id, SESSION_NOT_FOUND, NO_SESSION, sent.session) for sent in self._take_back(peer, sessions)]

    def _own_business(self, parsed: Object) -> ClientMessage | ClientMessages | OwnReply | BrowserEvent | ClientEnded | None:
        if "method" in parsed:
            return self._notice(parsed["method"], parsed.get("params", {}))
        number = parsed.get("id")
        if not isinstance(number, int):
            return None
        sent = self._sent.pop(number, None)
        if sent is None:
            return OwnReply(number, parsed)
        sent.peer.pending -= 1  # its session ended before Chromium read the command
        return ClientMessage(sent.peer, encode({**parsed, "id": sent.id}))

    def _notice(self, method: str, params: Object) -> BrowserEvent | ClientEnded | None:
        if method != "Target.detachedFromTarget":
            return BrowserEvent(method, params)
        peer = self._owners.get(params["sessionId"])
        return ClientEnded(peer) if peer else None

    def _own(self, peer: DevtoolsClient, session: str, above: str | None, target: str | None) -> None:
        self._owners[session] = peer
        peer.sessions[session] = above
        if target:
            self.overrides.attached(session, target)

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _problem(self, peer: DevtoolsClient, command: DevtoolsCommand, *, deferred: bool) -> str | None:
        if peer.pending >= MAX_PENDING:
            return f"{MAX_PENDING} commands wait for an answer"
        return self._rules.never(peer.caller, command) if deferred else self._rules.refusal(peer.caller, command)


def _parameters(command: DevtoolsCommand) -> Object:
    params = command.parsed.get("params")
    return params if isinstance(params, dict) else {}


def _too_large(command: int, session: str | None) -> bytes:
    """What a script that threw would answer: Playwright takes another error for the end of the document."""
    thrown = {"type": "object", "subtype": "error", "className": "Error", "description": f"Error: The result is over {MAX_VALUE} bytes"}
    details = {"exceptionId": 0, "text": "Uncaught", "lineNumber": 0, "columnNumber": 0, "exception": thrown}
    reply: Object = {"id": command, "result": {"result": thrown, "exceptionDetails": details}}
    return encode(reply | ({"sessionId": session} if session else {}))
