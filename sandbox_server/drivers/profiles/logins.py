"""Cookies of a person's own browser, from its database: Chromium's `Cookies` or Firefox's `cookies.sqlite`.

The database is somebody's file: it is read in memory, without its triggers and views, and within a time.
"""

import hashlib
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sandbox_server.drivers.profiles.problem import ProfileProblem

MAX_DATABASE = 64 << 20
MAX_COOKIES = 10_000
SECONDS = 20.0
MAX_VALUE = 8192
SQLITE = b"SQLite format 3\0"

_SAME_SITE = {0: "None", 1: "Lax", 2: "Strict"}
_EPOCH = 11_644_473_600
"""Seconds from 1601, where Chromium's time begins, to 1970."""
_MILLISECONDS = 10**11
"""A time above this is in milliseconds, as later versions of Firefox write it."""
_LINUX_KEY = hashlib.pbkdf2_hmac("sha1", b"peanuts", b"saltysalt", 1, 16)
"""Chromium's key on Linux without a keyring (components/os_crypt/sync/os_crypt_linux.cc)."""
_HASHED = 24
"""From this version of the database on, a value has the SHA-256 of its host before it."""


def read_cookies(database: bytes) -> tuple[list[dict[str, Any]], int]:
    """Return the cookies in the form of Playwright's storage state, and how many could not be read. Raises ProfileProblem."""
    ends = time.monotonic() + SECONDS
    with closing(sqlite3.connect(":memory:")) as opened:
        try:
            opened.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_DATABASE)
            opened.deserialize(database)
            opened.set_progress_handler(lambda: time.monotonic() > ends, 10_000)
            opened.execute("PRAGMA trusted_schema = OFF")
            opened.text_factory = bytes
            tables = {name: str(sql or b"", "utf-8", "replace") for name, sql in opened.execute("SELECT name, sql FROM sqlite_master")}
            read = _firefox if b"moz_cookies" in tables else _chromium
            table = "moz_cookies" if read is _firefox else "cookies"
            if not tables.get(table.encode(), "").upper().startswith("CREATE TABLE"):
                raise _unreadable("it has no table of cookies")
            found = [cookie for _, cookie in zip(range(MAX_COOKIES + 1), read(opened), strict=False)]
        except (sqlite3.Error, TypeError, ValueError, OverflowError, MemoryError) as error:
            raise _unreadable(str(error)[:200]) from None
    if len(found) > MAX_COOKIES:
        raise ProfileProblem("too_large", f"the database has more than {MAX_COOKIES} cookies", "limit")
    cookies = [cookie for cookie in found if cookie is not None]
    return cookies, len(found) - len(cookies)


def _firefox(opened: sqlite3.Connection) -> Iterator[dict[str, Any] | None]:
    columns = "host, path, name, value, expiry, isSecure, isHttpOnly, sameSite, originAttributes"
    for host, path, name, value, expiry, secure, http_only, same_site, attributes in opened.execute(f"SELECT {columns} FROM moz_cookies"):
        ends = int(expiry) / 1000 if int(expiry) > _MILLISECONDS else int(expiry)
        yield _cookie(host, path, name, value, ends, secure, http_only, same_site) if not attributes else None


def _chromium(opened: sqlite3.Connection) -> Iterator[dict[str, Any] | None]:
    version = int(next(iter(opened.execute("SELECT value FROM meta WHERE key = 'version'")), (b"0",))[0])
    columns = "host_key, path, name, value, expires_utc, is_secure, is_httponly, samesite, encrypted_value, top_frame_site_key"
    for host, path, name, value, expires, secure, http_only, same_site, encrypted, partition in opened.execute(
        f"SELECT {columns} FROM cookies"
    ):
        plain = _decrypted(encrypted, host, version) if encrypted else value
        ends = int(expires) / 1e6 - _EPOCH if expires else -1
        yield _cookie(host, path, name, plain, ends, secure, http_only, same_site) if plain is not None and not partition else None


def _decrypted(encrypted: bytes, host: bytes, version: int) -> bytes | None:
    """Return a value; None where its key is in a keyring."""
    body = encrypted[3:]
    if not encrypted.startswith(b"v10") or not body or len(body) % 16:
        return None
    decryptor = Cipher(algorithms.AES(_LINUX_KEY), modes.CBC(b" " * 16)).decryptor()
    padded = decryptor.update(body) + decryptor.finalize()
    filled = padded[-1]
    if not 1 <= filled <= 16 or padded[-filled:] != bytes([filled]) * filled:
        return None
    plain = padded[:-filled]
    if version < _HASHED:
        return plain
    return plain[32:] if plain[:32] == hashlib.sha256(host).digest() else None


def _cookie(
    host: bytes, path: bytes, name: bytes, value: bytes, expires: float, secure: int, http_only: int, same_site: int
) -> dict[str, Any] | None:
    """Return one cookie; None where it is no text or over the size that browsers take."""
    if len(name) + len(value) > MAX_VALUE or not host:
        return None
    try:
        cookie: dict[str, Any] = {"name": name.decode(), "value": value.decode(), "domain": host.decode(), "path": path.decode() or "/"}
    except UnicodeDecodeError:
        return None
    cookie |= {"expires": expires, "httpOnly": bool(http_only), "secure": bool(secure)}
    return cookie | ({"sameSite": _SAME_SITE[same_site]} if same_site in _SAME_SITE else {})


def _unreadable(what: str) -> ProfileProblem:
    return ProfileProblem("invalid_argument", f"the file is no database of Chromium's or Firefox's cookies: {what}", "malformed")
