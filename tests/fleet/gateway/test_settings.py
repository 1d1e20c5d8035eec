"""What the gateway is told."""

from pathlib import Path

import pytest
from tandem_fleet.errors import InvalidError
from tandem_fleet.gateway.settings import GatewaySettings

ID = "abcdefghij234567"


def read(listen: str = "127.0.0.1:7780", **variables: str) -> GatewaySettings:
    """The settings that these variables make."""
    return GatewaySettings.of({f"TANDEM_GATEWAY_{name}": value for name, value in variables.items()}, listen)


@pytest.mark.parametrize(
    ("settings", "url", "page"),
    [
        (read(), f"http://127.0.0.1:1234/s/{ID}", f"http://{ID}.localhost:1234/"),
        (read("[::1]:7780"), f"http://[::1]:1234/s/{ID}", f"http://{ID}.localhost:1234/"),
        (read("10.0.0.1:7780"), f"http://10.0.0.1:1234/s/{ID}", ""),
        (read("0.0.0.0:443", DOMAIN="Boxes.Test", URL="https://boxes.test"), f"https://{ID}.boxes.test", f"https://{ID}.boxes.test/"),
        (read("0.0.0.0:443", URL="https://front.test:8443/"), f"https://front.test:8443/s/{ID}", ""),
        (read(DOMAIN="b.test", CERTIFICATE="a", CERTIFICATE_KEY="b"), f"https://{ID}.b.test:1234", f"https://{ID}.b.test:1234/"),
    ],
)
def test_addresses_follow_from_the_settings(settings: GatewaySettings, url: str, page: str) -> None:
    addresses = settings.addresses(1234)
    target = addresses.target("x", f"/s/{ID}/")
    assert target is not None
    assert (addresses.url(ID), addresses.page(target)) == (url, page)


@pytest.mark.parametrize("listen", ["", "7780", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "localhost:80", "a b:80", ":80"])
def test_it_listens_on_an_address_and_a_port(listen: str) -> None:
    with pytest.raises(InvalidError, match="listens on"):
        read(listen)


@pytest.mark.parametrize(
    "variables",
    [
        {"DOMAIN": "a b"},
        {"DOMAIN": "-a.test"},
        {"DOMAIN": "a..b"},
        {"DOMAIN": "a.test:80"},
        {"URL": "ftp://a.test"},
        {"URL": "https://a.test/path"},
        {"URL": "https://user@a.test"},
        {"URL": "a.test"},
        {"PROXIES": "10.0.0.1/8"},
        {"PROXIES": "front.test"},
        {"WAIT": "soon"},
        {"WAIT": "-1"},
        {"WAIT": "nan"},
        {"WAIT": "301"},
        {"CERTIFICATE": "a"},
        {"CERTIFICATE_KEY": "a"},
        {"CERTIFICATE": "a", "CERTIFICATE_KEY": "b", "ACME": "a@b.test"},
        {"ACME": "nobody"},
    ],
)
def test_values_that_cannot_be_used_are_refused(variables: dict[str, str]) -> None:
    with pytest.raises(InvalidError):
        read(**variables)


def test_on_every_address_it_has_to_be_said_how_clients_reach_it() -> None:
    for listen in ("0.0.0.0:443", "[::]:443"):
        with pytest.raises(InvalidError, match="how do clients reach it"):
            read(listen)
        assert read(listen, DOMAIN="boxes.test").addresses(443).url(ID) == f"http://{ID}.boxes.test:443"
    assert read("0.0.0.0:443", DOMAIN="boxes.test", ACME="a@b.test").addresses(443).url(ID) == f"https://{ID}.boxes.test"


def test_proxies_in_front_are_networks() -> None:
    assert read(PROXIES="10.0.0.0/8, ::1").proxies == ("10.0.0.0/8", "::1/128")
    assert read().proxies == ()


def test_caddy_is_found_or_its_want_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / "caddy"
    there.touch(mode=0o700)
    assert read(CADDY=str(there)).program() == str(there)
    with pytest.raises(InvalidError, match=r"tandem-fleet\[gateway\]"):
        read(CADDY=str(tmp_path / "none")).program()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read().program() == str(there)
