"""What one client has put in force in pages: taken off while a person has control, and put back afterwards.

Each command with a lasting effect is kept as last sent, by session. Scripts for new documents are kept by the
identifiers that the client knows. An effect that cannot be undone ends its session.
"""

from collections.abc import Container
from dataclasses import dataclass
from typing import Any, NamedTuple

from sandbox_server.cdp.messages import DevtoolsCommand, Object, encode
from sandbox_server.cdp.methods import effect_of
from sandbox_server.cdp.override_reversal import AGAIN, SCRIPTS, UNDONE, Reversal

MAX_KEPT = 1000
"""Limit of kept commands and scripts per client. A session beyond it ends when a person takes control."""
DEFERRED = frozenset({"Fetch.enable", "Emulation.setEmulatedMedia", "Debugger.enable"})
"""Commands that clients send to every new page. While a person has control they are deferred instead of refused."""
RULES = frozenset({"Fetch.enable", "Network.setExtraHTTPHeaders", "Network.setCacheDisabled"})
"""Commands that the API sends to every new page for request rules. They are deferred too."""

type Sent = tuple[str, str, Object]
"""A session id, and a method with its parameters for it."""


class Added(NamedTuple):
    """A script to add again, under the identifier that the client knows."""

    session: str
    identifier: str
    method: str
    params: Object


@dataclass(slots=True)
class _Script:
    method: str
    params: Object
    known: str | None
    """The identifier that Chromium gave; None while the script is taken off."""


class ClientOverrides:
    """Follows the commands of one client."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, bytes], Object] = {}
        self._scripts: dict[tuple[str, str], _Script] = {}
        self.ending: set[str] = set()
        """Sessions with an effect that only ending the session takes off."""

    def note(self, session: str, command: DevtoolsCommand) -> None:
        """Record a command that was sent to a session."""
        params: Any = command.parsed.get("params")
        given: Object = params if isinstance(params, dict) else {}
        if command.method in SCRIPTS:
            return  # recorded when Chromium has answered with its identifier
        if undone := UNDONE.get(command.method):
            self._keep(session, command.method, undone, given)
        elif effect_of(command.method) == "ends":
            self.ending.add(session)
        elif command.method.endswith(".disable"):
            self._drop_domain(session, command.method.partition(".")[0])
        else:
            self._drop(session, command.method, given)

    def added(self, session: str, method: str, params: Object, identifier: str) -> None:
        """Record a script with the identifier that Chromium gave it."""
        if self._full():
            self.ending.add(session)
            return
        self._scripts[session, identifier] = _Script(method, params, identifier)

    def readded(self, session: str, identifier: str, known: str) -> bool:
        """Store the new identifier of a script that was added again.

        Return False if the client has removed it meanwhile.
        """
        script = self._scripts.get((session, identifier))
        if script:
            script.known = known
        return script is not None

    def removed(self, session: str, identifier: str) -> str | None:
        """Forget a script that the client removes. Return Chromium's identifier; None if it has none now."""
        script = self._scripts.pop((session, identifier), None)
        return script.known if script else identifier

    def forget(self, session: str) -> None:
        """Forget a session that ended, and everything that was in force in it."""
        self._kept = {at: params for at, params in self._kept.items() if at[0] != session}
        self._scripts = {at: script for at, script in self._scripts.items() if at[0] != session}
        self.ending.discard(session)

    def drop(self, methods: Container[str]) -> None:
        """Forget what some methods have put in force, in every session."""
        self._kept = {at: params for at, params in self._kept.items() if at[1] not in methods}

    def take_off(self) -> list[Sent]:
        """Return the commands, each with its session, that take everything off."""
        found: dict[bytes, Sent] = {}
        for (session, method, _), params in reversed(self._kept.items()):
            undone = UNDONE[method]
            for off, more in undone.off:
                sent = session, off, {**{name: params[name] for name in undone.carried if name in params}, **more}
                found[encode({"sent": sent})] = sent
        for (session, _), script in self._scripts.items():
            if script.known is not None:
                sent = session, SCRIPTS[script.method], {"identifier": script.known}
                found[encode({"sent": sent})] = sent
                script.known = None
        return list(found.values())

    def put_back(self) -> list[Sent]:
        """Return the commands that put everything back in force, except scripts."""
        return [
            (session, method if back == AGAIN else back, params if back == AGAIN else more)
            for (session, method, _), params in self._kept.items()
            for back, more in UNDONE[method].back
        ]

    def scripts(self) -> list[Added]:
        """The scripts that were taken off."""
        return [
            Added(session, identifier, script.method, script.params)
            for (session, identifier), script in self._scripts.items()
            if script.known is None
        ]

    def _keep(self, session: str, method: str, undone: Reversal, params: Object) -> None:
        if method.endswith(".setDownloadBehavior") and params.get("behavior") == "default":
            self._drop_same(session, {method}, undone, params)
            return
        at = session, method, _key(undone.key, params)
        if self._kept.pop(at, None) is None and self._full():
            self.ending.add(session)
            return
        self._kept[at] = params

    def _full(self) -> bool:
        return len(self._kept) + len(self._scripts) >= MAX_KEPT

    def _drop(self, session: str, method: str, params: Object) -> None:
        """Forget an effect that the client itself took off."""
        for name, undone in _TAKEN_OFF.get(method, ()):
            self._drop_same(session, {name}, undone, params)

    def _drop_same(self, session: str, methods: Container[str], undone: Reversal, params: Object) -> None:
        wanted = _key(undone.carried, params)
        for at, kept in list(self._kept.items()):
            if at[0] == session and at[1] in methods and _key(undone.carried, kept) == wanted:
                del self._kept[at]

    def _drop_domain(self, session: str, domain: str) -> None:
        ended = ("Debugger.", "DOMDebugger.") if domain == "Debugger" else (f"{domain}.",)
        self._kept = {at: params for at, params in self._kept.items() if at[0] != session or not at[1].startswith(ended)}
        if domain == "Page":
            self._scripts = {at: script for at, script in self._scripts.items() if at[0] != session}


def _key(names: tuple[str, ...], params: Object) -> bytes:
    return encode({"key": [params.get(name) for name in names]})


def _taken_off() -> dict[str, list[tuple[str, Reversal]]]:
    """For each method, the effects of other methods that it takes off."""
    found: dict[str, list[tuple[str, Reversal]]] = {}
    for name, undone in UNDONE.items():
        if len(undone.off) == 1 and (off := undone.off[0][0]) != name and not off.startswith("Debugger."):
            found.setdefault(off, []).append((name, undone))
    return found


_TAKEN_OFF = _taken_off()
