"""A stream that is encrypted with a passphrase, in chunks, so that neither side holds all of it.

The key is scrypt's (RFC 7914) of the passphrase and a salt. Each chunk is sealed with AES-256-GCM under a nonce of a random prefix, the
chunk's number, and whether it is the last (the STREAM construction of Hoang, Reyhanitabar, Rogaway and Vizár). So a chunk that is changed,
moved, doubled or missing is found.
"""

import os
from collections.abc import Iterator
from typing import IO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from sandbox_server.drivers.profiles.problem import ProfileProblem, malformed

MAGIC = b"TANDEM-PROFILE-1"
CHUNK = 1 << 20
TAG = 16
SALT, PREFIX = 16, 7
SCRYPT_N, SCRYPT_R, SCRYPT_P = 1 << 16, 8, 2
"""64 MiB, and as much work as OWASP's Password Storage Cheat Sheet asks of scrypt. They are the format's, never the file's."""


class SealingWriter:
    """Encrypts what is written to `file`; `close` ends the stream, without which it is not whole."""

    def __init__(self, file: IO[bytes], passphrase: str) -> None:
        self._file = file
        salt, self._prefix = os.urandom(SALT), os.urandom(PREFIX)
        self._header = MAGIC + salt + self._prefix
        self._cipher = _cipher(passphrase, salt)
        self._number = 0
        self._waiting = bytearray()
        file.write(self._header)

    def write(self, content: bytes) -> None:
        """Take bytes."""
        self._waiting += content
        while len(self._waiting) > CHUNK:
            self._seal(bytes(self._waiting[:CHUNK]), last=False)
            del self._waiting[:CHUNK]

    def close(self) -> None:
        """Write what is left, and the end."""
        self._seal(bytes(self._waiting), last=True)

    def _seal(self, chunk: bytes, *, last: bool) -> None:
        self._file.write(self._cipher.encrypt(_nonce(self._prefix, self._number, last=last), chunk, self._header))
        self._number += 1


def unsealed(file: IO[bytes], passphrase: str) -> Iterator[bytes]:
    """Yield the content of a stream, chunk by chunk. Raises ProfileProblem for another passphrase and for a file that was changed."""
    header = file.read(len(MAGIC) + SALT + PREFIX)
    if len(header) != len(MAGIC) + SALT + PREFIX or not header.startswith(MAGIC):
        raise malformed("it does not begin as one")
    cipher, prefix = _cipher(passphrase, header[len(MAGIC) : -PREFIX]), header[-PREFIX:]
    number, sealed = 0, file.read(CHUNK + TAG)
    while True:
        following = file.read(CHUNK + TAG)
        yield _opened(cipher, _nonce(prefix, number, last=not following), sealed, header, first=number == 0)
        if not following:
            return
        number, sealed = number + 1, following


def _opened(cipher: AESGCM, nonce: bytes, sealed: bytes, header: bytes, *, first: bool) -> bytes:
    try:
        return cipher.decrypt(nonce, sealed, header)
    except (InvalidTag, ValueError):
        if first:
            raise ProfileProblem("invalid_argument", "the passphrase is another one, or the file was changed", "passphrase") from None
        raise malformed("it was changed, or is cut off") from None


def _cipher(passphrase: str, salt: bytes) -> AESGCM:
    scrypt = Scrypt(salt=salt, length=32, n=SCRYPT_N, r=SCRYPT_R, p=SCRYPT_P)
    return AESGCM(scrypt.derive(passphrase.encode()))


def _nonce(prefix: bytes, number: int, *, last: bool) -> bytes:
    return prefix + number.to_bytes(4, "big") + bytes([last])
