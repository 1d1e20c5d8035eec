"""ClientHellos: real ones of OpenSSL, and others made by hand."""

import ssl
import struct

import pytest


def real(name: str | None, context: ssl.SSLContext | None = None) -> bytes:
    """What OpenSSL sends first."""
    context = context or ssl.create_default_context()
    if name is None:
        context.check_hostname = False
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    connection = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        connection.do_handshake()
    return outgoing.read()


def extension(kind: int, content: bytes) -> bytes:
    """An extension."""
    return struct.pack("!HH", kind, len(content)) + content


def name_extension(*names: bytes) -> bytes:
    """The extension that names servers."""
    entries = b"".join(b"\0" + struct.pack("!H", len(name)) + name for name in names)
    return extension(0, struct.pack("!H", len(entries)) + entries)


def hello(extensions: bytes, after: bytes = b"") -> bytes:
    """A ClientHello with these extensions, as a message of the handshake."""
    body = b"\3\3" + bytes(32) + b"\0" + b"\0\2\x13\1" + b"\1\0" + struct.pack("!H", len(extensions)) + extensions + after
    return b"\1" + len(body).to_bytes(3) + body


def records(message: bytes, size: int = 16 << 10) -> bytes:
    """A message in records of a size."""
    pieces = [message[first : first + size] for first in range(0, len(message), size)]
    return b"".join(b"\x16\3\1" + struct.pack("!H", len(piece)) + piece for piece in pieces)
