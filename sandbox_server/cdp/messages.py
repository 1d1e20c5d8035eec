"""DevTools messages as bytes: where they end, whose they are, and what clients are told when they are wrong.

Chromium writes NUL-terminated JSON to its pipe, always with `"id"` or `"method"` first and `"sessionId"` last, so a message
is routed by looking at its two ends; a screenshot of 10 MB is never parsed here. What a client sends is parsed whole and
written anew, so that no doubled key can mean one thing to us and another to Chromium.
"""

import json
import re
from typing import Any, NamedTuple

import orjson

MAX_TO_BROWSER = 99 * 1024 * 1024
"""Chromium closes the pipe on a message over 100 MiB (kReceiveBufferSizeForDevTools in content/browser/devtools)."""
MAX_FROM_BROWSER = 256 * 1024 * 1024

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
SERVER_ERROR = -32000
SESSION_NOT_FOUND = -32001

_REPLY = re.compile(rb'\{"id":(\d{1,15}),')
_SESSION_KEY = b',"sessionId":"'
_SESSION = slice(-34, -2)
_SESSION_START = -34 - len(_SESSION_KEY)
_ATTACHMENT = (b'{"method":"Target.attachedToTarget"', b'{"method":"Target.detachedFromTarget"')

type Object = dict[str, Any]


class NotACommandError(ValueError):
    """A client sent something that is not a command; `reply` is what Chromium would answer."""

    def __init__(self, code: int, message: str, command: int | None = None) -> None:
        super().__init__(message)
        self.reply = error_reply(command, code, message)


class DevtoolsCommand(NamedTuple):
    """What a client asks for."""

    id: int
    method: str
    session: str | None
    parsed: Object

    def encode(self, number: int, session: str) -> bytes:
        """The command under another id, for a session."""
        return encode({**self.parsed, "id": number, "sessionId": session})


class BrowserMessage(NamedTuple):
    """A message of Chromium's that belongs to a session: a reply when `id` is set, else an event."""

    id: int | None
    session: str
    message: bytes

    @property
    def is_attachment(self) -> bool:
        """Whether a session was opened or closed below this one."""
        return self.message.startswith(_ATTACHMENT)

    def readdressed(self, number: int, *, keep_session: bool) -> bytes:
        """The reply as the client expects it: under its own id, without a session that it does not know of."""
        start = self.message.index(b",")
        return b'{"id":%d%b' % (number, self._from(start, keep_session=keep_session))

    def event(self, *, keep_session: bool) -> bytes:
        """The event as the client expects it."""
        return self._from(0, keep_session=keep_session)

    def _from(self, start: int, *, keep_session: bool) -> bytes:
        return self.message[start:] if keep_session else self.message[start:_SESSION_START] + b"}"


def read_command(text: str | bytes) -> DevtoolsCommand:
    """Read what a client sent; raises NotACommandError."""
    parsed = _parse(text)
    if not isinstance(parsed, dict):
        raise NotACommandError(INVALID_REQUEST, "Message must be an object")
    number, method, session = parsed.get("id"), parsed.get("method"), parsed.get("sessionId")
    if not isinstance(number, int) or isinstance(number, bool):
        raise NotACommandError(INVALID_REQUEST, "Message must have integer 'id' property")
    if not isinstance(method, str):
        raise NotACommandError(INVALID_REQUEST, "Message must have string 'method' property", number)
    if session is not None and not isinstance(session, str):
        raise NotACommandError(INVALID_REQUEST, "Message may have string 'sessionId' property", number)
    return DevtoolsCommand(number, method, session, parsed)


def _parse(text: str | bytes) -> object:
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    try:
        return json.loads(text)  # JavaScript may send half a surrogate pair, which orjson refuses
    except (ValueError, RecursionError):
        raise NotACommandError(PARSE_ERROR, "Message must be a valid JSON") from None


def read_arrival(message: bytes) -> BrowserMessage | Object:
    """Tell whose message Chromium's is; one without a session is ours, and comes back parsed."""
    if message[_SESSION_START:-34] == _SESSION_KEY and message.endswith(b'"}'):
        reply = _REPLY.match(message)
        return BrowserMessage(int(reply[1]) if reply else None, message[_SESSION].decode(), message)
    return read_message(message)


def read_message(message: bytes) -> Object:
    """Read what the browser said, which may hold half surrogate pairs of a page's; raises NotACommandError for what nests too deep."""
    parsed: Object = _parse(message)  # type: ignore[assignment]
    return parsed


def encode(value: Object) -> bytes:
    """Write JSON."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value).encode()


def error_reply(command: int | None, code: int, message: str, session: str | None = None) -> bytes:
    """What Chromium answers to a command that it does not carry out."""
    reply: Object = {} if command is None else {"id": command}
    reply["error"] = {"code": code, "message": message}
    return encode(reply | ({"sessionId": session} if session else {}))


class Splitter:
    """Cuts Chromium's stream into messages.

    One over `limit` is not held: a reply becomes an error under the same id and session, an event is dropped.
    """

    def __init__(self, limit: int = MAX_FROM_BROWSER) -> None:
        self._limit = limit
        self._chunks: list[bytes] = []
        self._held = 0
        self._head = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take what was read and give the messages that it completes."""
        *ended, rest = chunk.split(b"\0")
        messages = []
        for part in ended:
            self._hold(part)
            if message := self._take():
                messages.append(message)
        self._hold(rest)
        return messages

    def _hold(self, part: bytes) -> None:
        if not part:
            return
        self._chunks.append(part)
        self._held += len(part)
        if self._held > self._limit:
            whole = b"".join(self._chunks)
            self._head = self._head or whole[:64]
            self._chunks = [whole[_SESSION_START:]]

    def _take(self) -> bytes:
        message, head = b"".join(self._chunks), self._head
        self._chunks, self._held, self._head = [], 0, b""
        return _refusal_of(head, message, f"The result is over {self._limit} bytes") if head else message


def refusal(message: bytes, reason: str) -> bytes:
    """An error in place of a message; empty where nobody waits for it."""
    return _refusal_of(message[:64], message, reason)


def _refusal_of(head: bytes, tail: bytes, reason: str) -> bytes:
    reply = _REPLY.match(head)
    if reply is None:
        return b""
    owned = tail[_SESSION_START:-34] == _SESSION_KEY
    session = tail[_SESSION].decode() if owned else None
    return error_reply(int(reply[1]), SERVER_ERROR, reason, session)
