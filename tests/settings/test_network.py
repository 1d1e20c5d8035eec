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


def test_ports_are_numbers_and_short_spans() -> None:
    found = load({"PUBLISHED_PORTS": "3000, 9000-9002 3000", "BOX_FORWARD_PORTS": "9100"}).box_ports
    assert (found.published, found.forwarded) == ((3000, 9000, 9001, 9002), (9100,))
    assert load({}).box_ports.published == ()


@pytest.mark.parametrize("text", ["0", "70000", "x", "5-3", "1-", "1-65535", "1-60 100-160", "3000;4000"])
def test_what_is_no_list_of_ports_stops_the_boot(text: str) -> None:
    with pytest.raises(BadSettings, match="PUBLISHED_PORTS"):
        load({"PUBLISHED_PORTS": text})


def test_the_gateways_own_port_is_not_published() -> None:
    with pytest.raises(BadSettings, match="PUBLISHED_PORTS must not name 8081"):
        load({"PUBLISHED_PORTS": "8080-8082", "PUBLIC_PORT": "8081"})
