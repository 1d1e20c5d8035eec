from ipaddress import ip_address

import pytest

from sandbox_server.drivers.egress.default_policy import DEFAULT_POLICY
from sandbox_server.drivers.egress.policy import AppProtocol, Destination
from sandbox_server.drivers.egress.policy_document import parse_policy
from tests.tables import table_test


@table_test(
    [
        ("8.8.8.8", True),
        ("10.1.2.3", True),
        ("172.31.0.9", True),
        ("192.168.1.1", True),
        ("100.64.0.1", True),
        ("fd12::1", True),
        ("169.254.169.254", False),
        ("168.63.129.16", False),
        ("100.100.100.200", False),
        ("fd00:ec2::254", False),
        ("127.0.0.1", False),
        ("::1", False),
        ("0.0.0.0", False),
        ("169.254.1.1", False),
    ]
)
def test_private_networks_are_in_reach_and_metadata_and_the_machine_itself_are_not(place: str, allowed: bool) -> None:
    policy = parse_policy(DEFAULT_POLICY)
    assert policy.decide(Destination(443, address=ip_address(place), protocol=AppProtocol.TLS)).allowed is allowed
    refused = policy.address_refusal(ip_address(place), Destination(443, "a.example", protocol=AppProtocol.TLS))
    assert (refused is None) is allowed


@pytest.mark.parametrize("protocol", AppProtocol)
def test_every_name_is_allowed(protocol: AppProtocol) -> None:
    assert parse_policy(DEFAULT_POLICY).decide(Destination(9999, "any.example", protocol=protocol)).allowed
