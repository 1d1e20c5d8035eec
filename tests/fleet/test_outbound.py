"""Addresses that callers name and the service connects to."""

import ipaddress
import socket
from typing import Any

import pytest
from tandem_fleet.errors import InvalidError
from tandem_fleet.outbound import is_public, pin, read_networks, split_url

pytestmark = pytest.mark.anyio
LOOPBACK = read_networks("127.0.0.0/8, ::1/128")


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "198.18.0.1",
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "fec0::1",
        "ff02::1",
        "::ffff:10.0.0.1",
        "::ffff:127.0.0.1",
        "64:ff9b::a00:1",
        "2002:a00:1::",
    ],
)
def test_a_private_address_is_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1"])
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://example.com",
        "file:///etc/passwd",
        "https://",
        "https://user:password@example.com",
        "https://example.com:0/",
        "https://example.com:99999/",
        "https://example.com/a b",
        "https://exa\nmple.com/",
        "https://ex\u00e4mple.com/",
        "https://[::1/",
        "https://example.com/" + "x" * 2048,
    ],
)
def test_what_cannot_be_called_is_no_url(url: str) -> None:
    with pytest.raises(InvalidError):
        split_url(url)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "2130706433", "127.1", "[::ffff:127.0.0.1]", "nowhere.invalid"]
)
async def test_a_host_that_is_here_is_refused(host: str) -> None:
    with pytest.raises(InvalidError):
        await pin(f"http://{host}:8080/", ())


async def test_one_private_address_among_others_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    async def look_up(*_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, 0, 0, "", (address, 443)) for address in ("1.1.1.1", "10.0.0.1")]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", look_up)
    with pytest.raises(InvalidError, match="not public"):
        await pin("https://example.com/", ())
    pinned = await pin("https://example.com/path?query", read_networks("10.0.0.0/8"))
    assert (pinned.url, pinned.host, pinned.name) == ("https://1.1.1.1/path?query", "example.com", "example.com")


async def test_an_allowed_network_is_reached_by_the_address_that_was_looked_up() -> None:
    pinned = await pin("http://127.0.0.1:8080", LOOPBACK)
    assert (pinned.url, pinned.host) == ("http://127.0.0.1:8080/", "127.0.0.1:8080")
    pinned = await pin("http://[::1]:8080/x", LOOPBACK)
    assert (pinned.url, pinned.host, pinned.name) == ("http://[::1]:8080/x", "[::1]:8080", "::1")


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(InvalidError):
        read_networks("10.0.0.1/8")
    assert read_networks("") == ()
