from sandbox_server.drivers.egress.host_names import normal_form
from sandbox_server.drivers.egress.named_sets import HOST_SETS


def test_the_sets_that_rules_name_hold_hosts_in_normal_form() -> None:
    assert set(HOST_SETS) == {"pypi", "npm", "debian", "github"}
    for found in HOST_SETS.values():
        assert [normal_form(host) for host in found.hosts] == list(found.hosts)
        assert found.ports
