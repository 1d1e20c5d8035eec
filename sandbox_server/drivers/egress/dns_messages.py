"""DNS messages, as far as a responder needs them that forwards nothing: the header and one question (RFC 1035).

What follows the question in a query is not read, so there is nothing to follow: no compression, no record, no option.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum

MAX_UDP = 4096
"""Limit in bytes of a query."""
_HEADER = struct.Struct("!6H")
_QUESTION_TAIL = struct.Struct("!HH")
_RECORD = struct.Struct("!HHHIH")
_AT_QUESTION = 0xC000 | _HEADER.size
"""A compressed name that refers to the question's."""
_RESPONSE, _RECURSION_DESIRED, _RECURSION_AVAILABLE = 0x8000, 0x0100, 0x0080
_OPCODE = 0x7800
_MAX_WIRE_NAME = 255


class RecordType(IntEnum):
    """Types of records that get an answer of their own."""

    A = 1
    PTR = 12
    AAAA = 28
    SVCB = 64
    HTTPS = 65


class ResponseCode(IntEnum):
    """Outcomes of a query."""

    NOERROR = 0
    FORMERR = 1
    SERVFAIL = 2
    NXDOMAIN = 3
    NOTIMP = 4


IN = 1
"""The only class."""


class NoDnsQuery(ValueError):
    """The packet is no query: it gets no answer, so that two responders never answer each other."""


@dataclass(frozen=True, slots=True)
class DnsQuery:
    """A query. `name` is its question's, in lower case and without the last dot; None if it cannot be a host's."""

    identity: int
    flags: int
    name: str | None = None
    kind: int = 0
    of: int = IN
    question: bytes = b""
    malformed: bool = False

    @property
    def standard(self) -> bool:
        """Whether it is a query, and not a notification, an update or the like."""
        return not self.flags & _OPCODE


def parse_query(packet: bytes) -> DnsQuery:
    """Read a query; raises NoDnsQuery. A malformed one is given with `malformed`, because it is answered."""
    if not _HEADER.size <= len(packet) <= MAX_UDP:
        raise NoDnsQuery
    identity, flags, questions, *_ = _HEADER.unpack_from(packet)
    if flags & _RESPONSE:
        raise NoDnsQuery
    malformed = DnsQuery(identity, flags, malformed=True)
    if flags & _OPCODE:
        return DnsQuery(identity, flags)
    labels, end = _labels(packet)
    if questions != 1 or end is None or end + _QUESTION_TAIL.size > len(packet):
        return malformed
    kind, of = _QUESTION_TAIL.unpack_from(packet, end)
    return DnsQuery(identity, flags, _text(labels), kind, of, packet[_HEADER.size : end + _QUESTION_TAIL.size])


def _labels(packet: bytes) -> tuple[list[bytes], int | None]:
    """Read the question's labels, and where they end; None if they do not. A pointer is refused: nothing comes before the question."""
    labels: list[bytes] = []
    position = _HEADER.size
    while position < len(packet) and position - _HEADER.size < _MAX_WIRE_NAME:
        length = packet[position]
        position += 1
        if length == 0:
            return labels, position
        if length > 63:
            break
        labels.append(packet[position : position + length])
        position += length
    return [], None


def _text(labels: list[bytes]) -> str | None:
    try:
        texts = [label.decode("ascii") for label in labels]
    except UnicodeDecodeError:
        return None
    return None if any("." in text for text in texts) else ".".join(texts).lower()


def respond(query: DnsQuery, code: ResponseCode, record: bytes | None = None, seconds: int = 0) -> bytes:
    """Write the response to a query, with at most one record of the question's type."""
    flags = _RESPONSE | (query.flags & (_OPCODE | _RECURSION_DESIRED)) | _RECURSION_AVAILABLE | code
    head = _HEADER.pack(query.identity, flags, int(bool(query.question)), int(record is not None), 0, 0)
    if record is None:
        return head + query.question
    return head + query.question + _RECORD.pack(_AT_QUESTION, query.kind, IN, seconds, len(record)) + record
