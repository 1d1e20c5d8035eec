"""Multiplexes many DevTools clients over one pipe: session ownership and reply routing, without sockets or clocks.

Each client gets its own session on the browser or on one page, its base, in Chromium's flat mode. Its commands get new
ids and go to its base or to a session below it; replies and events are routed by session. So each client sees the
browser as if it were alone, and ending its base undoes all that it set up.

Chromium does not answer commands that are open when their session ends. Here each of them gets the error that Chromium
gives to a command for an ended session, so no client waits for ever.
"""

from collections.abc import Callable, Container
from typing import NamedTuple

import orjson

from sandbox_server.cdp.client_overrides import DEFERRED, RULES, Sent
from sandbox_server.cdp.command_effects import acts
from sandbox_server.cdp.command_rules import DOWNLOADS, ON_TARGETS, ONLY_ON_TARGETS, OWNER, ClientRules
from sandbox_server.cdp.devtools_clients import (
    BrowserEvent,
    ClientEnded,
    ClientMessage,
    ClientMessages,
    DevtoolsClient,
    OwnReply,
    ToBrowser,
)
from sandbox_server.cdp.hidden_targets import HiddenTargets
from sandbox_server.cdp.lane_rules import in_lane, outside, seen
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
    script_error,
)
from sandbox_server.cdp.methods import effect_of
from sandbox_server.cdp.override_reversal import SCRIPTS
from sandbox_server.cdp.override_suspension import OverrideSuspension
from sandbox_server.cdp.private_mode import HELD_UP, blanked, caught_up, neutral
from sandbox_server.cdp.viewport_overrides import Overrides
from sandbox_server.core.identity import Caller
from sandbox_server.drivers.browser.playwright_errors import GONE

MAX_PENDING = 10_000
"""Limit of open commands per client."""
MAX_VALUE = 64 << 20
"""Limit in bytes of a script's result for the API, where it takes many times the memory."""
API = "api"
"""The subject of the API's own caller (`drivers.devtools.connection.HEADERS`)."""
_VALUES = frozenset({"Runtime.evaluate", "Runtime.callFunctionOn"})
UNKNOWN = "'{}' wasn't found: it is not in Tandem's list of methods"
"""Chromium's error for an unknown method (third_party/inspector_protocol/crdtp/dispatch.cc), with our reason."""
NO_SESSION = "Session with given id not found."
"""Chromium's error text (content/browser/devtools/devtools_session.cc), which clients compare."""


_REMOVES = frozenset(SCRIPTS.values())


class _Sent(NamedTuple):
    peer: DevtoolsClient
    id: int
    session: str
    method: str
    script: Object | None = None
    """The parameters of a command that adds a script for new documents."""


class _Question(NamedTuple):
    """A query to the browser, so that a client catches up on events that were withheld."""

    peer: DevtoolsClient
    session: str
    method: str


