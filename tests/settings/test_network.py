import ipaddress

import pytest

from sandbox_server.settings import BadSettings, load
from sandbox_server.settings.network import ALLOWED, FetchingSettings

ADDRESS = ipaddress.ip_address("10.1.2.3")


def test_nothing_internal_is_allowed_unless_it_is_named() -> None:
    assert FetchingSettings().allow == ()


@pytest.mark.parametrize("text", ["10.0.0.0/8", "10.1.2.3", "10.1.2.3:80", "a.example", "a.example:80", "x.example, a.example"])
def test_a_host_is_named_by_address_network_or_name(text: str) -> None:
    assert any(entry.covers("A.example.", ADDRESS, 80) for entry in ALLOWED.parse(text))


@pytest.mark.parametrize("text", ["10.1.2.3:81", "b.example", "a.example:443", "[::1]:80", "fd00::/8"])
def test_nothing_else_is_meant(text: str) -> None:
    assert not any(entry.covers("a.example", ADDRESS, 80) for entry in ALLOWED.parse(text))


def test_an_address_of_six_has_its_port_outside_brackets() -> None:
    (entry,) = ALLOWED.parse("[fd00::1]:8080")

    assert entry.covers("x", ipaddress.ip_address("fd00::1"), 8080)
    assert not entry.covers("x", ipaddress.ip_address("fd00::1"), 80)


@pytest.mark.parametrize("text", [":80", "a.example:", "a.example:x", "a.example:70000"])
def test_what_names_no_host_stops_the_boot(text: str) -> None:
    with pytest.raises(BadSettings, match="FETCH_ALLOW"):
        load({"FETCH_ALLOW": text})
