"""Cookies of other browsers' databases, also of those that somebody made to harm."""

import hashlib
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sandbox_server.drivers.profiles import logins
from sandbox_server.drivers.profiles.logins import read_cookies
from sandbox_server.drivers.profiles.problem import ProfileProblem

FIREFOX = """CREATE TABLE moz_cookies (id INTEGER PRIMARY KEY, originAttributes TEXT NOT NULL DEFAULT '', name TEXT, value TEXT, host TEXT,
    path TEXT, expiry INTEGER, isSecure INTEGER, isHttpOnly INTEGER, sameSite INTEGER DEFAULT 0)"""
CHROMIUM = """CREATE TABLE cookies (host_key TEXT, top_frame_site_key TEXT, name TEXT, value TEXT, encrypted_value BLOB, path TEXT,
    expires_utc INTEGER, is_secure INTEGER, is_httponly INTEGER, samesite INTEGER)"""


def database(folder: Path, *statements: str, rows: tuple[str, list[tuple[Any, ...]]] | None = None) -> bytes:
    path = folder / "database"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as opened:
        for statement in statements:
            opened.execute(statement)
        if rows:
            opened.executemany(*rows)
        opened.commit()
    return path.read_bytes()


def firefox(folder: Path, *rows: tuple[Any, ...]) -> bytes:
    columns = "originAttributes, name, value, host, path, expiry, isSecure, isHttpOnly, sameSite"
    return database(folder, FIREFOX, rows=(f"INSERT INTO moz_cookies ({columns}) VALUES (?,?,?,?,?,?,?,?,?)", list(rows)))


def chromium(folder: Path, version: int, *rows: tuple[Any, ...]) -> bytes:
    meta = ("CREATE TABLE meta (key TEXT, value TEXT)", f"INSERT INTO meta VALUES ('version', '{version}')")
    return database(folder, CHROMIUM, *meta, rows=("INSERT INTO cookies VALUES (?,?,?,?,?,?,?,?,?,?)", list(rows)))


def encrypted(value: bytes, key: bytes = hashlib.pbkdf2_hmac("sha1", b"peanuts", b"saltysalt", 1, 16)) -> bytes:
    filled = 16 - len(value) % 16
    encryptor = Cipher(algorithms.AES(key), modes.CBC(b" " * 16)).encryptor()
    return b"v10" + encryptor.update(value + bytes([filled]) * filled) + encryptor.finalize()


def test_firefox_s_cookies_are_read_in_seconds_and_in_milliseconds(tmp_path: Path) -> None:
    found, left = read_cookies(
        firefox(
            tmp_path,
            ("", "login", "yes", ".example.org", "/", 2_000_000_000, 1, 1, 1),
            ("", "later", "ü", "example.org", "/a", 2_000_000_000_000, 0, 0, 256),
            ("^userContextId=2", "work", "no", "example.org", "/", 2_000_000_000, 0, 0, 0),
        )
    )
    first = {"name": "login", "value": "yes", "domain": ".example.org", "path": "/", "expires": 2_000_000_000}
    assert found[0] == first | {"httpOnly": True, "secure": True, "sameSite": "Lax"}
    second = {"name": "later", "value": "ü", "domain": "example.org", "path": "/a", "expires": 2_000_000_000.0}
    assert found[1] == second | {"httpOnly": False, "secure": False}
    assert left == 1


def test_chromium_s_cookies_are_read_plain_and_encrypted_with_linux_s_key(tmp_path: Path) -> None:
    ends = (2_000_000_000 + 11_644_473_600) * 10**6
    host = ".example.org"
    rows = [
        (host, "", "plain", "1", b"", "/", ends, 1, 0, 2),
        (host, "", "sealed", "", encrypted(hashlib.sha256(host.encode()).digest() + b"2"), "/", 0, 0, 1, -1),
        (host, "", "moved", "", encrypted(hashlib.sha256(b"other").digest() + b"3"), "/", 0, 0, 1, -1),
        (host, "", "keyring", "", b"v11" + bytes(32), "/", 0, 0, 0, -1),
        (host, "", "odd", "", b"v10" + bytes(5), "/", 0, 0, 0, -1),
        (host, "https://top.example", "partitioned", "4", b"", "/", 0, 0, 0, -1),
    ]
    found, left = read_cookies(chromium(tmp_path, 24, *rows))
    assert [(each["name"], each["value"], each["expires"], each.get("sameSite")) for each in found] == [
        ("plain", "1", 2_000_000_000, "Strict"),
        ("sealed", "2", -1, None),
    ]
    assert left == 4
    [old], _ = read_cookies(chromium(tmp_path, 20, (host, "", "old", "", encrypted(b"value"), "/", 0, 0, 0, 0)))
    assert old["value"] == "value"


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"


@pytest.mark.parametrize(
    "statements",
    [
        (f"CREATE VIEW moz_cookies AS {ENDLESS} SELECT x AS host FROM n",),
        ("CREATE TABLE moz_cookies (host TEXT)",),
        ("CREATE TABLE other (x)",),
        ("CREATE TABLE cookies (host_key TEXT)", "CREATE TABLE meta (key, value)"),
        (FIREFOX, "INSERT INTO moz_cookies (name, value, host, path, expiry) VALUES (1, NULL, 3, 4, 'soon')"),
    ],
)
def test_another_database_is_refused(tmp_path: Path, statements: tuple[str, ...]) -> None:
    with pytest.raises(ProfileProblem) as caught:
        read_cookies(database(tmp_path, *statements))
    assert caught.value.reason == "malformed"


def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    whole = firefox(tmp_path, ("", "login", "yes", "example.org", "/", 2_000_000_000, 1, 1, 1))
    for wrong in (whole[:5000], whole[:100] + bytes(len(whole) - 100), b"SQLite format 3\0" + b"\xff" * 4000, b"x"):
        with pytest.raises(ProfileProblem):
            read_cookies(wrong)


def test_what_takes_too_long_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "SECONDS", 0.0)
    rows = [("", "n", "v" * 100, "example.org", "/", 1, 0, 0, 0)] * 9000
    began = time.monotonic()
    with pytest.raises(ProfileProblem, match="interrupted"):
        read_cookies(firefox(tmp_path, *rows))
    assert time.monotonic() - began < 5


def test_too_many_cookies_are_refused_and_too_large_ones_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    big = ("", "n", "v" * 9000, "example.org", "/", 2_000_000_000, 0, 0, 0)
    assert read_cookies(firefox(tmp_path, big)) == ([], 1)
    monkeypatch.setattr(logins, "MAX_COOKIES", 1)
    with pytest.raises(ProfileProblem) as caught:
        read_cookies(firefox(tmp_path, big, big))
    assert caught.value.kind == "too_large"