class Multiplexer:
    """The state of one pipe. A new browser needs a new one.

    `rules` decide what clients may send. `noted` is called with each session and command that they send.
    """

    def __init__(
        self,
        rules: ClientRules | None = None,
        noted: Callable[[str, DevtoolsCommand], None] = lambda session, command: None,
    ) -> None:
        self._rules = rules or ClientRules()
        self._noted = noted
        self._asked: set[int] = set()
        self._last_id = 0
        self._sent: dict[int, _Sent] = {}
        self._owners: dict[str, DevtoolsClient] = {}
        self._questions: dict[int, _Question] = {}
        self.overrides = Overrides()
        """The pages with a viewport that a client overrides."""
        self.suspension = OverrideSuspension(self._rules, self.overrides, self._next_id)
        """The overrides of clients, and whether they are in force."""
        self.hidden_targets = HiddenTargets()
        """The targets that not every client may see."""

    @property
    def waiting(self) -> bool:
        """Whether a client waits for an answer."""
        return bool(self._sent)

    def command(self, method: str, params: Object, session: str | None = None) -> tuple[int, bytes]:
        """Encode a command of the server's own, and return the id of its `OwnReply`.

        A client's session is allowed too.
        """
        number = self._next_id()
        if session:
            self._asked.add(number)
        return number, encode({"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {}))

    def unask(self, number: int) -> None:
        """Forget a command of the server's own: its answer is dropped."""
        self._asked.discard(number)

    def releases(self, peer: DevtoolsClient) -> list[bytes]:
        """Return commands that release what a client holds down. Their answers are dropped."""
        return [self._unanswered(*release) for release in peer.pressed.take()]

    def see(self, peer: DevtoolsClient) -> list[ToBrowser | ClientMessage]:
        """Apply whether a client may see pages.

        If not, its event streams stop and its open commands are refused. If it may again, they continue.
        """
        hidden = not self._rules.sees(peer.caller)
        if hidden == peer.hidden:
            return []
        peer.hidden = hidden
        return [*self._refused(peer), *self._commands(peer.collected.stops())] if hidden else self._shown(peer)

    def shun(self, target: str) -> list[ClientEnded]:
        """Detach clients from a target that they may not see."""
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
        """Refuse a client's open commands. The browser's answers to them will be dropped."""
        waiting = self._take_back(peer, peer.sessions)
        return [ClientMessage(peer, self._error(sent.id, sent.session, peer, self._rules.hidden)) for sent in waiting]

    def forget_downloads(self) -> None:
        """Forget where clients have downloads saved: it is not put in force again."""
        for peer in set(self._owners.values()):
            peer.overrides.drop(DOWNLOADS)

    def lost(self, peer: DevtoolsClient) -> list[bytes]:
        """Return errors for all open commands of a client whose browser or page is gone."""
        return [self._error(sent.id, sent.session, peer, GONE) for sent in self._take_back(peer, peer.sessions)]

    def _take_back(self, peer: DevtoolsClient, sessions: Container[str]) -> list[_Sent]:
        """Remove and return a client's open commands in some sessions."""
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

    def add(self, caller: Caller, base: str, page: str | None = None, lane: str | None = None) -> DevtoolsClient:
        """Add a client, in the lane of a context or in none, whose base session `base` is attached to a page or the browser."""
        peer = DevtoolsClient(caller, base, lane, hidden=not self._rules.sees(caller), suspended=self._rules.rests(caller))
        self._own(peer, base, None, page)
        return peer

    def remove(self, peer: DevtoolsClient) -> None:
        """Forget a client. Messages for it are dropped. The caller has to detach its base session."""
        for session in peer.sessions:
            del self._owners[session]
            self.overrides.forget(session)
        self._questions = {number: asked for number, asked in self._questions.items() if asked.peer is not peer}
        self.suspension.forget(peer)
        self._sent = {number: sent for number, sent in self._sent.items() if sent.peer is not peer}

    def from_peer(self, peer: DevtoolsClient, text: str | bytes) -> ToBrowser | ClientMessage:
        """Take a client's message. It goes to the browser, or the client gets an answer at once."""
        try:
            command = read_command(text)
        except NotACommandError as error:
            return ClientMessage(peer, error.reply)
        if command.session is not None and command.session not in peer.sessions:
            return ClientMessage(peer, error_reply(command.id, SESSION_NOT_FOUND, NO_SESSION))
        if effect_of(command.method) is None:
            unknown = self._rules.hidden if peer.hidden else UNKNOWN.format(command.method)
            return ClientMessage(peer, error_reply(command.id, METHOD_NOT_FOUND, unknown, command.session))
        if reason := outside(peer, command, self.hidden_targets):
            return ClientMessage(peer, error_reply(command.id, SERVER_ERROR, reason, command.session))
        command = in_lane(peer, command)
        deferred = self._defers(peer, command)
        if reason := self._problem(peer, command, deferred=deferred):
            return ClientMessage(peer, error_reply(command.id, SERVER_ERROR, reason, command.session))
        if deferred:
            return self._deferred(peer, command)
        if command.method in _REMOVES and (removing := self._renamed(peer, command)) is not None:
            return removing
        return self._forward(peer, self._rules.kept_in_place(peer.caller, command))

    def _defers(self, peer: DevtoolsClient, command: DevtoolsCommand) -> bool:
        """Whether a command is sent later: when the client may see again, or when the person releases control."""
        later = RULES if self._rules.trusts(peer.caller) else DEFERRED
        return (peer.hidden and command.method in HELD_UP) or (peer.suspended and command.method in later)

    def _deferred(self, peer: DevtoolsClient, command: DevtoolsCommand) -> ClientMessage:
        session = command.session or peer.base
        command = self._rules.kept_in_place(peer.caller, command)
        peer.collected.note(session, command)
        peer.overrides.note(session, command)
        return self._done(peer, command)

    def _done(self, peer: DevtoolsClient, command: DevtoolsCommand) -> ClientMessage:
        session = {"sessionId": command.session} if command.session else {}
        return ClientMessage(peer, encode({"id": command.id, "result": {}} | session))

    def _renamed(self, peer: DevtoolsClient, command: DevtoolsCommand) -> ToBrowser | ClientMessage | None:
        """Handle the removal of a script whose identifier has changed, or which is not in force now."""
        given = _parameters(command)
        identifier = str(given.get("identifier"))
        known = peer.overrides.removed(command.session or peer.base, identifier)
        if known == identifier:
            return None
        if known is None:
            return self._done(peer, command)
        return self._forward(peer, command._replace(parsed=command.parsed | {"params": given | {"identifier": known}}))

    def from_browser(self, message: bytes) -> ClientMessage | ClientMessages | OwnReply | BrowserEvent | ClientEnded | None:
        """Take a message of Chromium. None means that nobody waits for it."""
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
            return ClientMessage(sent.peer, script_error(sent.id, f"The result is over {MAX_VALUE} bytes", session))
        arrival = seen(sent.peer, sent.method, arrival, self.hidden_targets)
        if sent.peer.hidden and sent.method == "Page.getFrameTree":
            arrival = blanked(arrival)
        return ClientMessage(sent.peer, arrival.readdressed(sent.id, keep_session=sent.session != sent.peer.base))

    def _caught_up(self, arrival: BrowserMessage) -> ClientMessages | None:
        """Return events that a client missed in private mode; None if it may not see now, or the session has ended."""
        assert arrival.id is not None
        peer, session, method = self._questions.pop(arrival.id)
        result = orjson.loads(arrival.message).get("result")
        if peer.hidden or result is None:
            return None
        result = self.hidden_targets.without(result, peer.lane)
        address = {} if session == peer.base else {"sessionId": session}
        return ClientMessages(peer, [encode(event | address) for event in caught_up(method, result)])

    def _event(self, arrival: BrowserMessage) -> ClientMessage | ClientMessages | None:
        peer = self._owners.get(arrival.session)
        if peer is None:
            return None
        if peer.caller is not OWNER and (unseen := self.hidden_targets.event(arrival, peer.lane)):
            self.suspension.shun(arrival.session, unseen)
            return None
        lost = self._follow(peer, orjson.loads(arrival.message)) if arrival.is_attachment else []
        told = neutral(arrival) if peer.hidden else arrival
        if told is None:
            return None
        event = told.event(keep_session=told.session != peer.base)
        return ClientMessages(peer, [event, *lost]) if lost else ClientMessage(peer, event)

    def _follow(self, peer: DevtoolsClient, event: Object) -> list[bytes]:
        """Follow attached and detached sessions. Return errors for the client, to send after the event."""
        session = event["params"]["sessionId"]
        if event["method"] == "Target.attachedToTarget":
            info = event["params"].get("targetInfo", {})
            self._own(peer, session, event["sessionId"], info.get("targetId"), info.get("type"))
            self.suspension.greet(peer, session, info, waits=bool(event["params"].get("waitingForDebugger")))
            return []
        return self._end(peer, peer.below(session)) if session in peer.sessions else []

    def _end(self, peer: DevtoolsClient, sessions: list[str]) -> list[bytes]:
        """Forget sessions and return errors for their open commands.

        Each error names its session. Clients that track sessions ignore errors for ended ones.
        """
        for ended in sessions:
            del self._owners[ended], peer.sessions[ended]
            peer.whole.discard(ended)
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

    def _own(self, peer: DevtoolsClient, session: str, above: str | None, target: str | None, kind: str = "page") -> None:
        self._owners[session] = peer
        peer.sessions[session] = above
        if target is None or kind == "browser":
            peer.whole.add(session)
        else:
            self.overrides.attached(session, target)

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _problem(self, peer: DevtoolsClient, command: DevtoolsCommand, *, deferred: bool) -> str | None:
        if peer.pending >= MAX_PENDING:
            return f"{MAX_PENDING} commands wait for an answer"
        if command.method in ON_TARGETS and peer.caller is not OWNER and (command.session or peer.base) in peer.whole:
            return f"{command.method} {ONLY_ON_TARGETS}"
        return self._rules.never(peer.caller, command) if deferred else self._rules.refusal(peer.caller, command)


def _parameters(command: DevtoolsCommand) -> Object:
    params = command.parsed.get("params")
    return params if isinstance(params, dict) else {}
