from sandbox_server.drivers.egress.protected_addresses import protection
from sandbox_server.drivers.egress.synthetic_network import GATEWAY, NETWORK


def test_its_addresses_mean_nothing_outside_and_no_policy_dials_them() -> None:
    assert GATEWAY in NETWORK
    assert all(protection(address) is not None for address in (NETWORK[0], GATEWAY, NETWORK[-1]))
