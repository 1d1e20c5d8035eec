"""DevTools messages as bytes: splitting, routing by id and session, and errors for malformed messages.

Chromium's pipe carries NUL-terminated JSON with `"id"` or `"method"` first and `"sessionId"` last. So a message is
routed by its two ends, and a screenshot of 10 MB is never parsed here.

A client's message is parsed whole and encoded again. So a duplicate key cannot mean one thing here and another to
Chromium.
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
    """A client sent something that is not a command. `reply` is the error that Chromium would send."""

    def __init__(self, code: int, message: str, command: int | None = None) -> None:
        super().__init__(message)
        self.reply = error_reply(command, code, message)


class DevtoolsCommand(NamedTuple):
    """A command of a client."""

    id: int
    method: str
    session: str | None
    parsed: Object

    def encode(self, number: int, session: str) -> bytes:
        """Encode the command with another id, for a session."""
        return encode({**self.parsed, "id": number, "sessionId": session})


class BrowserMessage(NamedTuple):
    """A message of Chromium that belongs to a session: a reply if `id` is set, else an event."""

    id: int | None
    session: str
    message: bytes

    @property
    def is_attachment(self) -> bool:
        """Whether the message reports that a session was opened or closed below this one."""
        return self.message.startswith(_ATTACHMENT)

    def readdressed(self, number: int, *, keep_session: bool) -> bytes:
        """Return the reply with the client's own id, and without the session if the client does not know it."""
        start = self.message.index(b",")
        return b'{"id":%d%b' % (number, self._from(start, keep_session=keep_session))

    def event(self, *, keep_session: bool) -> bytes:
        """Return the event in the form that the client expects."""
        return self._from(0, keep_session=keep_session)

    def _from(self, start: int, *, keep_session: bool) -> bytes:
        return self.message[start:] if keep_session else self.message[start:_SESSION_START] + b"}"


def read_command(text: str | bytes) -> DevtoolsCommand:
    """Parse a client's message; raises NotACommandError."""
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
    """Find the session of Chromium's message.

    A message without a session is for the server itself and comes back parsed.
    """
    if message[_SESSION_START:-34] == _SESSION_KEY and message.endswith(b'"}'):
        reply = _REPLY.match(message)
        return BrowserMessage(int(reply[1]) if reply else None, message[_SESSION].decode(), message)
    return read_message(message)


def read_message(message: bytes) -> Object:
    """Parse a message of the browser, which may hold half surrogate pairs.

    Raises NotACommandError if it nests too deep.
    """
    parsed: Object = _parse(message)  # type: ignore[assignment]
    return parsed


def encode(value: Object) -> bytes:
    """Encode a value as JSON."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value).encode()


def error_reply(command: int | None, code: int, message: str, session: str | None = None) -> bytes:
    """Return Chromium's error reply to a command."""
    reply: Object = {} if command is None else {"id": command}
    reply["error"] = {"code": code, "message": message}
    return encode(reply | ({"sessionId": session} if session else {}))


def script_error(command: int, message: str, session: str | None = None) -> bytes:
    """Return the reply to a script that threw. Playwright takes any other error for the end of the document."""
    thrown = {"type": "object", "subtype": "error", "className": "Error", "description": f"Error: {message}"}
    details = {"exceptionId": 0, "text": "Uncaught", "lineNumber": 0, "columnNumber": 0, "exception": thrown}
    reply: Object = {"id": command, "result": {"result": thrown, "exceptionDetails": details}}
    return encode(reply | ({"sessionId": session} if session else {}))


class Splitter:
    """Splits Chromium's byte stream into messages.

    A message over `limit` is not stored: a reply becomes an error with the same id and session, an event is dropped.
    """

    def __init__(self, limit: int = MAX_FROM_BROWSER) -> None:
        self._limit = limit
        self._chunks: list[bytes] = []
        self._held = 0
        self._head = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take a chunk and return the messages that it completes."""
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
    """Return an error in place of a message; empty if nobody waits for it."""
    return _refusal_of(message[:64], message, reason)


def _refusal_of(head: bytes, tail: bytes, reason: str) -> bytes:
    reply = _REPLY.match(head)
    if reply is None:
        return b""
    owned = tail[_SESSION_START:-34] == _SESSION_KEY
    session = tail[_SESSION].decode() if owned else None
    return error_reply(int(reply[1]), SERVER_ERROR, reason, session)
