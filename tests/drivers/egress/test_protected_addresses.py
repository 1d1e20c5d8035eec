import ipaddress

import pytest

from sandbox_server.drivers.egress.protected_addresses import parse_address, protection
from tests.tables import table_test


@table_test(
    [
        ("169.254.169.254", "a metadata service"),
        ("fd00:ec2::254", "a metadata service"),
        ("168.63.129.16", "a metadata service"),
        ("100.100.100.200", "a metadata service"),
        ("127.0.0.1", "the machine itself"),
        ("127.9.9.9", "the machine itself"),
        ("0.0.0.0", "the machine itself"),
        ("::1", "the machine itself"),
        ("::", "the machine itself"),
        ("10.1.2.3", "a private network"),
        ("172.17.0.1", "a private network"),
        ("192.168.1.1", "a private network"),
        ("fd12::1", "a private network"),
        ("100.64.0.1", "a shared address of carriers"),
        ("169.254.1.1", "the local link"),
        ("fe80::1%eth0", "the local link"),
        ("224.0.0.1", "a multicast group"),
        ("255.255.255.255", "a reserved network"),
        ("198.18.0.1", "a network for tests"),
        ("::ffff:169.254.169.254", "a metadata service"),
        ("::ffff:10.0.0.1", "a private network"),
        ("64:ff9b::a9fe:a9fe", "a metadata service"),
        ("2002:7f00:1::", "the machine itself"),
        ("::10.0.0.1", "a private network"),
    ]
)
def test_an_address_is_protected_however_it_is_written(text: str, kind: str) -> None:
    block = protection(parse_address(text))
    assert block
    assert block.kind == kind


@pytest.mark.parametrize("text", ["8.8.8.8", "1.1.1.1", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "198.20.0.1"])
def test_a_public_address_is_not(text: str) -> None:
    assert protection(parse_address(text)) is None


@pytest.mark.parametrize(
    ("address", "network", "named"),
    [
        ("10.1.2.3", "10.0.0.0/8", True),
        ("10.1.2.3", "10.1.2.0/24", True),
        ("10.1.2.3", "0.0.0.0/0", False),
        ("10.1.2.3", "8.0.0.0/5", False),
        ("169.254.169.254", "169.254.0.0/16", False),
        ("169.254.169.254", "169.254.169.254/32", True),
        ("169.254.1.1", "169.254.0.0/16", True),
        ("fd12::1", "fd12::/64", True),
        ("fd12::1", "::/0", False),
    ],
)
def test_a_network_names_protected_addresses_only_within_their_block(address: str, network: str, named: bool) -> None:
    block = protection(parse_address(address))
    assert block
    assert block.named_by(ipaddress.ip_network(network)) is named
